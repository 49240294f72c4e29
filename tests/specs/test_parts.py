"""A sweep that several processes share finds what one finds, and outlives a process that dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from multiprocessing import active_children

from gpuport.testing import Cell, Target, cases, sweep_kernels
from gpuport.testing.parts import Part, run_parts

KERNEL = "reduce.warp_shuffle"
WIDTHS = [Target("cpu", 32), Target("cpu", 64)]


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
    ran = run_parts(parts, WIDTHS, 2)
    found = [next(ran)]
    children = active_children()
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


def test_an_interrupt_ends_all_processes_at_once() -> None:
    command = [sys.executable, "-m", "gpuport", "check", "--kernel", "softmax", "--backend", "cpu"]
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        time.sleep(4)  # the others have begun; the whole takes a minute
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does
        out, err = running.communicate(timeout=30)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
    assert running.returncode == 1
    assert "Aborted!" in err
    assert "Traceback" not in out + err
