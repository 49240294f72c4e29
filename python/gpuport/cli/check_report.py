"""The table of `gpuport check`, and under it what did not run, and why, and what failed."""

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gpuport.testing import Cell

if TYPE_CHECKING:
    from gpuport.cli.check import Report

SHOWN_PER_CELL = 3


def _text(cell: Cell) -> Text:
    if cell.problem:
        return Text(cell.problem, "red")
    if cell.failures:
        return Text(f"{len(cell.failures)} of {cell.ran} failed", "red")
    return Text(f"{cell.passed} ok", "green")


def print_report(report: "Report") -> None:
    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(_table(report))
    for backend, reason in report.not_executed.items():
        console.print(f"{backend}: not executed: {reason}")
    for backend, reason in report.not_built.items():
        console.print(f"{backend}: not built: {reason}")
    for cell in report.cells:
        for reason, count in cell.skipped.items():
            console.print(f"{cell.kernel} on {cell.target}: {count} skipped: {reason}")
    for words in dict.fromkeys(cell.words for cell in report.cells if cell.words):
        console.print(f"\n{words}")
    for cell in report.cells:
        _print_failures(console, cell)
    _print_verdict(console, report)


def _table(report: "Report") -> Table:
    table = Table()
    table.add_column("kernel")
    several = len({(t.backend, t.device) for t in report.targets}) > len(
        {t.backend for t in report.targets}
    )
    for target in report.targets:
        device = f" device {target.device}" if several and target.is_gpu else ""
        table.add_column(f"{target.backend}{device} w{target.warp_size}")
    for backend in report.not_executed:
        table.add_column(backend)
    by_place = {(cell.kernel, cell.target): cell for cell in report.cells}
    for kernel in report.kernels:
        row = [_text(by_place[kernel, target]) for target in report.targets]
        row += [Text("not executed", "yellow") for _ in report.not_executed]
        table.add_row(kernel, *row)
    return table


def _print_failures(console: Console, cell: Cell) -> None:
    for failure in cell.failures[:SHOWN_PER_CELL]:
        console.print()
        for line in failure.lines():
            console.print(line)
    more = len(cell.failures) - SHOWN_PER_CELL
    if more > 0:
        console.print(f"\n{cell.kernel} on {cell.target}: {more} more; --json lists them all")


def _print_verdict(console: Console, report: "Report") -> None:
    ran = sum(cell.ran for cell in report.cells)
    failed = sum(len(cell.failures) for cell in report.cells)
    broken = sum(bool(cell.problem) for cell in report.cells)
    verdict = f"{ran} cases in {report.seconds:.0f} s, {failed} failed"
    if broken:
        verdict += f", {broken} kernels could not be checked"
    if report.required in report.not_executed:
        verdict += f", {report.required} was asked for and not executed"
    console.print(verdict, style="green" if report.ok else "red")
