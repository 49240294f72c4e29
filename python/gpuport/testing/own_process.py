"""A user's kernel in a process of its own: one that writes anywhere may take its process along."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from multiprocessing import get_context
from typing import Any

from gpuport.testing.case import Case, Difference, Target
from gpuport.testing.engine import Failure, Outcome

_source: Any = None


class OwnProcess:
    """Runs cases of a source one after the other; started anew after one that ended it."""

    def __init__(self, file: str, spec_file: str, options: tuple[str, ...]) -> None:
        self._arguments = (file, spec_file, options)
        self._pool: ProcessPoolExecutor | None = None

    def run(self, kernel: str, case: Case, target: Target) -> Outcome:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                1, get_context("spawn"), initializer=_start, initargs=self._arguments
            )
        try:
            outcome = self._pool.submit(_run, kernel, case, target).result()
        except BrokenProcessPool:
            self.close()
            died = Difference("the process ended: the kernel wrote or read far outside its arrays")
            return Outcome("failed", Failure(kernel, target, case, "crashed", died))
        if target.is_gpu and outcome.failure is not None and outcome.failure.check == "raised":
            self.close()  # after a fault on the device all that this process asks of it fails
        return outcome

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


def _start(*arguments: Any) -> None:
    global _source
    from gpuport.testing.own_sweep import OwnSource

    _source = OwnSource(*arguments)


@cache
def _module(target: Target) -> Any:
    from gpuport.testing.own_sweep import compile_own

    return compile_own(_source, target)


def _run(kernel: str, case: Case, target: Target) -> Outcome:
    from gpuport.testing.own_sweep import run_own

    return run_own(_source.kernels[kernel], case, target, _module(target))
