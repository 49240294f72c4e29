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


def test_the_import_brings_no_array_library() -> None:
    """Each takes longer than gpuport itself; the first call brings what it needs."""
    code = """if True:
        import sys
        import gpuport
        brought = {name.partition(".")[0] for name in sys.modules}
        print(sorted(brought & {"numpy", "ml_dtypes", "torch", "cupy", "jax", "scipy"}))
        gpuport.devices()
        print("numpy" in sys.modules)
        try:
            gpuport.sum("a text")
        except TypeError as error:
            print(type(error).__name__)
        import numpy as np
        print(gpuport.sum(np.ones(3, np.float32)), gpuport.max(np.arange(4), axis=None))
        print(gpuport.sum(np.ones(3, np.dtype("bfloat16"))).dtype)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["[]", "False", "TypeError", "3.0 3", "bfloat16", ""]
