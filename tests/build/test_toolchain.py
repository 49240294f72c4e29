"""Finding compilers: what is named must exist, and only then is anything searched for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpuport.toolchain import Request, ToolchainError, find_cuda, find_hip
from gpuport.toolchain.__main__ import find, main

NVCC = """#!/bin/sh
case "$1" in
  --version) echo "Cuda compilation tools, release 12.4, V12.4.131";;
  --list-gpu-arch) for n in 50 75 80 90; do echo compute_$n; done;;
  *) exit ${FAKE_STATUS:-0};;
esac
"""
CLANG = """#!/bin/sh
case "$*" in
  --version) echo "clang version 17.0.0";;
  -print-resource-dir) echo /nowhere;;
  *gfx90a*|*gfx1100*) exit 0;;
  *) exit 1;;
esac
"""


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def toolkit(tmp_path: Path) -> Path:
    program(tmp_path / "cuda/bin/nvcc", NVCC)
    return tmp_path / "cuda"


@pytest.fixture
def rocm(tmp_path: Path) -> Path:
    """A folder in the shape of a ROCm installation."""
    root = tmp_path / "rocm"
    program(root / "lib/llvm/bin/clang++", CLANG)
    for name, text in {
        "include/hip/hip_runtime.h": "",
        "include/hip/hip_version.h": "#define HIP_VERSION_MAJOR 6\n"
        "#define HIP_VERSION_MINOR 4\n#define HIP_VERSION_PATCH 2\n",
        "amdgcn/bitcode/ockl.bc": "",
        "lib/libamdhip64.so": "",
        "lib/cmake/hip-lang/hip-lang-config.cmake": "",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def request(mode: str = "AUTO", /, **environ: str) -> Request:
    return Request(mode, {}, {"PATH": "/bin:/usr/bin", **environ})


@pytest.mark.parametrize("variable", ["CUDA_HOME", "CUDA_PATH"])
def test_nvcc_of_a_toolkit_folder(toolkit: Path, variable: str) -> None:
    found = find_cuda(request(**{variable: str(toolkit)}))
    assert found.compiler_path == str(toolkit / "bin/nvcc")
    assert found.compiler == "NVIDIA 12.4.131"
    assert found.runtime == "CUDA 12.4"
    assert found.architectures == ["sm_75", "sm_80", "sm_90", "compute_90"]


def test_the_stronger_name_wins(toolkit: Path, tmp_path: Path) -> None:
    other = program(tmp_path / "other/nvcc", NVCC)
    found = find_cuda(request(CUDACXX=str(other), CUDA_HOME=str(toolkit)))
    assert found.compiler_path == str(other)


def test_nvcc_on_path(toolkit: Path) -> None:
    found = find_cuda(Request("AUTO", {}, {"PATH": f"{toolkit}/bin:/bin:/usr/bin"}))
    assert found.compiler_path == str(toolkit / "bin/nvcc")


@pytest.mark.parametrize("mode", ["AUTO", "ON"])
@pytest.mark.parametrize("variable", ["CUDACXX", "CUDA_HOME", "CUDA_PATH"])
def test_a_name_that_points_nowhere_is_an_error(toolkit: Path, variable: str, mode: str) -> None:
    # CUDA_PATH is good and on PATH is another: neither may take the place of what was named.
    environ = {"CUDA_PATH": str(toolkit), "PATH": f"{toolkit}/bin:/bin", variable: "/nowhere/nvcc"}
    with pytest.raises(ToolchainError, match=f"{variable}=/nowhere/nvcc"):
        find("cuda", Request(mode, {}, environ))


def test_auto_gives_the_reason_and_on_raises_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpuport.toolchain.cuda.USUAL_PLACE", "/nowhere/nvcc")
    environ = {"PATH": str(tmp_path)}
    found = find("cuda", Request("AUTO", {}, environ))
    assert (found.built, found.reason) == (False, "no nvcc")
    assert found.searched == [
        "CMAKE_CUDA_COMPILER: not set",
        "CUDACXX: not set",
        "CUDA_HOME: not set",
        "CUDA_PATH: not set",
        "PATH: nvcc: not there",
        "/nowhere/nvcc: not there",
    ]
    with pytest.raises(ToolchainError, match=r"no nvcc. Looked at:\n(.*\n)*  CUDACXX: not set"):
        find("cuda", Request("ON", {}, environ))


def test_off_looks_at_nothing() -> None:
    found = find("hip", request("OFF", ROCM_PATH="/nowhere"))
    assert (found.built, found.reason, found.searched) == (False, "GPUPORT_HIP=OFF", [])


def test_a_mode_that_is_none() -> None:
    with pytest.raises(ToolchainError, match="'MAYBE' is none of AUTO, ON, OFF"):
        Request("MAYBE")


def test_nvcc_that_does_not_compile(toolkit: Path) -> None:
    path = f"{toolkit}/bin:/bin:/usr/bin"
    found = find("cuda", Request("AUTO", {}, {"PATH": path, "FAKE_STATUS": "1"}))
    assert not found.built
    assert "does not compile" in found.reason
    with pytest.raises(ToolchainError, match="does not compile"):
        find("cuda", request(CUDA_HOME=str(toolkit), FAKE_STATUS="1"))


@pytest.mark.parametrize("variable", ["ROCM_PATH", "ROCM_HOME"])
def test_rocm_folder(rocm: Path, variable: str) -> None:
    found = find_hip(request(**{variable: str(rocm)}))
    assert found.compiler == "Clang 17.0.0"
    assert found.compiler_path == str(rocm / "lib/llvm/bin/clang++")
    assert found.runtime == "HIP 6.4.2"
    assert found.architectures == ["gfx90a", "gfx1100"]
    assert found.cmake["GPUPORT_HIP_LIBRARY"] == str(rocm / "lib/libamdhip64.so")


@pytest.mark.parametrize(
    ("missing", "says"),
    [
        ("lib/libamdhip64.so", "no libamdhip64.so"),
        ("lib/cmake/hip-lang/hip-lang-config.cmake", "no hip-lang-config.cmake"),
        ("amdgcn/bitcode/ockl.bc", "no AMD device libraries"),
    ],
)
def test_an_incomplete_rocm_folder_says_what_is_missing(
    rocm: Path, missing: str, says: str
) -> None:
    (rocm / missing).unlink()
    found = find("hip", request(ROCM_PATH=str(rocm)))
    assert not found.built
    assert says in found.reason
    with pytest.raises(ToolchainError, match=says):
        find("hip", request("ON", ROCM_PATH=str(rocm)))


@pytest.mark.parametrize("variable", ["ROCM_PATH", "ROCM_HOME", "HIPCXX", "HIP_DEVICE_LIB_PATH"])
def test_a_hip_name_that_points_nowhere_is_an_error(rocm: Path, variable: str) -> None:
    environ = {"ROCM_PATH": str(rocm), variable: "/nowhere"}
    with pytest.raises(ToolchainError, match=f"{variable}=/nowhere"):
        find("hip", request(**environ))


def test_hipcc_is_refused_by_name(rocm: Path) -> None:
    hipcc = program(rocm / "bin/hipcc", CLANG)
    with pytest.raises(ToolchainError, match="not hipcc"):
        find_hip(request(ROCM_PATH=str(rocm), HIPCXX=str(hipcc)))


def test_command_line(
    toolkit: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CUDA_HOME", str(toolkit))
    for variable in ("CUDACXX", "CUDA_PATH", "CUDAARCHS", "TORCH_CUDA_ARCH_LIST"):
        monkeypatch.delenv(variable, raising=False)
    assert main(["find", "--backend", "cuda=ON", "--cmake", f"{tmp_path}/found.cmake"]) == 0
    text = (tmp_path / "found.cmake").read_text(encoding="utf-8")
    assert "set(GPUPORT_CUDA_BUILT [==[True]==])" in text
    assert "set(CMAKE_CUDA_ARCHITECTURES [==[75-real;80-real;90-real;90-virtual]==])" in text

    assert main(["find", "--backend", "cuda=ON", "--set", "CMAKE_CUDA_ARCHITECTURES=80-real"]) == 0
    record = json.loads(capsys.readouterr().out)["backends"]["cuda"]
    assert record["architectures"] == ["sm_80"]
    assert record["architectures_from"] == "CMAKE_CUDA_ARCHITECTURES"

    monkeypatch.setenv("CMAKE_CUDA_COMPILER_LAUNCHER", "no-such-ccache")
    assert main(["find", "--backend", "cuda=AUTO"]) == 1
    assert "CMAKE_CUDA_COMPILER_LAUNCHER=no-such-ccache" in capsys.readouterr().err
