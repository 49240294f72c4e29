"""Checks over more than one call of a case, for the specs of any family."""

import math

import numpy as np

from gpuport.testing.case import Case, Difference, Invariant, Operand, Problem, Rerun
from gpuport.testing.compare import bits_differ
from gpuport.testing.dtypes import Array


def repeats(runs: int) -> Invariant:
    """So many further calls give the same bits."""

    def check(_: Case, __: Problem, got: Array, rerun: Rerun) -> Difference | None:
        differences = (bits_differ(got, rerun()) for _ in range(runs))
        return next((found for found in differences if found is not None), None)

    return check


def same_without_out(_: Case, problem: Problem, got: Array, rerun: Rerun) -> Difference | None:
    """A result of the call's own making has the bits of one written to `out=`."""
    return bits_differ(got, rerun(out=False)) if problem.takes_out else None


def same_in_place(_: Case, problem: Problem, got: Array, rerun: Rerun) -> Difference | None:
    """`out=x` gives the same bits, where x has the dtype and the shape of the result."""
    x, answer = operand(problem, "x"), problem.answer
    if (x.dtype, x.values.shape) != (answer.dtype, answer.values.shape):
        return None
    return bits_differ(got, rerun(in_place=True))


def rows_independent(_: Case, problem: Problem, got: Array, rerun: Rerun) -> Difference | None:
    """NaN in every second row leaves the bits of the other rows alone."""
    x = operand(problem, "x")
    spoiled = x.values.copy()
    spoiled[::2] = math.nan
    return bits_differ(got[1::2], rerun(x=spoiled)[1::2])


def rows_sum_to_one(case: Case, problem: Problem, got: Array, _: Rerun) -> Difference | None:
    """Within the sum of what each element may be off."""
    sums = np.sum(got, axis=case.axis, dtype=np.float64)
    assert problem.answer.bound is not None
    allowed = np.sum(np.broadcast_to(problem.answer.bound, got.shape), axis=case.axis)
    bad = ~(np.abs(sums - 1) <= allowed)
    if not np.any(bad):
        return None
    row = int(np.argmax(bad))
    return Difference(f"row {row}", "1", str(sums.reshape(-1)[row]))


def shift_changes_nothing(_: Case, problem: Problem, got: Array, rerun: Rerun) -> Difference | None:
    """For inputs that are small multiples of 1/64: x + 1024 is exact, the result keeps its bits."""
    x = operand(problem, "x")
    return bits_differ(got, rerun(x=x.values + x.values.dtype.type(1024)))


def operand(problem: Problem, name: str) -> Operand:
    found = problem.operands[name]
    assert isinstance(found, Operand)
    return found
