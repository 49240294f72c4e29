"""The configure step of the real build files: options, the registry, and what is recorded."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from mini_project import Project

KEYS = {
    "built",
    "reason",
    "architectures",
    "architectures_from",
    "compiler",
    "compiler_path",
    "runtime",
    "flags",
    "searched",
}


def failure(project: Project, *defines: str, **environ: str) -> str:
    result = project.configure(*defines, **environ)
    assert result.returncode != 0, result.stdout
    return " ".join(result.stderr.split())


def test_cpu_alone(project: Project) -> None:
    result = project.configure()
    assert result.returncode == 0, result.stderr
    assert "-- gpuport: cpu: built for " in result.stdout
    assert "-- gpuport: cuda: not built: GPUPORT_CUDA=OFF\n" in result.stdout
    assert "-- gpuport: hip: not built: GPUPORT_HIP=OFF\n" in result.stdout

    info = json.loads((project.build / "_build_info.json").read_text(encoding="utf-8"))
    assert set(info["backends"]) == {"cpu", "cuda", "hip"}
    assert all(set(record) == KEYS for record in info["backends"].values())
    cpu, cuda = info["backends"]["cpu"], info["backends"]["cuda"]
    assert (cpu["built"], cpu["reason"]) == (True, "")
    assert cpu["flags"] == "-std=c++20 -O2 -DNDEBUG"
    assert Path(cpu["compiler_path"]).is_file()
    assert (cuda["built"], cuda["reason"]) == (False, "GPUPORT_CUDA=OFF")


def test_flags_with_blanks_and_quotes_are_kept(project: Project) -> None:
    result = project.configure('CMAKE_CXX_FLAGS=-O2 -g -DNAME="two words"')
    assert result.returncode == 0, result.stderr
    info = json.loads((project.build / "_build_info.json").read_text(encoding="utf-8"))
    flags = info["backends"]["cpu"]["flags"]
    assert flags == '-std=c++20 -O2 -g -DNAME="two words" -O2 -DNDEBUG'


@pytest.mark.parametrize("name", ["CPU", "CUDA", "HIP"])
def test_a_mode_that_is_none(project: Project, name: str) -> None:
    says = failure(project, f"GPUPORT_{name}=MAYBE")
    assert f"GPUPORT_{name}=MAYBE is none of AUTO, ON, OFF" in says


def test_a_misspelt_option(project: Project) -> None:
    assert "GPUPORT_CUDDA is no option" in failure(project, "GPUPORT_CUDDA=ON")


@pytest.mark.parametrize("mode", ["AUTO", "ON"])
@pytest.mark.parametrize(
    ("backend", "variable"),
    [("CUDA", "CUDACXX"), ("CUDA", "CUDA_HOME"), ("HIP", "ROCM_PATH"), ("HIP", "HIPCXX")],
)
def test_a_toolchain_that_is_not_where_it_is_said_to_be(
    project: Project, backend: str, variable: str, mode: str
) -> None:
    says = failure(project, f"GPUPORT_{backend}={mode}", **{variable: "/nowhere"})
    assert f"GPUPORT_{backend}={mode}: {variable}=/nowhere" in says


def test_on_without_nvcc_names_what_is_missing_and_where_it_looked(project: Project) -> None:
    search = project.source / "python/gpuport/toolchain/cuda.py"
    text = search.read_text(encoding="utf-8")
    search.write_text(text.replace("/usr/local/cuda/", "/nowhere/"), encoding="utf-8")
    tools = project.build.parent / "tools"
    tools.mkdir()
    for name in ("cmake", "ninja", "c++", "ar", "ranlib", "ld", "as"):
        path = shutil.which(name)
        if path:
            (tools / name).symlink_to(path)
    result = project.configure("GPUPORT_CUDA=AUTO", PATH=str(tools))
    assert result.returncode == 0, result.stderr
    assert "-- gpuport: cuda: not built: no nvcc (looked at CMAKE_CUDA_COMPILER" in result.stdout
    says = failure(project, "GPUPORT_CUDA=ON", PATH=str(tools))
    assert "GPUPORT_CUDA=ON: no nvcc. Looked at: CMAKE_CUDA_COMPILER: not set CUDACXX" in says
    assert "PATH: nvcc: not there" in says


def test_a_registry_entry_without_its_source(project: Project) -> None:
    (project.source / "kernels/cuda/demo/twice.cu").unlink()
    assert "has an entry for demo/twice.cu" in failure(project)


def test_a_registry_line_that_is_no_entry(project: Project) -> None:
    with (project.source / "kernels/cuda/registry.def").open("a", encoding="utf-8") as registry:
        registry.write("GP_ENTRY(demo)\n")
    assert "is no GP_ENTRY(family, variant, ...)" in failure(project)


def test_architectures_reach_the_record(project: Project) -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("no nvcc on PATH")
    result = project.configure(
        "GPUPORT_CUDA=ON", "CMAKE_CUDA_ARCHITECTURES=80-real;90", CUDAARCHS="75"
    )
    assert result.returncode == 0, result.stderr
    assert "gpuport: cuda: built for sm_80 sm_90 compute_90 (NVIDIA" in result.stdout
    again = project.configure("GPUPORT_CUDA=ON")
    assert "gpuport: cuda: built for sm_80 sm_90 compute_90 (NVIDIA" in again.stdout
    info = json.loads((project.build / "_build_info.json").read_text(encoding="utf-8"))
    assert info["backends"]["cuda"]["architectures"] == ["sm_80", "sm_90", "compute_90"]
    assert info["backends"]["cuda"]["architectures_from"] == "CMAKE_CUDA_ARCHITECTURES"
