"""Cases in another order of lanes, warps and blocks: what a missing barrier leaves to chance shows.

The CPU backend reads the seed of its order once, at the first launch, so each seed has a process.
"""

import os
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from types import TracebackType
from typing import Final, Self

from gpuport import specs
from gpuport.testing.case import Case, Difference, Target
from gpuport.testing.engine import Failure, Outcome, run_case
from gpuport.testing.machine import machine

VARIABLE: Final = "GPUPORT_SIMT_SEED"


def _set_seed(seed: int) -> None:
    os.environ[VARIABLE] = str(seed)


def _run(kernel: str, case: Case, target: Target) -> Outcome:
    spec = specs.find(kernel)
    assert spec is not None
    return run_case(spec, case, target, machine(kernel, target))


class Orders:
    """One process for each seed, started when a case first asks for it."""

    def __init__(self) -> None:
        self._processes: dict[int, ProcessPoolExecutor] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for process in self._processes.values():
            process.shutdown()

    def run(self, kernel: str, case: Case, target: Target) -> Outcome:
        if case.order not in self._processes:
            self._processes[case.order] = ProcessPoolExecutor(
                1, get_context("spawn"), initializer=_set_seed, initargs=(case.order,)
            )
        try:
            return self._processes[case.order].submit(_run, kernel, case, target).result()
        except BrokenProcessPool:
            self._processes.pop(case.order).shutdown()
            died = Difference("the process ended without an answer")
            return Outcome("failed", Failure(kernel, target, case, "crashed", died))
