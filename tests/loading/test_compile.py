"""Compiling: sources, headers, macros, options, and the words of a compiler that refuses."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import gpuport
from gpuport.loading.cuda_options import host_options
from gpuport.loading.hip_toolchain import find_tools
from gpuport.loading.options import parse_options
from gpuport.testing import Target

WRITE = "__global__ void write(int* p) {\n  *p = VALUE;\n}\n"


def value_of(source: str | Path, **how: object) -> int:
    out = np.full(2, 77, "i4")
    gpuport.load(source, backend="cpu", **how).write(1, 1, (out,))
    assert out[1] == 77
    return int(out[0])


def test_macros() -> None:
    assert value_of(WRITE, defines={"VALUE": 3}) == 3
    assert value_of(WRITE, defines={"VALUE": "1 + 3"}) == 4
    assert value_of(WRITE, options=["-DVALUE=5"]) == 5
    assert value_of(WRITE, options=["-D", "VALUE=5"], defines={"VALUE": True}) == 1


def test_headers_as_text() -> None:
    source = '#include "a/value.h"\n#include <b.h>\n' + WRITE
    headers = {
        "a/value.h": '#include "own.h"\n',
        "a/own.h": "#define VALUE B + 1\n",
        "b.h": "#define B 8\n",
    }
    assert value_of(source, headers=headers) == 9


def test_headers_in_folders(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "value.h").write_text("#define VALUE 6\n")
    (tmp_path / "near.h").write_text('#include "../far/far.h"\n')
    (tmp_path / "far").mkdir()
    (tmp_path / "project").mkdir()
    (tmp_path / "far" / "far.h").write_text(
        "__device__ inline int shifted(int v) {\n"
        "  __shared__ int held[1];\n  held[0] = v;\n  return held[0] + 1;\n}\n"
    )
    source = tmp_path / "project" / "k.cu"
    source.write_text(
        '#include <value.h>\n#include "../near.h"\n' + WRITE.replace("VALUE", "shifted(VALUE)")
    )
    assert value_of(source, include_dirs=[tmp_path / "include"]) == 7
    assert value_of(source, options=[f"-I{tmp_path / 'include'}"]) == 7


def test_headers_of_the_source_s_folder_in_angle_brackets(tmp_path: Path) -> None:
    """They are found behind all others, and translated as well."""
    (tmp_path / "near.h").write_text("#include <nearer.h>\n")
    (tmp_path / "nearer.h").write_text(
        "__device__ inline int shifted(int v) {\n"
        "  __shared__ int held[1];\n  held[0] = v;\n  return held[0] + 1;\n}\n"
        "static inline bool is_fine(cudaError_t e) { return e == cudaSuccess; }\n"
    )
    (tmp_path / "both.h").write_text("#error the one of the folder is not asked for\n")
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "both.h").write_text("#include <near.h>\n")
    source = tmp_path / "k.cu"
    source.write_text("#include <both.h>\n" + WRITE.replace("VALUE", "shifted(VALUE)"))
    folders, defines = [tmp_path / "include"], {"VALUE": 6}
    assert value_of(source, include_dirs=folders, defines=defines) == 7
    if find_tools().clang is None:
        pytest.skip(f"no HIP compiler is here: {find_tools().reason}")
    gpuport.load(source, backend="hip", archs=["gfx90a"], include_dirs=folders, defines=defines)


BRANCHES = (
    "#include <branches.h>\n__global__ void write(int* p) {\n#if __CUDA_ARCH__ >= 700\n"
    "  *p = VOLTA;\n#elif __CUDA_ARCH__ > 300\n  *p = 2;\n#else\n  *p = 0;\n#endif\n}\n"
)


@pytest.mark.parametrize(("backend", "archs"), [("cpu", ()), ("hip", ("gfx90a",))])
def test_branches_by_the_architecture_are_warned_of(
    backend: str, archs: tuple[str, ...], tmp_path: Path
) -> None:
    if backend == "hip" and find_tools().clang is None:
        pytest.skip(f"no HIP compiler is here: {find_tools().reason}")
    source = tmp_path / "k.cu"
    source.write_text(BRANCHES)
    (tmp_path / "branches.h").write_text("#if __CUDA_ARCH__ < 800\n#define VOLTA 1\n#endif\n")
    for _ in range(2):  # from the cache, too
        with pytest.warns(gpuport.PortabilityWarning) as caught:
            module = gpuport.load(source, backend=backend, archs=archs)
        (warning,) = caught
        assert warning.filename == __file__
        places = [line.split(": ")[0] for line in str(warning.message).splitlines()]
        assert places == [f"{source}:3", f"{source}:5", f"{tmp_path}/branches.h:1"]
        assert tuple(str(warning.message).splitlines()) == module.warnings
        assert "#if __CUDA_ARCH__ >= 700: __CUDA_ARCH__ is not defined here" in module.warnings[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arch = {"__CUDA_ARCH__": 700}
        chosen = gpuport.load(source, backend=backend, archs=archs, defines=arch)
        gpuport.load("\n#ifdef __CUDA_ARCH__\n#endif\n" + WRITE, backend=backend, archs=archs,
                     defines={"VALUE": 1})  # fmt: skip
    if backend == "cpu":
        out = np.full(2, 77, "i4")
        module.write(1, 1, (out[:1],))
        chosen.write(1, 1, (out[1:],))
        np.testing.assert_array_equal(out, [0, 1])


def test_a_macro_that_nothing_expands_refuses_nothing(tmp_path: Path) -> None:
    if find_tools().clang is None:
        pytest.skip(f"no HIP compiler is here: {find_tools().reason}")
    (tmp_path / "m.cuh").write_text("#define PAIR(x) (reinterpret_cast<__nv_fp4_e2m1*>(&(x))[0])\n")
    source = tmp_path / "k.cu"
    source.write_text('#include "m.cuh"\n__global__ void k(float* p) { *p = 1; }\n')
    gpuport.load(source, backend="hip", archs=["gfx90a"])
    source.write_text('#include "m.cuh"\n__global__ void k(float* p) { PAIR(*p); }\n')
    with pytest.raises(
        gpuport.TranslationError, match=r"m.cuh:1:\d+: error: HIP has no counterpart"
    ):
        gpuport.load(source, backend="hip", archs=["gfx90a"])


def test_headers_that_may_not_be_included(tmp_path: Path) -> None:
    (tmp_path / "dead.h").write_text('__global__ void dead() { asm("mov"); }\n')
    (tmp_path / "perhaps.h").write_text(
        "#pragma once\n__global__ void perhaps(int* p) { *p = 5; }\n"
    )
    source = tmp_path / "k.cu"
    source.write_text(
        '#if 0\n#include "dead.h"\n#endif\n#ifdef PERHAPS\n#include "perhaps.h"\n#endif\n' + WRITE
    )
    assert value_of(source, defines={"VALUE": 2}) == 2
    module = gpuport.load(source, backend="cpu", defines={"VALUE": 2, "PERHAPS": 1})
    out = np.zeros(1, "i4")
    module.perhaps(1, 1, (out,))
    assert (module.kernels, out[0]) == (("write", "perhaps"), 5)


def test_the_toolkit_s_own_headers_are_no_part_of_a_project(tmp_path: Path) -> None:
    (tmp_path / "cuda_runtime_api.h").write_text("#error not for a host compiler\n")
    (tmp_path / "cuda_runtime.h").write_text("#error not for a host compiler\n")
    source = "#include <cuda_runtime.h>\n" + WRITE
    assert value_of(source, defines={"VALUE": 3}, options=[f"-I{tmp_path}"]) == 3


def test_what_cuda_compilers_take_means_the_same_or_nothing() -> None:
    options = ["-std=c++14", "--use_fast_math", "-lineinfo", "-arch=sm_90", "--maxrregcount", "32"]
    assert value_of(WRITE, defines={"VALUE": 2}, options=options) == 2
    assert host_options(["--fmad=false", "-O3", "-Xptxas", "-v", "-w"]) == [
        "-ffp-contract=off",
        "-O3",
        "-w",
    ]
    with pytest.raises(gpuport.CompileError, match="--nonsense"):
        value_of(WRITE, defines={"VALUE": 2}, options=["--nonsense"])


def test_options_taken_apart() -> None:
    words = [
        "-Ia",
        "-I",
        "b",
        "--include-path=c",
        "-DX",
        "--define-macro=Y=2",
        "-UZ",
        "-O3",
        "-D",
        "W=a=b",
    ]
    found = parse_options(words, {"X": None, "N": -1})
    assert found.folders == ("a", "b", "c")
    assert dict(found.macros) == {"X": "", "Y": "2", "Z": None, "W": "a=b", "N": "-1"}
    assert found.rest == ("-O3",)
    assert found.decided() == {"Y": 2, "Z": None, "N": -1}
    with pytest.raises(
        TypeError, match="options must be a sequence of strings, not the one string"
    ):
        parse_options("-O3", None)


def test_errors_name_the_original(tmp_path: Path) -> None:
    source = tmp_path / "my kernel.cu"
    source.write_text(
        '#include "b.h"\n\n__global__ void k(int* p) {\n'
        "  __shared__ int a[4];\n  p[0] = a[oops];\n}\n"
    )
    (tmp_path / "b.h").write_text("#pragma once\n")
    with pytest.raises(gpuport.CompileError) as caught:
        gpuport.load(source, backend="cpu")
    assert f"{source}:5:" in str(caught.value)
    assert "oops" in str(caught.value)
    (tmp_path / "b.h").write_text("#pragma once\n\nint wrong(;\n")
    with pytest.raises(gpuport.CompileError) as caught:
        gpuport.load(source, backend="cpu")
    assert f"{tmp_path / 'b.h'}:3:" in str(caught.value)
    with pytest.raises(gpuport.CompileError, match=r"<source>:2:.*error"):
        gpuport.load("__global__ void k(int* p) {\n  oops();\n}\n", backend="cpu")


def test_an_expression_that_names_nothing() -> None:
    with pytest.raises(gpuport.CompileError, match=r"name_expressions.*absent"):
        gpuport.load("__global__ void k() {}\n", backend="cpu", name_expressions=["absent<int>"])


def test_what_has_no_counterpart() -> None:
    with pytest.raises(gpuport.TranslationError, match=r"<source>:2:3: error: inline PTX"):
        gpuport.load('__global__ void k() {\n  asm("mov.u32 %r0, 1;");\n}\n', backend="cpu")


@pytest.mark.parametrize(
    ("backend", "archs"), [("cpu", None), ("cuda", ["sm_90"]), ("hip", ["gfx90a"])]
)
def test_a_brace_without_a_partner(backend: str, archs: list[str] | None, tmp_path: Path) -> None:
    if backend == "hip" and find_tools().clang is None:
        pytest.skip("no clang for AMD")
    path = tmp_path / "k.cu"
    kernel = "#define OPEN {\n__global__ void k(int* p) {\n  if (*p) { *p = 7; // }\n}\n"
    for text, place in (
        (kernel, "k.cu:2:27: this '{' is never closed\n"),
        (kernel + "}\n}\n", "k.cu:6:1: this '}' closes nothing\n"),
    ):
        path.write_text(text)
        with pytest.raises(gpuport.CompileError) as caught:
            gpuport.load(path, backend=backend, archs=archs)
        assert place in str(caught.value).splitlines(keepends=True)[0]
    path.write_text("#define CLOSE }\n__global__ void k(int* p) { *p = wrong; CLOSE\n")
    with pytest.raises(gpuport.CompileError, match="wrong"):
        gpuport.load(path, backend=backend, archs=archs)
    path.write_text("#define CLOSE }\n__global__ void k(int* p) { *p = 7; CLOSE\n")
    assert gpuport.load(path, backend=backend, archs=archs).kernels == ("k",)


@pytest.mark.parametrize("option", ["-c", "-E", "-S", "-o", "--ptx", "-fsyntax-only"])
def test_options_that_end_without_a_module(option: str) -> None:
    with pytest.raises(ValueError, match=f"options: {option} does not end with a module"):
        gpuport.load(WRITE, backend="cpu", options=[option], defines={"VALUE": 1})


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_bytes(b"\x7fELF\x02\x01\x01\0\0")
    with pytest.raises(ValueError, match=r"k\.cu is no source text: byte 7 of it is zero"):
        gpuport.load(path, backend="cpu")


def test_sources_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        gpuport.load(tmp_path / "absent.cu", backend="cpu")
    with pytest.raises(FileNotFoundError):
        gpuport.load("absent.cu", backend="cpu")


def test_wrong_calls() -> None:
    with pytest.raises(ValueError, match="no backend 'gpu'"):
        gpuport.load(WRITE, backend="gpu")
    with pytest.raises(ValueError, match="warps of 32 and 64"):
        gpuport.load(WRITE, backend="cpu", warp_size=16)
    with pytest.raises(ValueError, match="archs"):
        gpuport.load(WRITE, backend="cpu", archs=["sm_90"])
    with pytest.raises(TypeError, match="one string"):
        gpuport.load(WRITE, backend="cpu", name_expressions="k<int>")


def test_a_compiler_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler -O2")
    with pytest.raises(gpuport.BackendUnavailableError, match="CXX=no-such-compiler -O2 is no"):
        value_of(WRITE, defines={"VALUE": 1})
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(gpuport.BackendUnavailableError, match="no C\\+\\+ compiler"):
        value_of(WRITE, defines={"VALUE": 1})


MASKS = """
__global__ void masks(long long* out) {
  const int lane = threadIdx.x;
  int equal = 0;
  long long sum = __shfl_xor_sync(-1, lane, 1) + __shfl_down_sync(~0, lane, 0);
  sum += __shfl_sync(0xffffffffffffffffull, 5, 0);
  sum += __all_sync(-1, 1) + __any_sync(-1, lane == 3) + __reduce_add_sync(~0, 1);
  __match_all_sync(-1, 7, &equal);
  __syncwarp(-1);
  out[lane] = sum + equal + __popcll(__ballot_sync(~0ull, 1));
}
"""


@pytest.mark.parametrize("width", [32, 64])
def test_a_mask_of_all_ones_names_the_whole_warp(width: int) -> None:
    out = np.zeros(width, "i8")
    gpuport.load(MASKS, backend="cpu", warp_size=width).masks(1, width, (out,))
    lanes = np.arange(width)
    np.testing.assert_array_equal(out, (lanes ^ 1) + lanes + 5 + 3 + 2 * width)


NAMES = [*"TABabxin", "Block", "Warp", "self", "value", "lane", "Kernel", "index", "site", "count"]
NAMES += ["block", "grid", "Record", "Kind", "type", "make", "Element", "name", "call", "Entry"]
COLLIDING = "__device__ TYPE seen[2];\n__global__ void k(TYPE* p, int rest) { *p = rest; }\n"


def test_a_source_may_define_names_of_the_runtime_s_headers() -> None:
    lines = "".join(f"#define {name} {'float' if name == 'T' else 3}\n" for name in NAMES)
    out = np.zeros(1, "f4")
    gpuport.load(lines + COLLIDING.replace("TYPE", "T"), backend="cpu").k(1, 1, (out, 5))
    assert out[0] == 5


def test_defines_may_be_names_of_the_runtime_s_headers() -> None:
    defines = {name: "float" if name == "T" else 3 for name in NAMES}
    out = np.zeros(1, "f4")
    source = COLLIDING.replace("TYPE", "T") + "#if A != 3\n#error no A\n#endif\n"
    gpuport.load(source, backend="cpu", defines=defines).k(1, 1, (out, 5))
    assert out[0] == 5
    with pytest.raises(gpuport.CompileError, match=r"<source>:3:.*oops"):
        gpuport.load(
            COLLIDING.replace("TYPE", "T") + "int y = oops;\n", backend="cpu", defines=defines
        )


@pytest.mark.parametrize(("backend", "arch"), [("cuda", "sm_90"), ("hip", "gfx90a")])
def test_colliding_names_on_gpus(backend: str, arch: str) -> None:
    names = ("T", "Kernel", "Record", "Element", "Kind")
    defines = {name: "float" if name == "T" else 3 for name in names}
    lines = "".join(f"#define {name} {value}\n" for name, value in defines.items())
    try:
        first = gpuport.load(lines + COLLIDING.replace("TYPE", "T"), backend=backend, archs=[arch])
        second = gpuport.load(
            COLLIDING.replace("TYPE", "T"), backend=backend, archs=[arch], defines=defines
        )
    except gpuport.BackendUnavailableError as error:
        pytest.skip(str(error))
    assert first.kernels == second.kernels == ("k",)


@pytest.mark.parametrize("name", ["div", "max", "abs", "index", "remove", "time", "clock"])
def test_a_kernel_may_have_the_name_of_a_function_of_c(cpu: Target, name: str) -> None:
    source = f"__global__ void {name}(int* p) {{ *p = 7; }}\n"
    module = gpuport.load(source, backend="cpu", warp_size=cpu.warp_size, name_expressions=[name])
    p = np.zeros(1, np.int32)
    module[name](1, 1, (p,))
    assert p[0] == 7
