"""Which architectures are compiled for: the precedence, the forms, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuport.toolchain import (
    Architectures,
    Request,
    ToolchainError,
    cuda_architectures,
    hip_architectures,
)

NVCC_13 = (75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121)
NVCC_12_4 = (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90)
DEBIAN_CLANG = ("gfx90a", "gfx1030")


def cuda(
    settings: dict[str, str] | None = None,
    environ: dict[str, str] | None = None,
    known: tuple[int, ...] = NVCC_13,
) -> Architectures:
    return cuda_architectures(Request("AUTO", settings or {}, environ or {}), known)


def hip(
    settings: dict[str, str] | None = None, environ: dict[str, str] | None = None
) -> Architectures:
    request = Request("AUTO", settings or {}, environ or {})
    return hip_architectures(request, lambda name: name.split(":")[0] in DEBIAN_CLANG)


def test_cuda_default_is_real_code_and_ptx_of_the_newest() -> None:
    found = cuda()
    assert found.names == ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120", "compute_120")
    assert found.cmake == ("75-real", "80-real", "90-real", "100-real", "120-real", "120-virtual")
    assert found.source == "default"


def test_cuda_default_keeps_what_an_older_nvcc_knows() -> None:
    assert cuda(known=NVCC_12_4).names == ("sm_75", "sm_80", "sm_90", "compute_90")


def test_cuda_default_needs_one_that_nvcc_knows() -> None:
    with pytest.raises(ToolchainError, match="none of the default architectures"):
        cuda(known=(50, 60))


def test_cuda_precedence() -> None:
    settings = {"CMAKE_CUDA_ARCHITECTURES": "75"}
    environ = {"CUDAARCHS": "80", "TORCH_CUDA_ARCH_LIST": "9.0"}
    assert cuda(settings, environ).source == "CMAKE_CUDA_ARCHITECTURES"
    assert cuda({}, environ).source == "CUDAARCHS"
    del environ["CUDAARCHS"]
    assert cuda({}, environ).source == "TORCH_CUDA_ARCH_LIST"
    assert cuda({}, environ).names == ("sm_90",)


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("80;90", ("sm_80", "compute_80", "sm_90", "compute_90")),
        ("80-real;120-virtual", ("sm_80", "compute_120")),
        ("90a-real", ("sm_90a",)),
        ("100f-virtual", ("compute_100f",)),
        ("80-real;80-real", ("sm_80",)),
        ("all-major", ("sm_75", "sm_80", "sm_90", "sm_100", "sm_110", "sm_120", "compute_120")),
    ],
)
def test_cmake_form(value: str, names: tuple[str, ...]) -> None:
    assert cuda({"CMAKE_CUDA_ARCHITECTURES": value}).names == names
    assert cuda({}, {"CUDAARCHS": value}).names == names


def test_all_is_every_architecture_of_this_nvcc() -> None:
    found = cuda({"CMAKE_CUDA_ARCHITECTURES": "all"})
    assert found.names == (*(f"sm_{number}" for number in NVCC_13), "compute_121")


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("8.0", ("sm_80",)),
        ("8.0;9.0+PTX", ("sm_80", "sm_90", "compute_90")),
        ("8.0 12.0+PTX", ("sm_80", "sm_120", "compute_120")),
        ("9.0a", ("sm_90a",)),
        ("Ampere", ("sm_80", "sm_86", "compute_86")),
        ("Turing;Hopper", ("sm_75", "compute_75", "sm_90", "compute_90")),
    ],
)
def test_torch_form(value: str, names: tuple[str, ...]) -> None:
    assert cuda({}, {"TORCH_CUDA_ARCH_LIST": value}).names == names


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("CUDAARCHS", "sm_80", "'sm_80' is no CUDA architecture"),
        ("CUDAARCHS", "8.0", "'8.0' is no CUDA architecture"),
        ("CUDAARCHS", "70", "70 is unknown to this nvcc"),
        ("CUDAARCHS", ";", "names no architecture"),
        ("CUDAARCHS", "80;native", "'native' is no CUDA architecture"),
        ("TORCH_CUDA_ARCH_LIST", "80", "'80' is neither a number such as 9.0"),
        ("TORCH_CUDA_ARCH_LIST", "Ampère", "is neither a number"),
        ("TORCH_CUDA_ARCH_LIST", "7.0", "70-real is unknown to this nvcc"),
    ],
)
def test_cuda_refuses(variable: str, value: str, says: str) -> None:
    with pytest.raises(ToolchainError, match=says) as caught:
        cuda({}, {variable: value})
    assert str(caught.value).startswith(variable)


def test_an_empty_setting_is_refused_and_does_not_mean_the_default() -> None:
    with pytest.raises(ToolchainError, match="CMAKE_CUDA_ARCHITECTURES='' names no architecture"):
        cuda({"CMAKE_CUDA_ARCHITECTURES": ""})


def test_native_without_a_gpu_is_an_error(tmp_path: Path) -> None:
    environ = {"CUDAARCHS": "native", "PATH": str(tmp_path)}
    with pytest.raises(ToolchainError, match="CUDAARCHS=native needs an NVIDIA GPU here"):
        cuda({}, environ)
    with pytest.raises(ToolchainError, match="native needs an AMD GPU here"):
        hip({"CMAKE_HIP_ARCHITECTURES": "native"}, {"PATH": str(tmp_path)})


def test_native_asks_the_gpu(tmp_path: Path) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 9.0\necho 9.0\necho 8.6\n", encoding="utf-8")
    tool.chmod(0o755)
    found = cuda({"CMAKE_CUDA_ARCHITECTURES": "native"}, {"PATH": f"{tmp_path}:/bin:/usr/bin"})
    assert found.names == ("sm_86", "sm_90")


def test_hip_default_has_both_wave_widths() -> None:
    found = hip()
    assert found.names == ("gfx90a", "gfx1030")
    assert found.source == "default"


def test_hip_precedence() -> None:
    environ = {"PYTORCH_ROCM_ARCH": "gfx90a", "GPU_TARGETS": "gfx1030"}
    settings = {"CMAKE_HIP_ARCHITECTURES": "gfx1030;gfx90a"}
    assert hip(settings, environ).names == ("gfx1030", "gfx90a")
    assert hip({}, environ).source == "PYTORCH_ROCM_ARCH"
    del environ["PYTORCH_ROCM_ARCH"]
    assert hip({}, environ).source == "GPU_TARGETS"
    assert hip({"GPU_TARGETS": "gfx90a,gfx1030"}).names == ("gfx90a", "gfx1030")


def test_hip_takes_target_features() -> None:
    assert hip({}, {"PYTORCH_ROCM_ARCH": "gfx90a:xnack+"}).names == ("gfx90a:xnack+",)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("90a", "'90a' is no AMD architecture"),
        ("gfx942", "gfx942 is unknown to this compiler or has no device library"),
    ],
)
def test_hip_refuses(value: str, says: str) -> None:
    with pytest.raises(ToolchainError, match=says):
        hip({}, {"PYTORCH_ROCM_ARCH": value})
