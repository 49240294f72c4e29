"""Cases in another order of lanes, warps and blocks: a missing barrier then shows.

The CPU backend reads the seed of its order once, at the first launch, so each seed has a process,
started when a case first asks for it.
"""

import os
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from multiprocessing import get_context
from typing import Final

from gpuport import specs
from gpuport.testing.case import Case, Difference, Target
from gpuport.testing.engine import Failure, Outcome, run_case
from gpuport.testing.interrupts import out_of_reach
from gpuport.testing.machine import machine

VARIABLE: Final = "GPUPORT_SIMT_SEED"


def run_in_order(kernel: str, case: Case, target: Target) -> Outcome:
    """The case in the order that it names."""

    def begin() -> Future[Outcome]:
        try:
            return _process(case.order).submit(_run, kernel, case, target)
        except BrokenProcessPool:  # it was ended after its last case
            _process.cache_clear()
            return _process(case.order).submit(_run, kernel, case, target)

    try:
        return out_of_reach(begin).result()
    except BrokenProcessPool:
        _process.cache_clear()
        died = Difference("the process ended without an answer")
        return Outcome("failed", Failure(kernel, target, case, "crashed", died))


@cache
def _process(seed: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, get_context("spawn"), initializer=_set_seed, initargs=(seed,))


def _set_seed(seed: int) -> None:
    os.environ[VARIABLE] = str(seed)


def _run(kernel: str, case: Case, target: Target) -> Outcome:
    spec = specs.find(kernel)
    assert spec is not None
    return run_case(spec, case, target, machine(kernel, target))
