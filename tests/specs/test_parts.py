"""A sweep that several processes share finds what one finds, and outlives a process that dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from multiprocessing import active_children
from pathlib import Path

import pytest

from gpuport.testing import Cell, Target, cases, orders, sweep_kernels
from gpuport.testing.orders import run_in_order
from gpuport.testing.parts import Part, run_parts

KERNEL = "reduce.warp_shuffle"
WIDTHS = [Target("cpu", 32), Target("cpu", 64)]


ENDLESS = """
extern "C" __global__ void endless(const float* x, float* y) {
    while (*(volatile const float*)x < 2) y[0] = x[0];
}
"""
SPEC_OF_ENDLESS = """
from gpuport.testing import KernelSpec

endless = KernelSpec(
    kernel="endless",
    inputs=lambda n, dtype, rng: {"x": rng.random(n + 1, dtype)},
    reference=lambda x: x[:-1],
    args=lambda arrays, n: (arrays.x, arrays.out),
)
"""


class Deadly(str):
    """Ends the process that it is sent to."""

    def __reduce__(self) -> tuple[object, ...]:
        return os._exit, (3,)


def swept(processes: int) -> list[Cell]:
    kernels = [KERNEL, "scan.serial", "reduce.unheard_of"]
    steps = list(sweep_kernels(kernels, WIDTHS, quick=True, processes=processes))
    assert steps[-1].done == steps[-1].total
    cells = {id(step.cell): step.cell for step in steps}
    return sorted(cells.values(), key=lambda cell: (cell.kernel, cell.target.warp_size))


def test_processes_share_a_sweep() -> None:
    alone, shared = swept(1), swept(2)
    found = [
        [(cell.kernel, cell.target, cell.passed, cell.skipped, cell.problem) for cell in cells]
        for cells in (alone, shared)
    ]
    assert found[0] == found[1]
    assert [cell.ok for cell in shared] == [False, False, True, True, True, True]
    assert all(cell.seconds > 0 for cell in shared if cell.ok)


def test_what_a_dead_process_left_is_run_again() -> None:
    plan = [case for case in cases(KERNEL, WIDTHS[0]) if not case.order][:400]
    parts = [
        Part(KERNEL, [(case, [0, 1]) for case in plan[at : at + 40]], is_shared=True)
        for at in range(0, len(plan), 40)
    ]
    before = set(active_children())
    ran = run_parts(parts, WIDTHS, 2)
    found = [next(ran)]
    children = set(active_children()) - before
    assert children
    for child in children:
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)
    found += ran
    assert len(found) == 2 * len(plan)
    assert {outcome.failure for *_, outcome, _ in found} == {None}


def test_cases_that_end_their_process_have_failed() -> None:
    plan = [case for case in cases(KERNEL, WIDTHS[0], quick=True) if not case.order][:4]
    deadly = Part(Deadly(KERNEL), [(case, [0, 1]) for case in plan[:2]], is_shared=True)
    harmless = Part(KERNEL, [(case, [0, 1]) for case in plan[2:]], is_shared=True)
    found = list(run_parts([deadly, harmless], WIDTHS, 1))
    failures = [outcome.failure for *_, outcome, _ in found if outcome.failure is not None]
    assert [(f.case, f.target) for f in failures] == [(c, t) for c in plan[:2] for t in WIDTHS]
    assert {failure.check for failure in failures} == {"crashed"}
    assert [outcome.status for *_, outcome, _ in found].count("passed") == 4


def processes_of(parent: int) -> int:
    return len(Path(f"/proc/{parent}/task/{parent}/children").read_text().split())


def test_an_order_outlives_its_process() -> None:
    case = next(case for case in cases(KERNEL, WIDTHS[0]) if case.order)
    orders._process.cache_clear()
    before = set(active_children())
    assert run_in_order(KERNEL, case, WIDTHS[0]).status == "passed"
    (child,) = set(active_children()) - before
    child.kill()
    child.join()
    time.sleep(0.5)  # until the pool has seen it
    assert run_in_order(KERNEL, case, WIDTHS[0]).status == "passed"


def interrupted(command: list[str], delay: float) -> tuple[int, str]:
    """The exit code and what was printed, where an interrupt comes as a terminal sends it."""
    running = subprocess.Popen(
        [sys.executable, "-m", "gpuport", "check", *command, "--backend", "cpu"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        while processes_of(running.pid) < 2:  # multiprocessing's tracker, and the first of ours
            assert running.poll() is None
            time.sleep(0.01)
        time.sleep(delay)
        os.killpg(running.pid, signal.SIGINT)
        out, _ = running.communicate(timeout=30)
        return running.returncode, out
    finally:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)


@pytest.mark.parametrize("delay", [0.0, 0.2, 2.0])  # the whole takes a minute
def test_an_interrupt_ends_all_processes_at_once(delay: float) -> None:
    code, out = interrupted(["--kernel", "softmax"], delay)
    assert (code, out.strip().splitlines()[-1]) == (1, "Aborted!")
    assert "Traceback" not in out


@pytest.mark.parametrize("delay", [0.0, 0.2, 2.0])
def test_an_interrupt_ends_a_kernel_that_does_not(delay: float, tmp_path: Path) -> None:
    source, spec = tmp_path / "endless.cu", tmp_path / "spec.py"
    source.write_text(ENDLESS)
    spec.write_text(SPEC_OF_ENDLESS)
    code, out = interrupted([str(source), "--spec", str(spec)], delay)
    assert (code, out.strip().splitlines()[-1]) == (1, "Aborted!")
    assert "Traceback" not in out
