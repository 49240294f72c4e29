"""The receipt of a run: what was measured, on what, with which binary, and every sample.

It names no host, user or path. `FORMAT` counts changes that a reader must know of.
"""

import hashlib
import importlib.util
import json
import platform
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import gpuport
from gpuport.bench.measure import Protocol, Row
from gpuport.bench.peers import Missing
from gpuport.bench.rig import Rig

FORMAT = 1
EMULATOR = "times of the SIMT emulator on the host's cores; they say nothing about any GPU"

_SMI_FIELDS = {
    "driver": "driver_version",
    "power_limit_w": "power.limit",
    "sm_clock_mhz": "clocks.sm",
    "memory_clock_mhz": "clocks.mem",
    "max_sm_clock_mhz": "clocks.max.sm",
    "max_memory_clock_mhz": "clocks.max.mem",
    "temperature_c": "temperature.gpu",
    "ecc": "ecc.mode.current",
    "throttling": "clocks_throttle_reasons.active",
}


def gpu_state(backend: str, device: int) -> dict[str, str]:
    """Clocks, power and driver as nvidia-smi tells them; empty where there is no such tool."""
    if backend != "cuda" or shutil.which("nvidia-smi") is None:
        return {}
    query = ",".join(_SMI_FIELDS.values())
    done = subprocess.run(
        ["nvidia-smi", f"--id={device}", f"--query-gpu={query}", "--format=csv,noheader,nounits"],
        capture_output=True,
        text=True,
        check=False,
    )
    values = [value.strip() for value in done.stdout.split(",")]
    if done.returncode != 0 or len(values) != len(_SMI_FIELDS):
        return {}
    return dict(zip(_SMI_FIELDS, values, strict=True))


def _hashes(backend: str) -> tuple[str, str]:
    """Of the sources, as the build wrote it beside the module, and of the module itself."""
    spec = importlib.util.find_spec(f"gpuport._{backend}")
    assert spec is not None
    assert spec.origin is not None
    binary = Path(spec.origin)
    sources = binary.with_name(f"_{backend}.sources")
    written = sources.read_text(encoding="utf-8").strip() if sources.exists() else ""
    return written, hashlib.sha256(binary.read_bytes()).hexdigest()


def setup(rig: Rig, label: str = "") -> dict[str, Any]:
    """The machine and the build, before anything is timed."""
    device = next(
        record
        for record in gpuport.devices()
        if record.backend == rig.backend and record.index == rig.device
    )
    backend = next(record for record in gpuport.backends() if record.name == rig.backend)
    facts = rig.facts
    sources, binary = _hashes(rig.backend)
    found: dict[str, Any] = {
        "label": label,
        "backend": rig.backend,
        "device": device.name,
        "architecture": device.architecture,
        "warp_size": rig.warp_size,
        "multiprocessors": device.multiprocessors,
        "memory_bytes": device.memory,
        "l2_bytes": facts["l2_bytes"],
        "driver_version": facts["driver_version"],
        "runtime_version": facts["runtime_version"],
        "gpu_state_before": gpu_state(rig.backend, rig.device),
        "gpuport": version("gpuport"),
        "numpy": version("numpy"),
        "python": platform.python_version(),
        "processor": platform.machine(),
        "compiler": backend.compiler,
        "toolkit": backend.runtime,
        "flags": backend.flags,
        "architectures": list(backend.architectures),
        "sources_sha256": sources,
        "binary_sha256": binary,
    }
    if rig.backend == "cpu":
        found["times"] = EMULATOR
    return found


def row_as_json(row: Row) -> dict[str, Any]:
    """A row with its numbers recomputed from the samples; a failed one has no time."""
    record = asdict(row)
    record["shape"] = list(row.shape)
    record["bytes"] = record.pop("nbytes")
    record["samples_us"] = record.pop("runs")
    del record["has_count"]
    record["status"] = "FAILED" if row.failed else "ok" if row.runs else "not run"
    if row.runs and not row.failed:
        record["median_us"] = row.median
        record["run_medians_us"] = row.medians
        record["quartiles_us"] = list(row.quartiles)
        record["gb_per_s"] = row.gb_per_s
    return record


def receipt(
    setup: dict[str, Any],
    protocol: Protocol,
    rows: Iterable[Row],
    missing: Iterable[Missing],
) -> dict[str, Any]:
    made = [row_as_json(row) for row in rows]
    return {
        "format": FORMAT,
        "setup": setup,
        "protocol": {
            "warmups": protocol.warmups,
            "samples": protocol.samples,
            "runs": protocol.runs,
            "cache": "cold: buffers rotate past the L2 cache"
            if protocol.cold
            else "warm: one set of buffers, again and again",
            "cold": protocol.cold,
            "graph": protocol.graph,
            "budget_s": protocol.budget_s,
            "timed": protocol.timed,
            "not_timed": "allocation, the first copy to the device, the wait for a size",
            "gb_per_s": "bytes / median_us / 1000",
            "median": "median of the runs' medians",
            "percent_of_copy": "time of the faster copy of as many bytes, over the row's time",
        },
        "missing": {peer.name: peer.reason for peer in missing},
        "rows": made,
    }


def has_times(document: dict[str, Any]) -> bool:
    """Whether anything but the copies was timed."""
    return any(row["status"] == "ok" and row["library"] != "copy" for row in document["rows"])


def write(document: dict[str, Any], path: Path) -> None:
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def read(path: Path) -> dict[str, Any]:
    """Raises ValueError where the file is no receipt of this format."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path.name} is no receipt: {error}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"{path.name} is no receipt of format {FORMAT}")
    return document
