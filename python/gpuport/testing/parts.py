"""Pieces of a sweep: run here, or shared by several processes.

Where a process ends without an answer, each piece that is left gets a process of its own; the cases
of one that does not come back then have failed.
"""

from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from multiprocessing import active_children, get_context
from multiprocessing.process import BaseProcess
from time import perf_counter

from gpuport import specs
from gpuport.testing.case import Case, Difference, Target
from gpuport.testing.engine import Failure, Outcome, run_case
from gpuport.testing.interrupts import out_of_reach
from gpuport.testing.machine import machine
from gpuport.testing.orders import run_in_order

# The kernel, the number of the target, what came of it, and how long it took.
Ran = tuple[str, int, Outcome, float]


@dataclass
class Part:
    """Some cases of a kernel, each with the numbers of the targets that it is run on."""

    kernel: str
    work: list[tuple[Case, list[int]]] = field(default_factory=list)
    is_shared: bool = False


def run_part(part: Part, targets: list[Target]) -> Iterator[Ran]:
    """A case is run on its targets in turn, so that its data and its answer are made once."""
    spec = specs.find(part.kernel)
    assert spec is not None
    machines = [machine(part.kernel, target) for target in targets]
    for case, where in part.work:
        data = None
        for index in where:
            start = perf_counter()
            if case.order:
                outcome = run_in_order(part.kernel, case, targets[index])
            else:
                if data is None and spec.skip(case, targets[index]) is None:
                    data = spec.problem(case)
                outcome = run_case(spec, case, targets[index], machines[index], data)
            yield part.kernel, index, outcome, perf_counter() - start


def run_parts(parts: list[Part], targets: list[Target], processes: int) -> Iterator[Ran]:
    """All of them: this process runs what is not shared, while others do the rest."""
    shared = [part for part in parts if part.is_shared]
    if not shared:
        for part in parts:
            yield from run_part(part, targets)
        return
    before = set(active_children())
    helpers: set[BaseProcess] = set()
    answers: list[Future[list[Ran]]] = []
    finished = 0

    def begin() -> None:
        pool = stack.enter_context(_pool(processes))
        with suppress(BrokenProcessPool):
            for part in shared:  # the processes start as they get work
                answers.append(pool.submit(_run, part, targets))
        helpers.update(set(active_children()) - before)

    with ExitStack() as stack:
        try:
            out_of_reach(begin)
            for part in parts:
                if not part.is_shared:
                    yield from run_part(part, targets)
            for answer in answers:  # in order, so that failures are listed in order
                yield from answer.result()
                finished += 1
        except BrokenProcessPool:
            pass
        except BaseException:  # the user's, or the caller wants no more: nobody waits for the rest
            for helper in helpers:
                helper.terminate()
            raise
    for part in shared[finished:]:  # none, unless a process has died
        yield from _run_alone(part, targets)


def _run_alone(part: Part, targets: list[Target]) -> list[Ran]:
    def begin() -> Future[list[Ran]]:
        return stack.enter_context(_pool(1)).submit(_run, part, targets)

    with ExitStack() as stack:
        try:
            return out_of_reach(begin).result()
        except BrokenProcessPool:
            died = Difference("the process that ran it and its neighbours ended without an answer")
            return [
                (part.kernel, i, Outcome("failed", failure), 0.0)
                for case, where in part.work
                for i in where
                for failure in (Failure(part.kernel, targets[i], case, "crashed", died),)
            ]


def _run(part: Part, targets: list[Target]) -> list[Ran]:
    return list(run_part(part, targets))


def _pool(processes: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(processes, get_context("spawn"))
