"""AMD code objects against what llvm-readelf says about them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from inspect_inputs import hip, program, run

from gpuport.inspection import inspect

FIELDS = {
    "vgpr_count": "registers",
    "agpr_count": "agprs",
    "sgpr_count": "sgprs",
    "group_segment_fixed_size": "shared",
    "private_segment_fixed_size": "stack",
    "vgpr_spill_count": "spills",
    "sgpr_spill_count": "sgpr_spills",
    "wavefront_size": "wavefront",
}


@pytest.mark.parametrize(("arch", "wavefront"), [("gfx90a", 64), ("gfx1030", 32)])
def test_same_as_llvm_readelf(arch: str, wavefront: int, tmp_path: Path) -> None:
    options = [f"--offload-arch={arch}", "--cuda-device-only", "--no-gpu-bundle-output", "-c"]
    code_object = hip(tmp_path / "kernels.hsaco", *options)
    notes = run(
        program("llvm-readelf-19", "llvm-readelf-15", "llvm-readelf"), "--notes", code_object
    )
    expected = {}
    for text in re.split(r"^  - (?=\.agpr_count|\.args)", notes, flags=re.MULTILINE)[1:]:
        numbers = dict(re.findall(r"^ *\.(\w+): +(\d+)$", text, re.MULTILINE))
        symbol = re.findall(r"^ *\.name: +(_Z\w+)$", text, re.MULTILINE)[0]
        expected[symbol] = {
            field: int(numbers[key]) if key in numbers else None for key, field in FIELDS.items()
        }
    assert len(expected) == 5
    found = inspect(code_object)
    assert found.architectures == [arch]
    assert expected == {
        kernel.symbol: {field: getattr(kernel, field) for field in FIELDS.values()}
        for kernel in found
    }
    assert {kernel.wavefront for kernel in found} == {wavefront}
    assert re.fullmatch(r"clang \d+\.\d+\.\d+", found.compilers[arch])


def test_known_facts(hip_library: Path) -> None:
    found = {(kernel.name, kernel.architecture): kernel for kernel in inspect(hip_library)}
    assert len(found) == 10
    for arch in ("gfx90a", "gfx1030"):
        assert found["void tile<float>(float*)", arch].shared == 1024
        assert found["void tile<double>(double*)", arch].shared == 2048
        framed = found["framed(int*, int)", arch]
        assert framed.stack >= 256
        assert framed.spills == 0
        spilled = found["spilled(float*, int)", arch]
        assert spilled.registers == 128, "1024 lanes leave 128 vector registers to each"
        assert spilled.spills
        assert spilled.local_accesses is None


def test_library_with_a_wave64_and_a_wave32_target(hip_library: Path) -> None:
    found = inspect(hip_library)
    assert found.architectures == ["gfx90a", "gfx1030"]
    assert {(k.architecture, k.wavefront) for k in found} == {("gfx90a", 64), ("gfx1030", 32)}


def test_bundle(tmp_path: Path) -> None:
    bundle = hip(tmp_path / "bundle.hipfb", "--genco", "--offload-arch=gfx90a")
    assert inspect(bundle).architectures == ["gfx90a"]


def test_features_stay_in_the_name(tmp_path: Path) -> None:
    targets = ["--offload-arch=gfx90a:xnack-", "--offload-arch=gfx90a:xnack+"]
    assert inspect(hip(tmp_path / "kernels.o", *targets, "-c")).architectures == [
        "gfx90a:xnack+",
        "gfx90a:xnack-",
    ]


def test_compressed_bundle(tmp_path: Path) -> None:
    clang = program("clang-19", "clang-20", "clang-18")
    bitcode = next(Path("/usr/lib").glob("*/amdgcn/bitcode"), None)
    if bitcode is None:
        pytest.skip("needs the ROCm device libraries")
    source = Path(__file__).with_name("kernels.cu")
    plain, compressed = tmp_path / "plain.o", tmp_path / "compressed.o"
    options = [
        clang, "--driver-mode=g++", "-x", "hip", "--rocm-path=/usr", "-O2", "-c",
        f"--rocm-device-lib-path={bitcode}", "--offload-arch=gfx90a", source,
    ]  # fmt: skip
    run(*options, "-o", plain)
    run(*options, "--offload-compress", "-o", compressed)
    assert b"CCOB" in compressed.read_bytes()
    expected = [(k.symbol, k.registers, k.sgprs, k.shared, k.stack) for k in inspect(plain)]
    assert expected
    assert expected == [
        (k.symbol, k.registers, k.sgprs, k.shared, k.stack) for k in inspect(compressed)
    ]


def test_code_that_is_not_linked_yet_is_named_as_such(tmp_path: Path) -> None:
    found = inspect(hip(tmp_path / "kernels.o", "-fgpu-rdc", "--offload-arch=gfx90a", "-c"))
    assert (found.architectures, found.ir, list(found)) == ([], ["gfx90a"], [])
