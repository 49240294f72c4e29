"""Sums that promise more: integers that say where they overflow, floats whose error does not grow.

Both are kernels of the family `reduce`, each for one operation of its own.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpuport.testing.case import Answer, Case, Invariant, Operand, Problem, Shape, Spec, Target
from gpuport.testing.dtypes import (
    ALL,
    INTEGERS,
    Array,
    accumulator,
    is_float,
    round_to,
    smallest,
    unit_roundoff,
)
from gpuport.testing.invariants import repeats, rows_independent, same_without_out
from gpuport.testing.memory import LAYOUTS
from gpuport.testing.regimes import make
from gpuport.testing.sizes import EDGES, LONG_ROWS, MANY_ROWS, ROW_SHAPES, SIZES, SMALL_SIZES

QUICK = (0, 1, 33, 65, 513, 4099)
# Around a thread's 16 neighbours, a tile of 4,096 and a stretch of it.
PLACES = (*(edge for edge in EDGES if 1 < edge < 1022), 4095, 4096, 4097, 8191)


@dataclass(frozen=True)
class _SumSpec(Spec):
    family: str = field(default="reduce", init=False)

    def _shapes(self, target: Target) -> Iterator[Case]:
        for dtype in self.dtypes:
            for size in SIZES if dtype in ("int32", "float32", "float64") else SMALL_SIZES:
                invariants = size in (33, 1025, 262145)
                quick = size in QUICK and dtype in ("int32", "uint64", "float16", "float64")
                yield Case("sum", dtype, (size,), invariants=invariants, quick=quick)
            for layout in LAYOUTS:
                yield Case("sum", dtype, (33, 33), axis=1, layout=layout)
                yield Case("sum", dtype, (1025, 4), axis=0, layout=layout)
                yield Case("sum", dtype, (9, 1025), layout=layout)
        for shape in (*ROW_SHAPES, *LONG_ROWS, MANY_ROWS[0], (3, 65, 4)):
            for axis in range(len(shape)):
                yield Case("sum", self.dtypes[-1], shape, axis=axis)

    def _orders(self) -> Iterator[Case]:
        """Lanes, warps and blocks in other orders: a missing barrier then shows."""
        for order in (1, 2, 3):
            for shape in ((65,), (4099,), (70001,), (33, 33), (7, 1025)):
                axis = len(shape) - 1
                quick = shape == (4099,)
                yield Case("sum", "int32", shape, axis=axis, order=order, quick=quick)

    def invariants(self, case: Case) -> Mapping[str, Invariant]:
        checks: dict[str, Invariant] = {
            "not repeatable": repeats(3),
            "out= changes the result": same_without_out,
        }
        if case.axis == 1 and is_float(case.dtype):
            checks["rows are not independent"] = rows_independent
        return checks


@dataclass(frozen=True)
class CheckedSpec(_SumSpec):
    """The sum, or OverflowError where a running sum from left to right leaves the accumulator."""

    def cases(self, target: Target) -> Iterator[Case]:
        yield from self._shapes(target)
        for dtype in self.dtypes:
            small = dtype not in ("int64", "uint64")
            for regime in ("ones", "greatest", *(("wide",) if small else ())):
                refused = regime == "greatest" and not small
                yield Case("sum", dtype, (4099,), regime, refused=refused)
        for dtype in ("int64", "uint64"):
            for at in PLACES:
                quick = at in (16, 32, 4096)
                for size in (1026,) if at < 1022 else (8193, 70001):
                    yield Case("sum", dtype, (size,), f"brim@{at}", quick=quick)
                    yield Case("sum", dtype, (size,), f"over@{at}", refused=True, quick=quick)
                    if dtype == "int64":
                        yield Case("sum", dtype, (size,), f"under@{at}", refused=True)
            yield Case("sum", dtype, (3, 130), "brim@64", axis=1)
            yield Case("sum", dtype, (3, 130), "over@64", axis=1, refused=True)
        if not target.is_gpu:
            yield from self._orders()
            for order in (1, 2, 3):
                yield Case("sum", "int64", (70001,), "over@4096", order=order, refused=True)
                yield Case("sum", "int64", (70001,), "brim@4096", order=order)

    def problem(self, case: Case) -> Problem:
        x = make(case.regime, case.shape, case.dtype)
        result = accumulator(case.dtype)
        with np.errstate(over="ignore"):
            total = np.asarray(np.sum(x, axis=case.axis, dtype=result))
        return Problem(
            {"x": Operand(x, case.dtype, case.layout)},
            {"axis": case.axis, "overflow": "raise"},
            Answer(total, result),
            refusal=OverflowError,
        )


@dataclass(frozen=True)
class CompensatedSpec(_SumSpec):
    """Half a unit in the last place, and n**2 * 2**-105 times the sum of magnitudes.

    The order of the additions does not show in the bound, nor does their number before it reaches
    2**26. Integers are summed as float64.
    """

    def cases(self, target: Target) -> Iterator[Case]:
        yield from self._shapes(target)
        for dtype in self.dtypes:
            if not is_float(dtype):
                yield Case("sum", dtype, (4099,), "wide")
                continue
            for regime in ("swamped", "harmonic", "alternating", "normal", "wide"):
                for size in SMALL_SIZES:
                    quick = size in (65, 1025) and regime in ("swamped", "wide")
                    again = size in (65, 4099)
                    yield Case("sum", dtype, (size,), regime, quick=quick, invariants=again)
                yield Case("sum", dtype, (5, 513), regime, axis=0)
                yield Case("sum", dtype, (5, 4097), regime, axis=1)
            yield Case("sum", dtype, (262145,), "swamped")
            for regime in ("all_nan", "all_inf", "all_minus_inf", "signed_zeros", "both_inf@70"):
                yield Case("sum", dtype, (130,), regime)
            for edge in (0, 31, 32, 63, 64, 1024):
                for regime in ("nan", "inf", "minus_inf"):
                    yield Case("sum", dtype, (1025,), f"{regime}@{edge}")
            yield Case("sum", dtype, (5, 65), "nan@64", axis=1, invariants=True)
            yield Case("sum", dtype, (4099,), "greatest")
            yield Case("sum", dtype, (70000,), "ones")
        if not target.is_gpu:
            yield from self._orders()
            for order in (1, 2, 3):
                yield Case("sum", "float32", (70001,), "swamped", order=order)

    def problem(self, case: Case) -> Problem:
        x = make(case.regime, case.shape, case.dtype)
        options: dict[str, Any] = {"axis": case.axis, "compensated": True}
        if not is_float(case.dtype):
            options["dtype"] = "float64"
        operand = Operand(x, case.dtype, case.layout)
        return Problem({"x": operand}, options, _exact_sum(case, x))


def _exact_sum(case: Case, x: Array) -> Answer:
    result = case.dtype if is_float(case.dtype) else "float64"
    rows = x.reshape(1, -1) if case.axis is None else np.moveaxis(x, case.axis, -1)
    shape = rows.shape[:-1] if case.axis is not None else ()
    rows = rows.reshape(math.prod(shape), -1) if rows.size else np.zeros((math.prod(shape), 0))
    with np.errstate(invalid="ignore", over="ignore"):
        sums = np.array([_row_sum(row) for row in rows], np.float64).reshape(shape)
        magnitude = np.sum(np.abs(rows.astype(np.float64)), axis=1).reshape(shape)
        rounded = round_to(sums, result)
        sums = np.where(np.isinf(rounded), rounded, sums)
        # What fsum returns is rounded to a double itself.
        bound = (unit_roundoff(result) + unit_roundoff("float64")) * np.abs(sums)
        bound = bound + rows.shape[1] ** 2 * 2.0**-105 * magnitude + smallest(result)
    return Answer(sums, result, bound, "half a unit in the last place")


def _row_sum(row: Array) -> float:
    """math.fsum, and NumPy's rule where it has none."""
    wide = row.astype(np.float64) if is_float(row.dtype.name) else row
    if is_float(row.dtype.name) and not np.isfinite(wide).all():
        return float(np.sum(wide))
    if not is_float(row.dtype.name):
        return float(sum(int(element) for element in row))
    try:
        return math.fsum(wide)
    except OverflowError:
        return math.copysign(math.inf, wide[0])


LARGE = (Shape("int32", (2**24,), "the default of the receipts"),)
LARGE_FLOATS = (
    Shape("float32", (2**24,), "the default of the receipts"),
    Shape("float64", (2**24,), "as many additions for twice the bytes"),
)

SPECS = (
    CheckedSpec("checked", INTEGERS, benchmark=LARGE),
    CompensatedSpec("compensated", ALL, benchmark=LARGE_FLOATS),
)
