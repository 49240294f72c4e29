"""Digests of float results of every kernel that repeats, at both warp widths, as JSON.

Run by test_orders.py in a process of its own: the CPU backend reads the order of lanes, warps and
blocks from the environment once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

import gpuport

SEGMENTS = [0, 7, 7, 2048, 3000, 4501]


def calls(kernel: Any) -> Iterator[tuple[str, Any]]:
    family, _, variant = kernel.name.partition(".")
    rng = np.random.default_rng(11)
    rows = rng.normal(size=(3, 4501)).astype(np.float32)
    if kernel.limits.startswith("rows"):
        rows = rows[:, :2001]
    for op in kernel.operations:
        for width in (32, 64):
            on = {"variant": variant, "warp_size": width}
            name = f"{kernel.name} {op} w{width}"
            if family == "segmented":
                yield name, getattr(gpuport, f"segmented_{op}")(rows[0], SEGMENTS, **on)
            elif op == "merge_softmax_states":
                states = [gpuport.softmax_state(part, axis=0) for part in (rows, rows[:, ::-1])]
                yield name, gpuport.merge_softmax_states(*states, **on)
            elif op == "compensated_sum":
                yield name, gpuport.sum(rows, axis=-1, compensated=True, **on)
            elif op == "compact":
                yield name, gpuport.compact(rows, rows > 0, **on)
            elif family in ("reduce", "scan", "argmax", "softmax") and hasattr(gpuport, op):
                yield name, getattr(gpuport, op)(rows, axis=-1, **on)


def digests() -> dict[str, str]:
    found = {}
    for kernel in gpuport.kernels():
        if "float32" in kernel.repeatable and "float32" in kernel.dtypes:
            for name, got in calls(kernel):
                parts = got if isinstance(got, tuple) else (got,)
                data = b"".join(np.asarray(part).tobytes() for part in parts)
                found[name] = hashlib.sha256(data).hexdigest()
    return found


if __name__ == "__main__":
    print(json.dumps(digests()))
