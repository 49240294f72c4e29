"""Softmax states: the maximum m of a row and the sum d of exp(x - m), and two of them merged.

Kernels of the family `softmax`, each for one operation of its own. Their two results are compared
as one array, m before d.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from gpuport.testing.case import Answer, Case, Invariant, Operand, Problem, Shape, Spec, Target
from gpuport.testing.dtypes import FLOATS, Array, accumulator, smallest, unit_roundoff
from gpuport.testing.invariants import repeats
from gpuport.testing.memory import LAYOUTS
from gpuport.testing.regimes import make
from gpuport.testing.sizes import LONG_ROWS, MANY_ROWS, ROW_SHAPES, SIZES, SMALL_SIZES

QUICK = (0, 1, 33, 65, 513, 4099)


@dataclass(frozen=True)
class StateSpec(Spec):
    """The state of every row, masked or not."""

    family: str = field(default="softmax", init=False)

    def cases(self, target: Target) -> Iterator[Case]:
        op = "softmax_state"
        for dtype in self.dtypes:
            for size in SIZES if dtype in ("float32", "float64") else SMALL_SIZES:
                again, quick = size in (33, 4099), size in QUICK
                yield Case(op, dtype, (size,), "normal", axis=0, invariants=again, quick=quick)
            for layout in LAYOUTS:
                yield Case(op, dtype, (33, 33), "normal", axis=1, layout=layout)
                yield Case(op, dtype, (1025, 4), "normal", axis=0, layout=layout)
                yield Case(op, dtype, (4, 65), "normal", axis=1, mask="random", layout=layout)
            for regime in (
                *("spread", "ramp", "ones", "far_below", "near_1e7", "near_1e38", "extremes"),
                *("all_minus_inf", "all_inf", "all_nan", "least", "greatest"),
                *(f"{what}@{129 + at}" for what in ("nan", "inf", "minus_inf") for at in (0, 63)),
            ):
                yield Case(op, dtype, (5, 129), regime, axis=1, quick=regime == "spread")
            for mask in ("random", "row", "all", "columns"):
                for rows, cols in ((5, 33), (3, 1025), (2, 9001)):
                    quick = cols == 1025
                    yield Case(op, dtype, (rows, cols), "normal", axis=1, mask=mask, quick=quick)
                yield Case(op, dtype, (4, 65), "normal", axis=0, mask=mask)
        for shape in (*ROW_SHAPES, *LONG_ROWS, MANY_ROWS[0], (3, 65, 4)):
            for axis in range(len(shape)):
                yield Case(op, "float32", shape, "normal", axis=axis)
        if not target.is_gpu:
            for order in (1, 2, 3):
                for rows, cols in ((33, 33), (7, 1025), (2, 9001)):
                    shape, quick = (rows, cols), cols == 1025
                    yield Case(op, "float32", shape, "normal", axis=1, order=order, quick=quick)

    def problem(self, case: Case) -> Problem:
        x = make(case.regime, case.shape, case.dtype)
        operands = {"x": Operand(x, case.dtype, case.layout)}
        part = np.ones(x.shape, bool)
        if case.mask is not None:
            mask = _mask(case.mask, x.shape)
            operands["mask"] = Operand(mask, "bool", case.layout)
            part = np.broadcast_to(mask, x.shape)
        answer = self.answer(case, x, part)
        return Problem(operands, {"axis": case.axis}, answer, takes_out=False)

    def answer(self, case: Case, x: Array, part: Array) -> Answer:
        """By the definition in extended precision. m is exact; each term of d is off by the
        rounding of x - m, of exp, and of 12 + n / 32 additions and merges at most."""
        assert case.axis is not None
        kept = part & ~np.isneginf(x)
        wide = np.where(kept, x, -math.inf).astype(np.longdouble)
        some = np.any(kept, axis=case.axis)
        with np.errstate(all="ignore"):
            numbers = np.where(np.isnan(wide), -math.inf, wide)
            top = np.max(numbers, axis=case.axis, initial=-math.inf)
            over = np.expand_dims(top, case.axis)
            terms = np.where(kept, np.where(wide == over, 1, np.exp(wide - over)), 0)
            d = np.where(some, np.sum(terms, axis=case.axis), 0)
            distance = np.where(np.isfinite(wide - over), np.abs(wide - over), 0)
            unit = unit_roundoff(accumulator(case.dtype))
            chain = 4 + 6 * (30 + x.shape[case.axis] / 32)
            in_d = np.sum(terms * (distance + chain), axis=case.axis) * unit
        bound = np.stack([np.zeros(d.shape), np.nan_to_num(in_d) + smallest("float32")])
        return Answer(np.stack([top, d]), accumulator(case.dtype), bound, "rounding of each term")

    def invariants(self, case: Case) -> Mapping[str, Invariant]:
        return {"not repeatable": repeats(3)}


def _mask(name: str, shape: tuple[int, ...]) -> Array:
    if name == "columns":  # one mask for every row
        return make("uniform", shape[-1:], "bool")
    if name == "random":
        return make("uniform", shape, "bool")
    mask = np.ones(shape, bool)
    mask[1 if name == "row" else ...] = False
    return mask


SHORT = Shape("float32", (131072, 32), "rows of one warp")
LONG = Shape("float32", (128, 262144), "vocabulary-sized rows")

SPECS: tuple[Spec, ...] = (StateSpec("row_state", FLOATS, benchmark=(SHORT, LONG)),)
