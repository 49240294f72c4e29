"""Receipts made by hand, with the numbers that a test wants."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def row(library: str, median: float, **changes: Any) -> Row:
    """A row whose quartiles are 10 % off its median; `name`, `shape` and so on as asked."""
    found: Row = {
        "library": library,
        "name": "reduce.default" if library == "gpuport" else library,
        "kernel": "reduce.single_pass" if library == "gpuport" else "",
        "family": "reduce",
        "op": "sum",
        "dtype": "int32",
        "result": "int64",
        "shape": [65536],
        "pattern": "",
        "bytes": 4 * 65536,
        "version": "",
        "status": "ok",
        "note": "",
        "median_us": median,
        "quartiles_us": [0.9 * median, 1.1 * median],
        "percent_of_copy": None,
        **changes,
    }
    found["gb_per_s"] = found["bytes"] / median / 1e3
    return found


def copies(median: float, **changes: Any) -> list[Row]:
    """The faster one takes `median`."""
    return [
        row("copy", time, name="copy", kernel=kernel, op="copy", **changes)
        for kernel, time in (("memcpy", 1.5 * median), ("kernel", median))
    ]


def failed(found: Row) -> Row:
    kept = {k: v for k, v in found.items() if k not in ("median_us", "quartiles_us", "gb_per_s")}
    return {**kept, "status": "FAILED"}


def receipt(*rows: Row, **setup: Any) -> dict[str, Any]:
    return {
        "format": 1,
        "setup": {
            "device": "GPU",
            "toolkit": "CUDA 13.0",
            "gpu_state_before": {"driver": "580"},
            **setup,
        },
        "protocol": {
            "warmups": 5,
            "samples": 50,
            "runs": 5,
            "budget_s": 1.0,
            "cold": True,
            "cache": "cold: buffers rotate past the L2 cache",
            "graph": False,
            "timed": "events",
            "not_timed": "allocation",
        },
        "missing": {},
        "rows": copy.deepcopy(list(rows)),
    }


def write(path: Path, document: dict[str, Any]) -> str:
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)
