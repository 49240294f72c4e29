"""The AMD code that was compiled: for every kernel and target the wavefront that the target has.

No AMD GPU is needed. The module's own code comes from the HIP that the machine has. The newer
targets are compiled here against HIP 7's headers, which CI prepares: GPUPORT_HIP7_INCLUDE is the
folder that holds hip/, GPUPORT_AMD_BITCODE the one that ci/amd_bitcode.py made.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gpuport
from amd_code import code_objects, kernels, readelf, wavefront_size
from gpuport.translate import hipify
from mini_project import QUICK, ROOT, Project

CUDA = ROOT / "kernels/cuda"
KERNELS = sorted(str(path.relative_to(CUDA)) for path in CUDA.glob("*/*.cu"))
NEWER = ("gfx942", "gfx1100", "gfx1200")
CLANG = "clang++-19"

needs_readelf = pytest.mark.skipif(readelf() is None, reason="no llvm-readelf")


@pytest.mark.parametrize(
    ("target", "size"),
    [
        ("gfx900", 64),
        ("gfx90a", 64),
        ("gfx942", 64),
        ("gfx1030", 32),
        ("gfx1100", 32),
        ("gfx1200", 32),
    ],
)
def test_wavefront_size_of_the_hardware(target: str, size: int) -> None:
    assert wavefront_size(target) == size


def sizes(code: bytes, scratch: Path) -> dict[str, int]:
    path = scratch / "code.elf"
    path.write_bytes(code)
    return kernels(path)


@needs_readelf
def test_the_module_holds_both_widths(tmp_path: Path) -> None:
    spec = importlib.util.find_spec("gpuport._hip")
    if spec is None or spec.origin is None:
        hip = next(backend for backend in gpuport.backends() if backend.name == "hip")
        pytest.skip(f"hip is not built: {hip.reason}")
    found: dict[str, set[str]] = {}
    for target, code in code_objects(Path(spec.origin)):
        of_target = sizes(code, tmp_path)
        assert of_target, f"a code object for {target} without a kernel"
        assert set(of_target.values()) == {wavefront_size(target)}, target
        found.setdefault(target, set()).update(of_target)
    record = next(backend for backend in gpuport.backends() if backend.name == "hip")
    assert set(found) == {name.split(":")[0] for name in record.architectures}
    assert {wavefront_size(target) for target in found} == {32, 64}
    first, *others = found.values()
    assert all(names == first for names in others), "every target holds the same kernels"


@needs_readelf
@pytest.mark.slow
def test_a_newer_clang_builds_every_default_target(project: Project, tmp_path: Path) -> None:
    """The build files with clang 19 and the device libraries that ci/amd_bitcode.py makes."""
    bitcode = os.environ.get("GPUPORT_AMD_BITCODE", "")
    if shutil.which(CLANG) is None or not Path(bitcode, "ockl.bc").is_file():
        pytest.skip(f"no {CLANG}, or GPUPORT_AMD_BITCODE is not set; see .ci/run")
    environ = {"HIPCXX": CLANG, "HIP_DEVICE_LIB_PATH": bitcode}
    result = project.configure("GPUPORT_HIP=ON", "GPUPORT_CPU=OFF", QUICK, **environ)
    assert result.returncode == 0, result.stderr
    targets = ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1200"]
    assert f"gpuport: hip: built for {' '.join(targets)} (Clang 19." in result.stdout
    project.ninja()
    module = next(project.build.glob("_hip*.so"))
    found = {target: sizes(code, tmp_path) for target, code in code_objects(module) if code}
    assert {target: set(of.values()) for target, of in found.items() if of} == {
        target: {wavefront_size(target)} for target in targets
    }
    show = "import _hip; print(_hip.backend, _hip.architectures)"
    shown = project.run(sys.executable, "-c", show, PYTHONPATH=str(project.build))
    assert shown.stdout.split() == ["hip", *targets], shown.stderr


@pytest.fixture(scope="session")
def ported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """kernels/cuda as the translator ports it."""
    tree = tmp_path_factory.mktemp("ported")
    for path in (path for path in CUDA.rglob("*") if path.is_file()):
        target = tree / path.relative_to(CUDA)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(hipify(path).text, encoding="utf-8")
    return tree


@pytest.fixture
def hip7() -> list[str]:
    """Compiler options for HIP 7's headers with device libraries that know the newer targets."""
    headers, bitcode = (
        os.environ.get(name, "") for name in ("GPUPORT_HIP7_INCLUDE", "GPUPORT_AMD_BITCODE")
    )
    if shutil.which(CLANG) is None:
        pytest.skip(f"no {CLANG}")
    if (
        not (Path(headers) / "hip/hip_version.h").is_file()
        or not Path(bitcode, "ockl.bc").is_file()
    ):
        pytest.skip("GPUPORT_HIP7_INCLUDE and GPUPORT_AMD_BITCODE are not set; see .ci/run")
    return ["-I", headers, "--rocm-path=/usr", f"--rocm-device-lib-path={bitcode}"]


@needs_readelf
@pytest.mark.slow
@pytest.mark.parametrize("source", KERNELS)
def test_newer_targets_and_headers(
    source: str, ported: Path, hip7: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "bundle"
    command = [CLANG, "-x", "hip", "-std=c++20", "-O1", "-DGP_TARGET_AMD=1", *hip7]
    command += [f"--offload-arch={target}" for target in NEWER]
    command += ["-I", str(ported), "--cuda-device-only", "-c", str(ported / source), "-o", str(out)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    found = {target: sizes(code, tmp_path) for target, code in code_objects(out)}
    assert set(found) == set(NEWER)
    for target, of_target in found.items():
        assert of_target, f"no kernel for {target}"
        assert set(of_target.values()) == {wavefront_size(target)}, target
