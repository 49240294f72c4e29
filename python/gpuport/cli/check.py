"""`gpuport check`: every kernel by its spec, on every backend of this host, in one table."""

import json
import sys
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import gpuport
from gpuport.cli.check_report import print_report
from gpuport.testing import Cell, Target, sweep_kernels, targets

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


def _chosen_kernels(asked: Iterable[str]) -> list[str]:
    known = [kernel.name for kernel in gpuport.kernels()]
    for name in asked:
        if name not in known and not any(kernel.startswith(f"{name}.") for kernel in known):
            raise click.UsageError(f"no kernel is called {name}; there are {', '.join(known)}")
    wanted = tuple(asked)
    return [k for k in known if not wanted or k in wanted or k.partition(".")[0] in wanted]


def _plan(backend: str | None, warp_size: int | None, kernels: Iterable[str]) -> Report:
    report = Report(_chosen_kernels(kernels), targets(backend, warp_size), required=backend)
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


def _run(report: Report, *, quick: bool, show_progress: bool) -> None:
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    cells: dict[int, Cell] = {}
    with progress if show_progress else nullcontext():
        task = progress.add_task("")
        for step in sweep_kernels(report.kernels, report.targets, quick=quick):
            cells[id(step.cell)] = step.cell
            if show_progress:
                progress.update(
                    task, description=step.cell.kernel, completed=step.done, total=step.total
                )
    report.cells = list(cells.values())


@click.command("check", short_help="Run the correctness sweeps.")
@click.option("--backend", type=click.Choice(BACKENDS), help="Only this one; needs a device.")
@click.option("--warp-size", type=click.Choice(["32", "64"]), help="Only this warp width.")
@click.option("--kernel", "kernels", multiple=True, help="family or family.variant; repeatable.")
@click.option("--quick", is_flag=True, help="A small part of the cases.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def command(
    backend: str | None,
    warp_size: str | None,
    kernels: tuple[str, ...],
    quick: bool,
    as_json: bool,
) -> None:
    """Runs every kernel over the cases of its spec, on every backend of this host.

    Exit code 0: everything holds. 1: a check failed, or the backend named has no device.
    2: the request cannot be met (no such kernel, backend not built, no such warp width).
    """
    report = _plan(backend, int(warp_size) if warp_size else None, kernels)
    _run(report, quick=quick, show_progress=sys.stderr.isatty() and not as_json)
    if as_json:
        click.echo(json.dumps(report.as_json(), indent=2))
    else:
        print_report(report)
    sys.exit(0 if report.ok else 1)
