"""The port to HIP compiles for NVIDIA too, where it can be run: ci/hip_on_nvidia.py."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADERS = Path("/usr/include/hip/nvidia_detail/nvidia_hip_runtime_api.h")


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on PATH")
@pytest.mark.skipif(not HEADERS.exists(), reason="no HIP headers with an NVIDIA half")
def test_the_runtime_calls_of_the_port_compile_for_nvidia(tmp_path: Path) -> None:
    script = ROOT / "ci" / "hip_on_nvidia.py"
    done = subprocess.run(
        [sys.executable, script, "--headers", HEADERS.parents[2], "--out", tmp_path, "--host-only"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    compiled = {path.name for path in (tmp_path / "source").rglob("*.o")}
    assert {"runtime.cpp.o", "timing.cpp.o"} <= compiled
