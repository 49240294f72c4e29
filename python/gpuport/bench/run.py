"""A whole run: every task on one rig, and the receipt of it."""

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.status import Status

from gpuport.bench import receipt
from gpuport.bench.measure import Protocol, Row, measure
from gpuport.bench.peers import find
from gpuport.bench.plan import Task
from gpuport.bench.rig import Rig
from gpuport.specs.workloads import workload


@dataclass(frozen=True, slots=True)
class Request:
    """Where to run, against whom, and how to time."""

    backend: str
    protocol: Protocol
    device: int = 0
    warp_size: int | None = None
    peers: tuple[str, ...] = ()
    label: str = ""
    at_most_s: float = math.inf  # after so many seconds no further task is begun


def run(tasks: Sequence[Task], request: Request, *, show_progress: bool = False) -> dict[str, Any]:
    """The receipt of all tasks.

    Raises:
        BackendUnavailableError: the backend is not built or has no device.
        ValueError: the device has no warps of that size, or no task fits in memory.
    """
    rig = Rig(request.backend, request.device, request.warp_size)
    peers, missing = find(request.peers, rig)
    found = receipt.setup(rig, request.label)
    rows: list[Row] = []
    skipped: Sequence[Task] = ()
    remarks: list[str] = []
    began = perf_counter()
    with _status(show_progress) as status:
        for number, task in enumerate(tasks, 1):
            if perf_counter() - began > request.at_most_s:
                skipped = tasks[number - 1 :]
                break
            extents = "x".join(map(str, task.shape.shape))
            title = f"{number} of {len(tasks)}: {task.family} {task.shape.dtype} {extents}"

            def progress(who: str, title: str = title) -> None:
                if status is not None:
                    status.update(f"{title}, {who}")

            try:
                work = workload(task.family, task.shape)
                rows += measure(work, task.names, peers, rig, request.protocol, progress)
            except (MemoryError, OverflowError) as error:
                what = f"{task.family} {task.shape.dtype} {extents}"
                remarks.append(f"{what} does not fit in memory: {error}")
    if remarks and not rows:
        raise ValueError("; ".join(remarks))
    found["gpu_state_after"] = receipt.gpu_state(request.backend, request.device)
    document = receipt.receipt(found, request.protocol, rows, missing)
    document["remarks"] = remarks + [
        f"not begun for lack of time: {task.family} {task.shape.dtype} {task.shape.shape}"
        for task in skipped
    ]
    return document


def _status(shown: bool) -> AbstractContextManager[Status | None]:
    return Status("", console=Console(stderr=True)) if shown else nullcontext()
