"""A small tree of kernels under the project's own build files, configured and built by tests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
VARIABLES = re.compile(
    r"CUDA|HIP|ROCM|GPU_TARGETS|^CC$|^CXX$|^C(XX)?FLAGS$|^CMAKE_|^SKBUILD_|^PYTHONPATH$"
)

# What is tested is which steps run, not how well they optimise.
QUICK = "CMAKE_CXX_FLAGS_RELEASE=-O0"


def clean_environment() -> dict[str, str]:
    """The environment without what would steer the search for compilers."""
    kept = {name: value for name, value in os.environ.items() if not VARIABLES.search(name)}
    kept["PATH"] = f"{Path(sys.executable).parent}:{kept['PATH']}"
    return kept


@dataclass
class Project:
    """A source tree of its own, and a build folder beside it."""

    source: Path
    build: Path

    def run(self, *command: str | Path, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(word) for word in command],
            cwd=self.source,
            env={**clean_environment(), **environ},
            capture_output=True,
            text=True,
            check=False,
        )

    def configure(self, *defines: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Configure with the CPU alone, unless a define says otherwise."""
        modes = [
            f"GPUPORT_{name}=OFF"
            for name in ("CUDA", "HIP")
            if f"GPUPORT_{name}=" not in str(defines)
        ]
        options = [f"-D{define}" for define in (*modes, *defines)]
        options.append(f"-DPython_EXECUTABLE={sys.executable}")
        return self.run(
            "cmake", "-G", "Ninja", "-S", self.source, "-B", self.build, *options, **environ
        )

    def ninja(self, *options: str) -> list[str]:
        """Build; the steps that were run, as Ninja names them."""
        result = self.run("ninja", "-C", self.build, *options)
        assert result.returncode == 0, result.stdout + result.stderr
        steps = re.findall(r"^\[\d+/\d+\] (.+)$", result.stdout, re.MULTILINE)
        return [step for step in steps if "globbed" not in step]


def files_of(folder: Path) -> dict[str, int]:
    """Every file with its time of change: two equal answers, an untouched tree."""
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def copy_project(folder: Path) -> Path:
    """The project's build files, translator and SIMT runtime, with the small kernels."""
    folder.mkdir(parents=True)
    for name in ("CMakeLists.txt", "pyproject.toml", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, folder)
    ignored = shutil.ignore_patterns("__pycache__", ".*_cache")
    python = [
        f"python/gpuport/{name}" for name in ("inspection", "linting", "toolchain", "translate")
    ]
    for name in ("cmake", "kernels/cpu", "launcher", *python):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    shutil.copytree(ROOT / "kernels/hip/include", folder / "kernels/hip/include")
    for table in (ROOT / "kernels/hip").glob("*.toml"):
        shutil.copy(table, folder / "kernels/hip")
    shutil.copytree(ROOT / "tests/build/mini/kernels/cuda", folder / "kernels/cuda")
    shutil.copy(ROOT / "kernels/cuda/lock_release.hpp", folder / "kernels/cuda")  # the launcher's
    (folder / "docs").mkdir()
    for page in ("docs/rules.md", "python/gpuport/rules.md"):  # the page, and a link to it
        shutil.copy(ROOT / page, folder / page, follow_symlinks=False)
    (folder / "README.md").write_text("A small tree.\n", encoding="utf-8")
    (folder / "python/gpuport/__init__.py").write_text("", encoding="utf-8")
    return folder
