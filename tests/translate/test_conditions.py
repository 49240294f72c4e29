"""Dead branches: which code is code of a target."""

from __future__ import annotations

import pytest

from gpuport.translate import hipify


def live(source: str, target: str = "hip") -> str:
    """The letters of the markers `cudaFree(<letter>)` that were translated."""
    text = hipify(source + "\n", target=target, strict=False).text
    return "".join(piece[0] for piece in text.split("hipFree(")[1:])


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("#if 0\ncudaFree(a);\n#else\ncudaFree(b);\n#endif\ncudaFree(c);", "bc"),
        ("#if 1\ncudaFree(a);\n#elif X\ncudaFree(b);\n#else\ncudaFree(c);\n#endif", "a"),
        ("#if X\ncudaFree(a);\n#elif 1\ncudaFree(b);\n#else\ncudaFree(c);\n#endif", "ab"),
        ("#if X\ncudaFree(a);\n#elif 0\ncudaFree(b);\n#else\ncudaFree(c);\n#endif", "ac"),
        ("#if 0\n#if 1\ncudaFree(a);\n#else\ncudaFree(b);\n#endif\n#endif\ncudaFree(c);", "c"),
        ("#ifdef GP_TARGET_AMD\ncudaFree(a);\n#else\ncudaFree(b);\n#endif", "a"),
        ("#ifndef GP_TARGET_CUDA\ncudaFree(a);\n#else\ncudaFree(b);\n#endif", "a"),
        ("#ifdef GP_TARGET_CPU\ncudaFree(a);\n#elif X\ncudaFree(b);\n#endif", "b"),
        ("#if defined(GP_TARGET_CUDA) || defined X\ncudaFree(a);\n#endif", "a"),
        ("#if defined(GP_TARGET_CUDA) && defined X\ncudaFree(a);\n#endif", ""),
        ("#if !defined GP_TARGET_CUDA && (X || 1)\ncudaFree(a);\n#else\ncudaFree(b);\n#endif", "a"),
        ("#if __HIP_PLATFORM_AMD__ == 1\ncudaFree(a);\n#else\ncudaFree(b);\n#endif", "a"),
        ("#if defined(__NVCC__)\ncudaFree(a);\n#endif", ""),
        ("#ifdef __CUDACC__\ncudaFree(a);\n#else\ncudaFree(b);\n#endif", "ab"),
        ("#if UNKNOWN > 3\ncudaFree(a);\n#else\ncudaFree(b);\n#endif", "ab"),
        ("#if __has_include(<x>) && 0\ncudaFree(a);\n#endif", ""),
        ("#if F(1, (2)) || 1\ncudaFree(a);\n#else\ncudaFree(b);\n#endif", "a"),
        (
            "#if 0x10 > 010 && 2 * 3 + 1 == 7 && -1 < 0\ncudaFree(a);\n#else\ncudaFree(b);\n#endif",
            "a",
        ),
        ("#if 'a' == 97\ncudaFree(a);\n#else\ncudaFree(b);\n#endif", "ab"),
        ("#if 08\ncudaFree(a);\n#endif", "a"),
        ("#if 1 ? 0 : 0\ncudaFree(a);\n#endif", "a"),
        (f"#if {'(' * 5000}0{')' * 5000}\ncudaFree(a);\n#endif", "a"),
        ("  #  if 0 // why\n cudaFree(a);\n /* c */ #endif\ncudaFree(b);", "b"),
        ("#if \\\n 0\ncudaFree(a);\n#endif", ""),
        ("#if 0\ncudaFree(a);", ""),
        ("#endif\ncudaFree(a);\n#else\n", "a"),
        (
            "#ifdef GP_TARGET_CUDA\n#elifdef GP_TARGET_AMD\ncudaFree(a);\n#else\n"
            "cudaFree(b);\n#endif",
            "a",
        ),
        ('const char* s = "\\\n#if 0\\\n"; cudaFree(a);\n#if 0\n#endif', "a"),
    ],
)
def test_branches(source: str, expected: str) -> None:
    assert live(source) == expected


def test_each_target_has_its_branch() -> None:
    source = (
        "#if defined(GP_TARGET_CUDA)\nk<<<1, 2>>>(1);\n"
        "#elif defined(GP_TARGET_AMD)\nk<<<1, 2>>>(2);\n"
        "#elif defined(GP_TARGET_CPU)\nk<<<1, 2>>>(3);\n#else\nk<<<1, 2>>>(4);\n#endif\n"
    )
    expected = source.replace("k<<<1, 2>>>(3)", "GPUPORT_SIMT_LAUNCH((k), 1, 2)(3)")
    assert hipify(source, target="cpu").text == expected
    assert hipify(source, target="hip").text == source


def test_dead_code_stays_byte_for_byte_and_reports_nothing() -> None:
    source = (
        "#if defined(GP_TARGET_CUDA) && CUDART_VERSION >= 12000\n"
        '#include <cuda_pipeline.h>\nasm volatile("mov.u32 %0;" : "=r"(x));\n'
        "cudaInitDevice(0, 0, 0);\n"
        "k<<<1>>>(;\n__shared__ int x = 3;\n#endif\n"
    )
    for target in ("hip", "cpu"):
        result = hipify(source, target=target)
        assert result.text == source
        assert result.findings == ()
