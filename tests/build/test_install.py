"""pip, editable installs and wheels of the small tree, in a path with blanks."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from mini_project import QUICK, Project

pytestmark = pytest.mark.slow

OPTIONS = ["GPUPORT_CUDA=OFF", "GPUPORT_HIP=OFF", QUICK]
CPU_ONLY = [f"-Ccmake.define.{option}" for option in OPTIONS]
SHOW = """
import gpuport, gpuport._cpu as module
print(module.backend, module.fill(), module.twice(3.0), module.__file__, gpuport.__file__)
"""


@pytest.fixture
def repository(project: Project) -> Project:
    for command in (
        ["git", "init", "--quiet"],
        ["git", "add", "--all"],
        ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "--quiet", "-m", "all"],
    ):
        assert project.run(*command).returncode == 0
    return project


def environment(project: Project) -> Path:
    """An interpreter of its own that sees the tools of this one."""
    folder = project.build.parent / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    here = {path for path in sys.path if path.endswith("-packages")}
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "tools.pth").write_text("\n".join(sorted(here)) + "\n", encoding="utf-8")
    return folder / "bin/python"


def install(project: Project, python: Path, *what: str) -> None:
    options = ["--no-build-isolation", "--no-deps", "--ignore-installed", "--quiet", *CPU_ONLY]
    result = project.run(python, "-m", "pip", "install", *options, *what)
    assert result.returncode == 0, result.stdout + result.stderr


def assert_clean(project: Project) -> None:
    status = project.run("git", "status", "--porcelain", "--ignored")
    untracked = [line for line in status.stdout.splitlines() if "__pycache__" not in line]
    assert untracked == []


def test_install(repository: Project) -> None:
    python = environment(repository)
    install(repository, python, ".")
    assert_clean(repository)
    shown = subprocess.run([python, "-I", "-c", SHOW], capture_output=True, text=True, check=True)
    backend, fill, twice, *_ = shown.stdout.split()
    assert (backend, fill, twice) == ("cpu", "1.5", "6.0")
    packages = next(python.parents[1].glob("lib/python*/site-packages"))
    assert str(packages / "gpuport") in shown.stdout
    assert (packages / "gpuport/_build_info.json").is_file()
    suffix = ".abi3.so" if sys.version_info >= (3, 12) else f".cpython-3{sys.version_info.minor}-"
    assert [suffix in path.name for path in (packages / "gpuport").glob("_cpu*.so")] == [True]


def test_editable_install(repository: Project) -> None:
    python = environment(repository)
    install(repository, python, "--editable", ".")
    assert_clean(repository)
    shown = subprocess.run([python, "-I", "-c", SHOW], capture_output=True, text=True, check=True)
    assert shown.stdout.startswith("cpu 1.5 6.0 ")
    # The Python files are those of the source tree.
    assert str(repository.source / "python/gpuport/__init__.py") in shown.stdout


def test_sdist_then_wheel(repository: Project) -> None:
    out = repository.build.parent / "dist"
    options = ["--no-isolation", "--outdir", out, *CPU_ONLY]
    result = repository.run(sys.executable, "-m", "build", *map(str, options))
    assert result.returncode == 0, result.stdout + result.stderr
    assert_clean(repository)

    with tarfile.open(next(out.glob("*.tar.gz"))) as sdist:
        names = {name.split("/", 1)[-1] for name in sdist.getnames()}
    assert {
        "CMakeLists.txt",
        "cmake/GpuportAddModule.cmake",
        "kernels/cuda/registry.def",
        "kernels/cuda/demo/fill.cu",
        "kernels/cpu/simt/include/cuda_runtime.h",
        "kernels/hip/hipify.toml",
        "python/gpuport/translate/__main__.py",
    } <= names

    wheel = next(out.glob("*.whl"))
    minor = sys.version_info.minor
    tag = "cp312-abi3" if minor >= 12 else f"cp3{minor}-cp3{minor}"
    assert wheel.name.startswith(f"gpuport-0.1.0-{tag}-linux_")
    with zipfile.ZipFile(wheel) as archive:
        packed = archive.namelist()
    assert "gpuport/_build_info.json" in packed
    assert sum(name.startswith("gpuport/_cpu.") and name.endswith(".so") for name in packed) == 1
    # What a module that is compiled at run time is compiled and linked against.
    assert {"gpuport/libgpuport_simt.so", "gpuport/include/simt/cuda_runtime.h"} <= set(packed)
    assert {"gpuport/include/hip/gpuport_hip.h", "gpuport/rules.md"} <= set(packed)
    assert not [name for name in packed if name.endswith((".a", ".pyc"))]
