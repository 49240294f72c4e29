"""Cases under a seed run in a process that has it, and their outcomes come back whole."""

from __future__ import annotations

import os

from gpuport.testing import Case, Target, orders
from gpuport.testing.orders import run_in_order

CPU = Target("cpu", 64)


def test_an_outcome_comes_back() -> None:
    case = Case("sum", "int32", (1025,), order=2)
    assert run_in_order("reduce.warp_shuffle", case, CPU).status == "passed"
    assert orders.VARIABLE not in os.environ


def test_the_process_has_the_seed() -> None:
    process = orders._process(3)
    assert process.submit(os.getenv, orders.VARIABLE).result() == "3"


def test_a_failure_comes_back_with_what_was_wrong() -> None:
    case = Case("sum", "int32", (1025,), axis=5, order=2)
    outcome = run_in_order("reduce.warp_shuffle", case, CPU)
    assert outcome.failure is not None
    assert outcome.failure.check == "raised"
    assert "-order2" in outcome.failure.reproduce


def test_a_process_that_dies_is_a_failure_and_the_next_case_runs() -> None:
    orders._process(2).submit(os._exit, 3)
    case = Case("sum", "int32", (1025,), order=2)
    outcomes = [run_in_order("reduce.warp_shuffle", case, CPU) for _ in range(2)]
    failure = outcomes[0].failure
    assert failure is not None
    assert failure.check == "crashed"
    assert outcomes[1].status == "passed"
