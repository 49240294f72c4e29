"""A child that is forked while other threads compute can compute as well."""

import subprocess
import sys

import pytest

CHILDREN = 12
SCRIPT = """
import os, signal, sys, threading, time
import numpy as np
import gpuport

x = np.arange(20_000, dtype=np.int64)
calls = {
    "inclusive_scan": lambda: gpuport.inclusive_scan(x, variant="lookback"),
    "pipelined": lambda: gpuport.inclusive_scan(x, variant="pipelined"),
    "sum": lambda: gpuport.sum(x),
    "compact": lambda: gpuport.compact(x, x),
    "softmax": lambda: gpuport.softmax(x.astype("f4")),
}
call = calls[sys.argv[1]]
wanted = call()
stop = threading.Event()

def compute():
    while not stop.is_set():
        call()

threads = [threading.Thread(target=compute, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
codes = []
for _ in range(int(sys.argv[2])):
    time.sleep(0.02)
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)  # a child that hangs is ended, and seen
        os._exit(0 if np.array_equal(call(), wanted) else 3)
    codes.append(os.waitpid(pid, 0)[1])
    if codes[-1]:
        break
stop.set()
for thread in threads:
    thread.join()
assert np.array_equal(call(), wanted)
print(codes)
"""


@pytest.mark.parametrize("call", ["inclusive_scan", "pipelined", "sum", "compact", "softmax"])
def test_a_child_forked_during_a_call_computes(call: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, call, str(CHILDREN)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == str([0] * CHILDREN)
