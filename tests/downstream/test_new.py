"""`gpuport new`: what it writes builds, and passes its own test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


def gpuport(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gpuport", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_what_it_writes_builds_and_passes_its_test(tmp_path: Path) -> None:
    made = gpuport(tmp_path, "new", "mykernels", "--json")
    assert made.returncode == 0, made.stderr
    files = json.loads(made.stdout)["files"]
    assert {
        ".github/workflows/ci.yml",
        "README.md",
        "kernels/row_sums.cu",
        "src/mykernels/spec.py",
        "tests/test_row_sums.py",
    } <= set(files)
    texts = {name: (tmp_path / "mykernels" / name).read_text(encoding="utf-8") for name in files}
    assert not [name for name, text in texts.items() if "@NAME@" in name + text]

    environ = {name: text for name, text in os.environ.items() if name != "SKBUILD_CMAKE_DEFINE"}
    environ["PATH"] = f"{Path(sys.executable).parent}:{environ['PATH']}"
    options = [f"-Ccmake.define.{o}=OFF" for o in ("GPUPORT_CUDA", "GPUPORT_HIP")]
    options += ["-Ccmake.define.CMAKE_CXX_FLAGS_RELEASE=-O0"]
    packages = tmp_path / "packages"
    words = ["--no-build-isolation", "--no-deps", "--target", str(packages), *options]
    installed = subprocess.run(
        [sys.executable, "-m", "pip", "install", *words, "./mykernels"],
        cwd=tmp_path, env=environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert installed.returncode == 0, installed.stdout + installed.stderr
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "mykernels"],
        cwd=tmp_path, env={**environ, "PYTHONPATH": str(packages)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert "passed" in tested.stdout
    assert "skipped" not in tested.stdout


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("my-kernels", "no name of a Python package: a letter, then letters, digits and _; my_ker"),
        ("2fast", "is no name of a Python package"),
        ("class", "is a word of the Python language"),
        ("json", "would hide another package of that name"),
        ("taken", "exists and is not an empty folder; nothing was written"),
        ("file/below", "cannot write"),
    ],
)
def test_mistakes_are_told_in_a_line(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken/file").write_text("mine", encoding="utf-8")
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    done = gpuport(tmp_path, "new", name)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "file", "taken"]
