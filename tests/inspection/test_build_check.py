"""`python -m inspection`, as the build runs it: outside of the package, with nothing installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import gpuport
from gpuport import _launcher


def check(*words: str) -> subprocess.CompletedProcess[str]:
    from gpuport import inspection

    folder = str(Path(inspection.__file__).parents[1])
    # -S: no package beside the standard library can be imported.
    command = [sys.executable, "-S", "-B", "-m", "inspection", *words]
    environ = {**os.environ, "PYTHONPATH": folder}
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)


def test_what_is_missing_fails() -> None:
    done = check("--require", "sm_90,gfx90a", _launcher.__file__)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"failed: {_launcher.__file__}: {name} is missing; host code only"
        for name in ("sm_90", "gfx90a")
    ]


def test_what_is_there_passes() -> None:
    for backend in gpuport.backends():
        if backend.built and backend.name != "cpu":
            module = __import__(f"gpuport._{backend.name}", fromlist=["build_info"])
            done = check("--require", ",".join(backend.architectures), module.__file__)
            assert done.returncode == 0, done.stderr


def test_a_file_that_cannot_be_read_is_another_matter(tmp_path: Path) -> None:
    assert check("--require", "sm_90", str(tmp_path / "none.so")).returncode == 2
    assert check("--require", "pentium", _launcher.__file__).returncode == 2
