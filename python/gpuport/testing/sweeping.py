"""The sweep: every kernel of the registry, by its spec, on every target of this host."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import gpuport
from gpuport import specs
from gpuport.testing.case import Case, Spec, Target
from gpuport.testing.engine import Failure, Outcome, run_case
from gpuport.testing.machine import machine
from gpuport.testing.orders import run_in_order
from gpuport.testing.parts import Part, run_parts

SHARE = 40  # cases that a process takes at once


@dataclass
class Cell:
    """One kernel on one target: one cell of the table."""

    kernel: str
    target: Target
    passed: int = 0
    failures: list[Failure] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)  # reason: how many cases
    problem: str = ""  # why there is nothing to run: no spec, or a registry that says otherwise
    words: str = ""  # what a compiler said of a user's source
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return not self.failures and not self.problem

    @property
    def ran(self) -> int:
        return self.passed + len(self.failures)

    def add(self, outcome: Outcome) -> None:
        if outcome.failure is not None:
            self.failures.append(outcome.failure)
        elif outcome.status == "skipped":
            self.skipped[outcome.reason] = self.skipped.get(outcome.reason, 0) + 1
        else:
            self.passed += 1


@dataclass(frozen=True, slots=True)
class Step:
    """What a sweep reports as it goes: the cell as it stands, and how far it has come."""

    cell: Cell
    done: int
    total: int


def disagreement(spec: Spec | None, kernel: str) -> str:
    """What the registry and the spec say differently, or that there is no spec."""
    if spec is None:
        return "no spec"
    record = next(record for record in gpuport.kernels() if record.name == kernel)
    if set(record.dtypes) != set(spec.dtypes):
        only = sorted(set(record.dtypes) ^ set(spec.dtypes))
        return f"registry and spec disagree about {', '.join(only)}"
    if set(record.repeatable) != set(filter(spec.repeats, spec.dtypes)):
        only = sorted(set(record.repeatable) ^ set(filter(spec.repeats, spec.dtypes)))
        return f"registry and spec disagree about whether {', '.join(only)} repeats"
    return ""


def cases(kernel: str, target: Target, *, quick: bool = False) -> list[Case]:
    """The cases of a kernel, each once; one that is listed twice does all that either asks."""
    spec = specs.find(kernel)
    if spec is None:
        return []
    found: dict[str, Case] = {}
    for case in spec.cases(target):
        same = found.get(case.name, case)
        found[case.name] = replace(
            case,
            invariants=case.invariants or same.invariants,
            quick=case.quick or same.quick,
        )
    return [case for case in found.values() if case.quick or not quick]


def sweep_kernels(
    kernels: Iterable[str],
    targets: Iterable[Target],
    *,
    quick: bool = False,
    processes: int = 1,
) -> Iterator[Step]:
    """Runs every case of every kernel; yields after each, to show progress or to stop.

    A case is run on all targets in turn, so that its data and its answer are made once. With more
    than one process (which import the main module, as Python's own pools have it), those share the
    cases of the CPU backend; a GPU has one process, and so have cases in another order.
    """
    targets = list(targets)
    rows = {kernel: [Cell(kernel, target) for target in targets] for kernel in kernels}
    parts: list[Part] = []
    total = done = 0
    for kernel, row in rows.items():
        plans = [cases(kernel, target, quick=quick) for target in targets]
        total += sum(map(len, plans))
        problem = disagreement(specs.find(kernel), kernel)
        for cell, plan in zip(row, plans, strict=True):
            cell.problem = problem
            done += len(plan) if problem else 0
        if not problem:
            parts += _parts(kernel, targets, plans, processes > 1)
    for cell in (cell for row in rows.values() for cell in row if cell.problem):
        yield Step(cell, done, total)
    for kernel, index, outcome, seconds in run_parts(parts, targets, processes):
        cell = rows[kernel][index]
        cell.add(outcome)
        cell.seconds += seconds
        done += 1
        yield Step(cell, done, total)


def _parts(kernel: str, targets: list[Target], plans: list[list[Case]], share: bool) -> list[Part]:
    """Pieces of a kernel's cases, each with the targets that it is run on, in order."""
    kept, shared = Part(kernel), [Part(kernel, is_shared=True)]
    for case, where in _by_case(plans).items():
        on_cpu = [i for i in where if share and not case.order and not targets[i].is_gpu]
        rest = [i for i in where if i not in on_cpu]
        if rest:
            kept.work.append((case, rest))
        if on_cpu:
            if len(shared[-1].work) == SHARE:
                shared.append(Part(kernel, is_shared=True))
            shared[-1].work.append((case, on_cpu))
    return [part for part in (kept, *shared) if part.work]


def _by_case(plans: list[list[Case]]) -> dict[Case, list[int]]:
    """For each case, in order, the plans that hold it."""
    where: dict[Case, list[int]] = {}
    for index, plan in enumerate(plans):
        for case in plan:
            where.setdefault(case, []).append(index)
    return where


def targets(backend: str | None = None, warp_size: int | None = None) -> list[Target]:
    """Every device of this host at every warp width that it has, or those asked for."""
    return [
        Target(device.backend, width, device.index, device.memory)
        for device in gpuport.devices()
        for width in device.warp_sizes
        if backend in (None, device.backend) and warp_size in (None, width)
    ]


def why_not(backend: str, warp_size: int) -> str:
    """Why `targets` finds nothing for this backend and warp width."""
    record = next(record for record in gpuport.backends() if record.name == backend)
    if not record.built:
        return f"{backend} is not built: {record.reason}"
    if not record.available:
        return f"{backend} has no device: {record.reason}"
    return f"no {backend} device has warps of {warp_size}"


def reproduce(kernel: str, *, backend: str, warp_size: int, case: str, device: int = 0) -> None:
    """Runs one case by its name and says what came of it; exits with 1 if it fails."""
    spec = specs.find(kernel)
    if spec is None:
        raise SystemExit(f"{kernel} has no spec")
    here = [target for target in targets(backend, warp_size) if target.device == device]
    target = next(iter(here), None)
    if target is None:
        raise SystemExit(f"there is no device for {backend} with warps of {warp_size}")
    found = next((known for known in cases(kernel, target) if known.name == case), None)
    if found is None:
        raise SystemExit(f"{kernel} has no case {case!r} on {target}")
    if found.order:
        outcome = run_in_order(kernel, found, target)
    else:
        outcome = run_case(spec, found, target, machine(kernel, target))
    if outcome.failure is not None:
        raise SystemExit("\n".join(outcome.failure.lines()))
    print(f"{kernel} on {target}, {case}: {outcome.status} {outcome.reason}".rstrip())
