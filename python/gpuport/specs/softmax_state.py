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


@dataclass(frozen=True)
class MergeSpec(Spec):
    """Two states of every place merged. The regime is that of both maxima."""

    family: str = field(default="softmax", init=False)

    def cases(self, target: Target) -> Iterator[Case]:
        op = "merge_softmax_states"
        for dtype in self.dtypes:
            for size in SIZES:
                again, quick = size in (33, 4099), size in QUICK
                yield Case(op, dtype, (size,), "normal", invariants=again, quick=quick)
            for shape in ((), (3, 65, 4), (33, 33), MANY_ROWS[0]):
                yield Case(op, dtype, shape, "normal")
            for regime in ("spread", "ties", "near_1e38", "extremes", "steps", "far_below"):
                yield Case(op, dtype, (130,), regime, quick=regime == "spread")
            for regime in ("all_minus_inf", "all_inf", "nan@64", "inf@64", "minus_inf@64"):
                yield Case(op, dtype, (130,), regime)
            for layout in LAYOUTS:
                yield Case(op, dtype, (65,), "normal", layout=layout)
                yield Case(op, dtype, (33, 33), "normal", layout=layout)
            for empty in ("a", "b", "both"):
                for size in (1, 33, 1025):
                    for regime in ("normal", "nan@0", "inf@0", "signed_zeros"):
                        yield Case(op, dtype, (size,), regime, segments=empty, quick=size == 33)
        if not target.is_gpu:
            for order in (1, 2, 3):
                for size in (65, 1025, 4099):
                    yield Case(op, "float32", (size,), "normal", order=order, quick=size == 1025)

    def problem(self, case: Case) -> Problem:
        """`segments` names a state that is empty everywhere."""
        states: dict[str, Array] = {}
        for name in ("a", "b"):
            m = make(case.regime, case.shape, case.dtype)
            d = np.abs(make("uniform", (*case.shape, 1), case.dtype))[..., 0] + m.dtype.type(0.5)
            if name == "b":  # other numbers
                m, d = np.flip(m), np.flip(d)
            if case.segments in (name, "both"):
                m, d = np.full_like(m, -math.inf), np.zeros_like(d)
            states |= {f"{name}.m": m, f"{name}.d": np.where(np.isneginf(m), 0, d).astype(m.dtype)}
        operands = {
            name: Operand(values, case.dtype, case.layout) for name, values in states.items()
        }
        return Problem(operands, {}, self.answer(case, states), takes_out=False)

    def answer(self, case: Case, states: Mapping[str, Array]) -> Answer:
        am, ad, bm, bd = (x.astype(np.longdouble) for x in states.values())
        if case.segments is not None:  # the other one, bit for bit
            kept = "b" if case.segments == "a" else "a"
            return Answer(np.stack([states[f"{kept}.m"], states[f"{kept}.d"]]), case.dtype)
        # A maximum that is a NaN is none, and the sum is one in its place.
        ad, bd = (np.where(np.isnan(m), math.nan, d) for m, d in ((am, ad), (bm, bd)))
        am, bm = (np.where(np.isnan(m), -math.inf, m) for m in (am, bm))
        with np.errstate(all="ignore"):
            m = np.where(bm > am, bm, am)
            terms = [
                np.where(d == 0, 0, d * np.where(top == m, 1, np.exp(top - m)))
                for top, d in ((am, ad), (bm, bd))
            ]
            unit = unit_roundoff(case.dtype)
            distance = np.nan_to_num(np.abs(am - bm), posinf=0, nan=0)
            bound = np.nan_to_num((terms[0] + terms[1]) * (distance + 8) * unit)
        bound = np.stack([np.zeros(m.shape), bound + smallest(case.dtype)])
        return Answer(np.stack([m, terms[0] + terms[1]]), case.dtype, bound, "rounding of exp")

    def invariants(self, case: Case) -> Mapping[str, Invariant]:
        return {"not repeatable": repeats(3)}


SHORT = Shape("float32", (131072, 32), "rows of one warp")
LONG = Shape("float32", (128, 262144), "vocabulary-sized rows")

SPECS: tuple[Spec, ...] = (
    StateSpec("row_state", FLOATS, benchmark=(SHORT, LONG)),
    MergeSpec("merge_states", ("float32", "float64")),
)
