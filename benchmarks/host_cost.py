"""What one call costs on the host, against the library whose arrays it takes, and the import.

    python benchmarks/host_cost.py [--json FILE]

Calls on 1,024 elements with `out=` are enqueued back to back, fewer than the driver's queue holds,
and the clock stops before the GPU is waited for. The libraries take turns; each number is the
median of the rounds. `ours` is the same call with a launch that does nothing: the rest is the
driver's, and what a kernel takes to choose its grid. Without a GPU only the import and the calls
on NumPy's arrays and on PyTorch's tensors on the CPU are measured.
"""

import argparse
import ctypes
import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any
from unittest.mock import patch

import numpy as np

import gpuport
from gpuport import _replay

ELEMENTS, CALLS, ROUNDS = 1024, 300, 15
IMPORT_ROUNDS = 9
IMPORT_LIMIT_MS = 150
# At most this much of the other library's time.
TARGETS = {"torch": 1 / 2, "cupy": 1 / 3}
IMPORT = (
    "import sys, time; t = time.perf_counter(); import gpuport; t = time.perf_counter() - t; "
    "assert 'torch' not in sys.modules and 'cupy' not in sys.modules; print(t * 1e3)"
)

Call = Callable[[], Any]


def time_in_turns(calls: dict[str, Call], wait: Call) -> dict[str, float]:
    """Microseconds of one call."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        for _ in range(50):
            call()
        wait()
    for _ in range(ROUNDS):
        for name, call in calls.items():
            began = perf_counter()
            for _ in range(CALLS):
                call()
            found[name].append((perf_counter() - began) / CALLS * 1e6)
            wait()
    return {name: statistics.median(times) for name, times in found.items()}


def time_without_launch(call: Call, wait: Call) -> float:
    """Microseconds of a call whose launch is a C function that returns 0 at once."""
    nothing = ctypes.cast(ctypes.CDLL(None).labs, ctypes.c_void_p).value  # of 0
    found = _replay._plan_of

    def plan_of(*arguments: Any) -> Any:
        plan = found(*arguments)
        return plan and plan._replace(entry=(nothing, 0))

    _replay._plans.clear()
    with patch.object(_replay, "_plan_of", plan_of):
        (time,) = time_in_turns({"ours": call}, wait).values()
    _replay._plans.clear()
    return time


def torch_pairs(device: str) -> Iterator[tuple[str, Call, Call]]:
    import torch

    x = torch.ones(ELEMENTS, device=device)
    total, index = torch.empty((), device=device), torch.empty((), dtype=torch.int64, device=device)
    out = torch.empty_like(x)
    yield (
        "sum",
        lambda: gpuport.sum(x, out=total),
        lambda: torch.sum(x, 0, out=total),
    )
    yield (
        "inclusive_scan",
        lambda: gpuport.inclusive_scan(x, out=out),
        lambda: torch.cumsum(x, 0, out=out),
    )
    yield (
        "softmax",
        lambda: gpuport.softmax(x, out=out),
        lambda: torch.softmax(x, 0, out=out),
    )
    yield "argmax", lambda: gpuport.argmax(x), lambda: torch.argmax(x, 0, out=index)


def cupy_pairs() -> Iterator[tuple[str, Call, Call]]:
    import cupy

    x = cupy.ones(ELEMENTS, np.float32)
    total, out = cupy.empty((), np.float32), cupy.empty_like(x)
    yield "sum", lambda: gpuport.sum(x, out=total), lambda: cupy.sum(x, out=total)
    yield (
        "inclusive_scan",
        lambda: gpuport.inclusive_scan(x, out=out),
        lambda: cupy.cumsum(x, out=out),
    )


def numpy_pairs() -> Iterator[tuple[str, Call, Call]]:
    x = np.ones(ELEMENTS, np.float32)
    total = np.empty((), np.float32)
    yield "sum", lambda: gpuport.sum(x, out=total), lambda: np.sum(x, out=total)


def libraries() -> Iterator[tuple[str, Callable[[], Iterator[tuple[str, Call, Call]]], Call]]:
    if find_spec("torch") is not None:
        import torch

        if torch.cuda.is_available():
            yield "torch", lambda: torch_pairs("cuda"), torch.cuda.synchronize
        else:
            yield "torch cpu", lambda: torch_pairs("cpu"), lambda: None
    if find_spec("cupy") is not None:
        import cupy

        if cupy.cuda.is_available():
            yield "cupy", cupy_pairs, cupy.cuda.get_current_stream().synchronize
    yield "numpy", numpy_pairs, lambda: None


def allocated_by_calls() -> dict[str, int] | None:
    """Bytes of device memory that 1,000 warm calls took; None without a GPU."""
    backend = next((b.name for b in gpuport.backends() if b.available and b.name != "cpu"), None)
    if backend is None:
        return None
    from gpuport._backends import native_module

    native = native_module(backend)
    x = gpuport.DeviceArray.from_numpy(np.ones(1 << 20, np.float32), backend=backend)
    out = gpuport.DeviceArray.empty((), "float32", backend=backend)
    gpuport.sum(x, out=out)
    out.synchronize()
    free, kept = native.device_facts(0)["free_bytes"], native.workspace_bytes(0, 0)
    for _ in range(1000):
        gpuport.sum(x, out=out)
    out.synchronize()
    return {
        "device memory": free - native.device_facts(0)["free_bytes"],
        "temporary storage": native.workspace_bytes(0, 0) - kept,
    }


def import_times() -> list[float]:
    """Milliseconds, each in a new process; the first fills the cache of files and is left out."""
    runs = [
        float(
            subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, check=True).stdout
        )
        for _ in range(IMPORT_ROUNDS + 1)
    ]
    return runs[1:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    imports = import_times()
    rows = []
    print(f"import gpuport: {statistics.median(imports):.0f} ms (target {IMPORT_LIMIT_MS})")
    print(
        f"\n{'call':18}{'arrays':11}{'gpuport us':>11}{'ours':>7}{'theirs us':>11}{'ratio':>8}"
        "  target"
    )
    for library, pairs, wait in libraries():
        for name, own, theirs in pairs():
            times = time_in_turns({"gpuport": own, library: theirs}, wait)
            ratio = times["gpuport"] / times[library]
            target = TARGETS.get(library)
            verdict = (
                ""
                if target is None
                else f"{target:.2f} {'reached' if ratio <= target else 'MISSED'}"
            )
            share = time_without_launch(own, wait)
            print(
                f"{name:18}{library:11}{times['gpuport']:>11.2f}{share:>7.2f}"
                f"{times[library]:>11.2f}{ratio:>8.2f}  {verdict}"
            )
            rows.append(
                {"call": name, "library": library, "us": times, "ours_us": share, "ratio": ratio}
            )
    allocated = allocated_by_calls()
    if allocated is not None:
        print("\nallocated by 1,000 warm calls: " + str(allocated))
    if arguments.json:
        document = {"import_ms": imports, "calls": rows, "allocated": allocated}
        arguments.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
