"""Where the extremum of every row stands: the lowest index on ties, the first NaN before all."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from gpuport.testing.case import (
    Answer,
    Case,
    Invariant,
    Operand,
    Problem,
    Shape,
    Sparse,
    Spec,
    Target,
)
from gpuport.testing.dtypes import ALL, Array, is_float, storage
from gpuport.testing.invariants import repeats, rows_independent
from gpuport.testing.memory import LAYOUTS
from gpuport.testing.regimes import make
from gpuport.testing.sizes import (
    BENCHMARK_SIZES,
    COLUMN_SHAPES,
    EDGES,
    FEW_SHAPES,
    HUGE,
    LONG_LOADS,
    LONG_ROWS,
    MANY_ROWS,
    ROW_SHAPES,
    SIZES,
    SMALL_SIZES,
)

OPS = ("argmax", "argmin")
QUICK = (0, 1, 33, 65, 513, 4099)
QUICK_DTYPES = ("int32", "float32")
# One for each way to compare and each size of an element.
LARGE_DTYPES = ("bool", "int32", "uint64", "float16", "float64")


@dataclass(frozen=True)
class ArgmaxSpec(Spec):
    family: str = field(default="argmax", init=False)

    def cases(self, target: Target) -> Iterator[Case]:
        yield from self._sizes()
        yield from self._rows(target)
        yield from self._values()
        if target.is_gpu:
            yield from (Case(op, "int8", (HUGE,), "sparse") for op in OPS)
        else:
            yield from self._orders()

    def _sizes(self) -> Iterator[Case]:
        for dtype in self.dtypes:
            for op in OPS:
                for size in SIZES if dtype in LARGE_DTYPES else SMALL_SIZES:
                    yield Case(
                        *(op, dtype, (size,)),
                        refused=size == 0,
                        invariants=size in (33, 1025, 262145),
                        quick=size in QUICK and dtype in QUICK_DTYPES,
                    )
        for op in OPS:
            yield Case(op, "int32", (), quick=True)

    def _rows(self, target: Target) -> Iterator[Case]:
        for shape in ROW_SHAPES:
            for op in OPS:
                for axis in (1, 0):
                    if shape == (0, 0):
                        continue  # NumPy refuses it, an empty result would be right too
                    yield Case(
                        *(op, "int32", shape),
                        axis=axis,
                        refused=shape[axis] == 0,
                        quick=shape in ((5, 0), (33, 33), (2, 257)),
                    )
        for dtype in self.dtypes:
            for shape in ((33, 33), (4, 1025)):
                for layout in LAYOUTS:
                    yield Case("argmax", dtype, shape, axis=1, layout=layout)
                    yield Case("argmin", dtype, shape, axis=0, layout=layout)
                    yield Case("argmax", dtype, shape, layout=layout)
        for along in (0, 1, 2, None):
            yield Case("argmax", "int32", (3, 65, 4), "ties", axis=along)
        # Rows of one element: the index is 0, however many rows there are.
        yield Case("argmax", "float32", (40, 900, 1), "zeros", axis=2, quick=True)
        yield Case("argmin", "float32", (0, 1), axis=1, quick=True)
        for shape in LONG_ROWS:
            yield Case("argmax", "int32", shape, axis=1)
        for loads in LONG_LOADS:
            yield Case("argmax", "int32", loads, axis=len(loads) - 1)
            yield Case("argmin", "float32", loads, "ties", axis=len(loads) - 1)
        for shape in FEW_SHAPES:
            for dtype in self.dtypes:
                yield Case("argmax", dtype, shape, "ties", axis=0)
            yield Case("argmin", "float32", shape, "nan@65", axis=0)
        for shape in COLUMN_SHAPES:
            for dtype in self.dtypes if shape[0] <= 4099 else ("int32", "float32"):
                yield Case("argmin", dtype, shape, axis=0, quick=shape == (70, 33))
                yield Case("argmax", dtype, shape, "ties", axis=0)
        if target.is_gpu or target.warp_size == 32:
            yield Case("argmax", "int32", MANY_ROWS[0], axis=1)
        if target.is_gpu:
            for shape in MANY_ROWS:
                yield Case("argmin", "int32", shape[::-1], axis=0)

    def _values(self) -> Iterator[Case]:
        for dtype in self.dtypes:
            for op in OPS:
                # All equal, and data equal to the identity: index 0, not a sentinel.
                for regime in ("zeros", "ones", "ties", "least", "greatest"):
                    quick = regime == "least" and dtype in QUICK_DTYPES
                    yield Case(op, dtype, (1025,), regime, quick=quick)
                    yield Case(op, dtype, (3, 65), regime, axis=1)
                yield Case(op, dtype, (4099,), "wide")
                yield Case(op, dtype, (70001,), "ties")
            for edge in EDGES:
                yield Case("argmax", dtype, (1024,), f"onehot@{edge}")
            if not is_float(dtype):
                continue
            for op in OPS:
                for regime in (
                    "all_nan",
                    "all_inf",
                    "all_minus_inf",
                    "signed_zeros",
                    "both_inf@70",
                ):
                    yield Case(op, dtype, (130,), regime)
                for edge in (0, 31, 32, 63, 64, 1024):
                    quick = edge == 63 and dtype in QUICK_DTYPES
                    yield Case(op, dtype, (1025,), f"nan@{edge}", quick=quick)
                yield Case(op, dtype, (70001,), "nan@65537")
                yield Case(op, dtype, (5, 65), "nan@64", axis=1, invariants=True)

    def _orders(self) -> Iterator[Case]:
        """Lanes, warps and blocks in other orders: which of two equal ones is met first varies."""
        for order in (1, 2, 3):
            for op in OPS:
                for size in (65, 1025, 4099, 262145):
                    yield Case(op, "int32", (size,), "ties", order=order, quick=size == 1025)
                for shape in ((33, 33), (7, 1025)):
                    yield Case(op, "float32", shape, "ties", axis=1, order=order)
                for shape in COLUMN_SHAPES[1:]:
                    yield Case(op, "float32", shape, "ties", axis=0, order=order)

    def skip(self, case: Case, target: Target) -> str | None:
        needed = math.prod(case.shape) * storage(case.dtype).itemsize
        if case.regime == "sparse" and needed * 1.25 > target.memory:
            return f"needs {needed / 2**30:.1f} GiB on the device"
        return None

    def problem(self, case: Case) -> Problem:
        if case.regime == "sparse":
            # The extremum stands twice, both past 2^31: the lower one counts.
            value = 5 if case.op == "argmax" else -5
            x = Sparse(case.shape, case.dtype, {7: value // 2, 2**31 + 1: value, HUGE - 1: value})
            return Problem({"x": x}, {}, Answer(np.array(2**31 + 1), "int64"), takes_out=False)
        array = make(case.regime, case.shape, case.dtype)
        options = {} if case.axis is None else {"axis": case.axis}
        operand = Operand(array, case.dtype, case.layout)
        return Problem({"x": operand}, options, _answer(case, array), takes_out=False)

    def invariants(self, case: Case) -> Mapping[str, Invariant]:
        checks: dict[str, Invariant] = {"not repeatable": repeats(3)}
        if case.axis == 1 and is_float(case.dtype):
            checks["rows are not independent"] = rows_independent
        return checks


def _answer(case: Case, x: Array) -> Answer:
    if case.refused:
        return Answer(np.zeros((), np.int64), "int64")
    index = np.argmax(x, case.axis) if case.op == "argmax" else np.argmin(x, case.axis)
    return Answer(np.asarray(index, np.int64), "int64")


SPECS = (
    ArgmaxSpec(
        "single_pass",
        ALL,
        benchmark=(
            *(
                Shape("float32", (size,), "from launch cost to streaming")
                for size in BENCHMARK_SIZES
            ),
            Shape("float32", (4096, 4096), "rows of several tiles"),
            Shape("float32", (16384, 1000), "rows of a classifier"),
        ),
    ),
)
