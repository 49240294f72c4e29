"""`gpuport check`: kernels by their specs, on every backend of this host, in one table."""

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

import gpuport
from gpuport.cli.check_report import print_report
from gpuport.cli.progress import counting
from gpuport.testing import Cell, Step, Target, sweep_kernels, targets

if TYPE_CHECKING:
    from gpuport.testing.own_sweep import OwnSource

BACKENDS = ("cpu", "cuda", "hip")


@dataclass
class Report:
    """All that a run found. `absent` names the backends with nothing to run on, and why."""

    kernels: list[str]
    targets: list[Target]
    cells: list[Cell] = field(default_factory=list)
    not_built: dict[str, str] = field(default_factory=dict)
    not_executed: dict[str, str] = field(default_factory=dict)
    required: str | None = None  # the backend that was asked for by name
    seconds: float = 0.0  # that the run took

    @property
    def ok(self) -> bool:
        return all(cell.ok for cell in self.cells) and self.required not in self.not_executed

    def as_json(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "not_built": self.not_built,
            "not_executed": self.not_executed,
            "results": [_cell_as_json(cell) for cell in self.cells],
        }


def _cell_as_json(cell: Cell) -> dict[str, Any]:
    return {
        "kernel": cell.kernel,
        "backend": cell.target.backend,
        "device": cell.target.device,
        "warp_size": cell.target.warp_size,
        "ok": cell.ok,
        "passed": cell.passed,
        "failed": len(cell.failures),
        "skipped": cell.skipped,
        "problem": cell.problem,
        "words": cell.words,
        "seconds": round(cell.seconds, 3),
        "failures": [
            {
                "case": failure.case.name,
                "check": failure.check,
                "message": failure.difference.message,
                "expected": failure.difference.expected,
                "got": failure.difference.got,
                "reproduce": failure.reproduce,
            }
            for failure in cell.failures
        ],
    }


def _chosen_kernels(asked: Iterable[str], known: list[str]) -> list[str]:
    for name in asked:
        if name not in known and not any(kernel.startswith(f"{name}.") for kernel in known):
            raise click.UsageError(f"no kernel is called {name}; there are {', '.join(known)}")
    wanted = tuple(asked)
    return [k for k in known if not wanted or k in wanted or k.partition(".")[0] in wanted]


def _plan(backend: str | None, warp_size: int | None, kernels: list[str]) -> Report:
    report = Report(kernels, targets(backend, warp_size), required=backend)
    for record in gpuport.backends():
        if backend not in (None, record.name):
            continue
        if not record.built:
            report.not_built[record.name] = record.reason
        elif not record.available:
            report.not_executed[record.name] = record.reason
    if backend in report.not_built:
        raise click.UsageError(f"backend {backend} is not built: {report.not_built[backend]}")
    if not report.targets and backend not in report.not_executed:
        raise click.UsageError(f"no device of {backend or 'this host'} has warps of {warp_size}")
    return report


def _own_source(
    file: str, spec: str | None, options: tuple[str, ...], timeout: int | None
) -> "OwnSource":
    from gpuport.testing.own_process import TIME_LIMIT
    from gpuport.testing.own_sweep import OwnSource, SpecError

    if spec is None:
        raise click.UsageError(f"{file}: what it must compute is missing, as --spec spec.py")
    try:
        with open(file, "rb"):
            return OwnSource(file, spec, options, timeout or TIME_LIMIT)
    except OSError as error:
        raise click.UsageError(f"{file}: {error.strerror}") from None
    except SpecError as error:
        raise click.UsageError(str(error)) from None


def _own_steps(
    source: "OwnSource", report: Report, quick: bool, case: str | None
) -> Iterator[Step]:
    from gpuport.testing.own_sweep import sweep_own

    if case is not None:
        names = {
            k: [c.name for c in source.kernels[k].cases(t)]
            for k in report.kernels
            for t in report.targets
        }
        report.kernels = [kernel for kernel in report.kernels if case in names.get(kernel, ())]
        if not report.kernels:
            known = ", ".join(name for found in names.values() for name in found[:3])
            raise click.UsageError(f"there is no case {case!r}; there are {known} and so on")
    return sweep_own(source, report.kernels, report.targets, quick=quick, only=case)


