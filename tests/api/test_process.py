"""What gpuport does to the process around it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

DAEMONS = """
import threading, time
import numpy as np
import gpuport
x = np.ones(1 << 16, np.float32)
def work(values):
    while True:
        gpuport.sum(values, variant="warp_shuffle")
for values in (x, x[:8], x):
    threading.Thread(target=work, args=(values,), daemon=True).start()
time.sleep({pause})
"""


@pytest.mark.parametrize("pause", [0.05, 0.2, 0.4])
def test_python_ends_while_other_threads_are_in_a_call(pause: float) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DAEMONS.format(pause=pause)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


REJECTED = """
import numpy as np
import gpuport
out = np.full(3, 7.0)
for call in (gpuport.sum, gpuport.softmax, gpuport.inclusive_scan, gpuport.argmax):
    try:
        print("wrong:", call(np.ones((3, 4)), axis=1))
    except gpuport.LaunchError as error:
        print(error)
try:
    gpuport.sum(np.ones((3, 4)), axis=1, out=out)
except gpuport.LaunchError:
    print(out.tolist())
"""


def test_a_launch_that_the_machine_rejects_is_an_error_that_names_the_kernel() -> None:
    """An order that is no number has every launch refused, and nothing is written."""
    done = subprocess.run(
        [sys.executable, "-c", REJECTED],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | {"GPUPORT_SIMT_SEED": "unordered"},
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    for name, line in zip(
        ("reduce.single_pass", "softmax.warp_row", "scan.", "argmax.single_pass"),
        lines,
        strict=False,
    ):
        assert line.startswith(name), line
        assert ": launch of " in line
        assert "invalid configuration" in line
    assert lines[4:] == ["[7.0, 7.0, 7.0]"]
