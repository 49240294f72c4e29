"""What repeats bit for bit does so in every order of lanes, warps and blocks, on one core and on
several: the CPU backend's stand-in for a busy GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("orders_digest.py")
# Seed of the order and number of workers; no seed is launch order.
ORDERS = (("", "1"), ("1", "1"), ("2", "3"), ("7", "4"))


def run_in(seed: str, workers: str) -> dict[str, str]:
    environment = os.environ | {"GPUPORT_SIMT_SEED": seed, "GPUPORT_SIMT_THREADS": workers}
    done = subprocess.run(
        [sys.executable, SCRIPT], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_the_bits_do_not_depend_on_the_order() -> None:
    first = run_in(*ORDERS[0])
    assert len(first) > 60
    for order in ORDERS[1:]:
        again = run_in(*order)
        assert again.keys() == first.keys()
        assert {name for name in first if again[name] != first[name]} == set(), order
