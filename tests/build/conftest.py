"""Fixtures of the build tests."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mini_project import Project, clean_environment, copy_project


@pytest.fixture(scope="session", autouse=True)
def build_tools() -> None:
    """The tools that `pip install '.[test]'` brings; where they are missing the tests say so."""
    path = clean_environment()["PATH"]
    cmake = shutil.which("cmake", path=path)
    version = ""
    if cmake:
        version = subprocess.run(
            [cmake, "--version"], capture_output=True, text=True, check=True
        ).stdout
    match = re.search(r"version (\d+)", version)
    if match is None or int(match[1]) < 4 or shutil.which("ninja", path=path) is None:
        pytest.skip("needs CMake 4 and Ninja: pip install 'gpuport[test]'")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(copy_project(tmp_path / "a source tree"), tmp_path / "a build tree")