def _run(report: Report, steps: Iterable[Step], *, show_progress: bool) -> None:
    progress = counting()
    cells: dict[int, Cell] = {}
    began = perf_counter()
    with progress if show_progress else nullcontext():
        task = progress.add_task("")
        for step in steps:
            cells[id(step.cell)] = step.cell
            if show_progress:
                progress.update(
                    task, description=step.cell.kernel, completed=step.done, total=step.total
                )
    report.cells = list(cells.values())
    report.seconds = perf_counter() - began


@click.command("check", short_help="Run the correctness sweeps.")
@click.argument("file", required=False, metavar="[FILE.cu]")
@click.option("--spec", metavar="SPEC.py", help="What the kernels of FILE.cu must compute.")
@click.option("--backend", type=click.Choice(BACKENDS), help="Only this one; needs a device.")
@click.option("--warp-size", type=click.Choice(["32", "64"]), help="Only this warp width.")
@click.option("--kernel", "kernels", multiple=True, help="family or family.variant; repeatable.")
@click.option("--case", metavar="NAME", help="Only this case of FILE.cu.")
@click.option("-I", "folders", multiple=True, metavar="DIR", help="Headers of FILE.cu.")
@click.option("-D", "macros", multiple=True, metavar="NAME[=VALUE]", help="A macro for FILE.cu.")
@click.option(
    "--timeout",
    type=click.IntRange(1, 86400),
    metavar="SECONDS",
    help="What a case of FILE.cu may take; one that takes longer failed. Default: 60.",
)
@click.option("--quick", is_flag=True, help="A small part of the cases.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def command(
    file: str | None,
    spec: str | None,
    backend: str | None,
    warp_size: str | None,
    kernels: tuple[str, ...],
    case: str | None,
    folders: tuple[str, ...],
    macros: tuple[str, ...],
    timeout: int | None,
    quick: bool,
    as_json: bool,
) -> None:
    """Runs every kernel over the cases of its spec, on every backend of this host: gpuport's own
    kernels, or those of FILE.cu, whose specs are the `gpuport.testing.KernelSpec`s in SPEC.py. Each
    case of FILE.cu runs in a process that is ended when the case does not end by itself.

    \b
    Examples: gpuport check --kernel reduce --backend cpu
              gpuport check saxpy.cu --spec spec.py

    Exit code 0: everything holds. 1: a check failed, FILE.cu does not compile, or the backend named
    has no device. 2: the request cannot be met (no such file or kernel, a SPEC.py that does not
    run, backend not built, no such warp width).
    """
    width = int(warp_size) if warp_size else None
    if file is None:
        if spec or case or folders or macros or timeout:
            raise click.UsageError(
                "--spec, --case, -I, -D and --timeout are for a FILE.cu of your own"
            )
        known = [kernel.name for kernel in gpuport.kernels()]
        report = _plan(backend, width, _chosen_kernels(kernels, known))
        steps = sweep_kernels(
            report.kernels, report.targets, quick=quick, processes=len(os.sched_getaffinity(0))
        )
    else:
        options = (*(f"-I{folder}" for folder in folders), *(f"-D{macro}" for macro in macros))
        source = _own_source(file, spec, options, timeout)
        report = _plan(backend, width, _chosen_kernels(kernels, list(source.kernels)))
        steps = _own_steps(source, report, quick, case)
    _run(report, steps, show_progress=sys.stderr.isatty() and not as_json)
    if as_json:
        click.echo(json.dumps(report.as_json(), indent=2))
    else:
        print_report(report)
    sys.exit(0 if report.ok else 1)
