"""A small package by someone else, built as a wheel against the installed gpuport."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).with_name("rowstats")
STEERING = re.compile(r"^SKBUILD_|^PYTHONPATH$|ROOT$|CUDAARCHS|GPU_TARGETS|_ARCH")
# One architecture of each vendor: what is tested is that the whole way is there.
ARCHITECTURES = {"cuda": "sm_80", "hip": "gfx1030"}

RUN = """
import json, sys
import numpy as np
import rowstats
from gpuport.errors import BackendUnavailableError

x = np.arange(7 * 100, dtype=np.float32).reshape(7, 100)
result = {"backends": rowstats.kernels.backends}
for width in (32, 64):
    sums, lanes = np.full(7, np.nan, np.float32), np.full(7, -1, np.int32)
    rowstats.row_sums(x, sums, lanes, warp_size=width)
    result[str(width)] = [sums.tolist(), lanes.tolist()]
    values = np.random.default_rng(3).integers(0, 256, 10_000).astype(np.uint8)
    bins = np.full(256, 77, np.uint32)
    rowstats.histogram(values, bins, warp_size=width)
    assert (bins == np.bincount(values, minlength=256)).all()
errors = []
for call in (
    lambda: rowstats.row_sums(x, sums, lanes, warp_size=16),
    lambda: rowstats.kernels.place(1, 2),
    lambda: rowstats.kernels.module("rocm"),
    lambda: rowstats.kernels.module("hip"),
):
    try:
        call()
        errors.append("")
    except (TypeError, ValueError, BackendUnavailableError) as error:
        errors.append(f"{type(error).__name__}: {error}")
print(json.dumps({**result, "errors": errors}))
"""


class Venv:
    """An interpreter of its own that sees the packages of this one, and a copy of the sources."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.source = folder / "a package"
        shutil.copytree(SOURCE, self.source, ignore=shutil.ignore_patterns("__pycache__"))
        home = folder / "environment"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
        self.packages = next(home.glob("lib/python*/site-packages"))
        here = dict.fromkeys(path for path in sys.path if path.endswith("-packages"))
        # As a .pth file of theirs may name more folders, they are added as sites.
        lines = [f"import site; site.addsitedir({path!r})" for path in here]
        (self.packages / "tools.pth").write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.python = home / "bin/python"

    def run(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not STEERING.search(name)}
        kept["PATH"] = f"{Path(sys.executable).parent}:{kept['PATH']}"
        command = [str(word) for word in (self.python, *words)]
        return subprocess.run(
            command, cwd=self.folder, env=kept, capture_output=True, text=True, check=False
        )

    def wheel(self, *defines: str) -> subprocess.CompletedProcess[str]:
        options = [f"-Ccmake.define.{define}" for define in defines]
        return self.run(
            *("-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--verbose"),
            *("--wheel-dir", self.folder / "dist", *options, self.source),
        )  # fmt: skip


@pytest.fixture
def venv(tmp_path: Path) -> Venv:
    made = Venv(tmp_path)
    if made.run("-c", "import nanobind, scikit_build_core").returncode != 0:
        pytest.skip("needs scikit-build-core and nanobind: pip install 'gpuport[test]'")
    return made


