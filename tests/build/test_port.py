"""The port to HIP compiles for NVIDIA too, where it can be run: ci/hip_on_nvidia.py."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADERS = Path("/usr/include/hip/nvidia_detail/nvidia_hip_runtime_api.h")


ATTRIBUTES = re.compile(r"(hipDeviceAttribute\w+),?\s*///< Cuda only")


@pytest.mark.skipif(not HEADERS.exists(), reason="no HIP headers with an NVIDIA half")
def test_what_the_runtime_of_amd_does_not_know_has_an_answer(tmp_path: Path) -> None:
    """HIP has names for attributes of NVIDIA's devices alone; AMD's runtime refuses to answer."""
    unknown = ATTRIBUTES.findall((HEADERS.parents[1] / "hip_runtime_api.h").read_text())
    assert "hipDeviceAttributeSharedMemPerBlockOptin" in unknown
    asked: dict[str, set[str]] = {}
    for source in sorted((ROOT / "kernels" / "cuda").rglob("*")):
        if "cudaDevAttr" not in (source.read_text() if source.is_file() else ""):
            continue
        output = tmp_path / source.name
        subprocess.run(
            [sys.executable, "-m", "translate", "--target", "hip", source, "--output", output],
            env=os.environ | {"PYTHONPATH": str(ROOT / "python" / "gpuport")}, check=True,
        )  # fmt: skip
        for name in re.findall(r"hipDeviceAttribute\w+", output.read_text()):
            asked.setdefault(name, set()).add(source.name)
    assert "hipDeviceAttributeWarpSize" in asked
    # most_shared_bytes() asks another question after this one.
    assert {name: asked[name] for name in asked if name in unknown} == {
        "hipDeviceAttributeSharedMemPerBlockOptin": {"runtime.cpp"}
    }


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