def contents(venv: Venv) -> list[str]:
    (wheel,) = (venv.folder / "dist").glob("rowstats-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(venv.packages)
        return archive.namelist()


def found(backend: str) -> str:
    """Why a backend cannot be compiled for here; empty if it can."""
    tool = "from gpuport.toolchain.__main__ import main; main(['find'])"
    done = subprocess.run([sys.executable, "-c", tool], capture_output=True, text=True, check=True)
    record: dict[str, Any] = json.loads(done.stdout)["backends"][backend]
    return "" if record["built"] else str(record["reason"])


def test_a_wheel_for_the_cpu_runs_at_both_widths(venv: Venv) -> None:
    done = venv.wheel("GPUPORT_CUDA=OFF", "GPUPORT_HIP=OFF", "CMAKE_CXX_FLAGS_RELEASE=-O0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no module for cuda: GPUPORT_CUDA=OFF" in done.stderr + done.stdout
    (module,) = [name for name in contents(venv) if name.endswith(".so")]
    assert module.startswith("rowstats/_cpu.")
    ran = venv.run("-I", "-c", RUN)
    assert ran.returncode == 0, ran.stderr
    result = json.loads(ran.stdout)
    sums = [sum(range(100 * row, 100 * row + 100)) for row in range(7)]
    assert result["backends"] == ["cpu"]
    assert result["32"] == [sums, [32] * 7]
    assert result["64"] == [sums, [64] * 7]
    assert result["errors"] == [
        "ValueError: the host has warps of 32 or 64 lanes, not 16",
        "TypeError: rowstats: none of the arguments is an array",
        "ValueError: there is no backend 'rocm'; there are cpu, cuda, hip",
        "BackendUnavailableError: rowstats has nothing for hip: it was built without that backend "
        "(with: cpu)",
    ]


@pytest.mark.parametrize("backend", ["cuda", "hip"])
def test_a_wheel_for_a_gpu_holds_what_was_asked_for(venv: Venv, backend: str) -> None:
    reason = found(backend)
    if reason:
        pytest.skip(f"{backend} cannot be compiled for: {reason}")
    lists = venv.source / "CMakeLists.txt"
    text = lists.read_text(encoding="utf-8")
    asked = f"  BACKENDS {backend} ARCHS {' '.join(ARCHITECTURES.values())}\n  LAYER)"
    assert "  LAYER)" in text
    lists.write_text(text.replace("  LAYER)", asked), encoding="utf-8")
    name = backend.upper()
    quick = ("CMAKE_CXX_FLAGS_RELEASE=-O0", f"CMAKE_{name}_FLAGS_RELEASE=-O1")
    done = venv.wheel(f"GPUPORT_{name}=ON", *quick)
    assert done.returncode == 0, done.stdout + done.stderr
    (module,) = [name for name in contents(venv) if name.endswith(".so")]
    assert module.startswith(f"rowstats/_{backend}.")

    from gpuport import inspect

    inspection = inspect(venv.packages / module)
    assert list(inspection.architectures) == [ARCHITECTURES[backend]]
    names = " ".join(kernel.name for kernel in inspection)
    assert "histogram_kernel" in names
    assert "row_sums_kernel" in names


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("kernels/histogram.cu", "kernels/nothing.cu"), "kernels/nothing.cu: there is no such"),
        (("LAYER)", "LAYERS)"), "cannot make sense of: LAYERS"),
        (("LINT error", "LINT loud"), "LINT loud is none of"),
        (("LAYER)", "LAYER BACKENDS rocm)"), "BACKENDS rocm is none of cpu, cuda, hip"),
        (("LAYER)", "LAYER ARCHS volta)"), "ARCHS volta is no architecture"),
        (("(rowstats\n", "(row-stats\n"), "this is no name of a Python package"),
    ],
)
def test_mistakes_are_named(venv: Venv, change: tuple[str, str], words: str) -> None:
    lists = venv.source / "CMakeLists.txt"
    text = lists.read_text(encoding="utf-8")
    assert change[0] in text
    lists.write_text(text.replace(*change), encoding="utf-8")
    done = venv.wheel("GPUPORT_CUDA=OFF", "GPUPORT_HIP=OFF")
    assert done.returncode != 0
    assert words in re.sub(r"\s+", " ", done.stdout + done.stderr)


def test_a_finding_of_the_lint_fails_the_build_where_it_is_asked_to(venv: Venv) -> None:
    source = venv.source / "kernels/histogram.cu"
    text = source.read_text(encoding="utf-8")
    check = "  status = cudaGetLastError();\n"
    assert check in text
    source.write_text(text.replace(check, ""), encoding="utf-8")
    done = venv.wheel("GPUPORT_CUDA=OFF", "GPUPORT_HIP=OFF", "CMAKE_CXX_FLAGS_RELEASE=-O0")
    assert done.returncode != 0
    assert re.search(r"histogram\.cu:\d+:3: warning GPL013", done.stdout + done.stderr)


def test_the_folders_are_told(venv: Venv) -> None:
    for option, holds in (
        ("--cmake-dir", "gpuportConfig.cmake"),
        ("--include-dir", "gpuport/gpuport.cuh"),
    ):
        done = venv.run("-I", "-m", "gpuport", option)
        assert done.returncode == 0, done.stderr
        assert (Path(done.stdout.strip()) / holds).is_file()


def test_a_cmake_that_is_too_old_is_told_so(tmp_path: Path) -> None:
    """In CMake's script mode the configuration runs as it does for `find_package`."""
    config = SOURCE.parents[2] / "cmake/gpuportConfig.cmake"
    script = tmp_path / "old.cmake"
    script.write_text(
        "set(CMAKE_VERSION 3.25.1)\n"
        f'include("{config}")\n'
        'message(STATUS "found: ${gpuport_FOUND}; ${gpuport_NOT_FOUND_MESSAGE}")\n',
        encoding="utf-8",
    )
    done = subprocess.run(
        ["cmake", "-P", script], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "found: FALSE; gpuport needs CMake 4.0 or newer; this is CMake 3.25.1" in done.stdout
