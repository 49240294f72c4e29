"""Running sums along an axis, against exact integers or extended precision.

What does not fit here: more than 2^31 elements. The results would be 16 GiB, so tests/api holds the
whole of such a scan on the GPU and looks at its end.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from gpuport.testing.case import Answer, Case, Invariant, Operand, Problem, Shape, Spec, Target
from gpuport.testing.dtypes import (
    ALL,
    TEACHING,
    WIDE,
    Array,
    accumulator,
    is_float,
    round_to,
    smallest,
    sum_dtype,
    unit_roundoff,
    values,
)
from gpuport.testing.invariants import (
    repeats,
    rows_independent,
    same_in_place,
    same_without_out,
)
from gpuport.testing.memory import LAYOUTS
from gpuport.testing.regimes import make
from gpuport.testing.sizes import (
    BENCHMARK_SIZES,
    EDGES,
    LONG_ROWS,
    MANY_ROWS,
    ROW_SHAPES,
    SIZES,
    SMALL_SIZES,
)

OPS = ("inclusive_scan", "exclusive_scan")
# Whole numbers whose running sums stay below 2^24.
EXACT = ("uniform", "ones", "zeros", "onehot", "ties")
# What is also swept over the sizes of several levels of blocks: each way to add once.
LARGE_SCANS = (
    ("int32", "inclusive_scan"),
    ("int32", "exclusive_scan"),
    ("uint8", "exclusive_scan"),
    ("float16", "inclusive_scan"),
    ("float64", "exclusive_scan"),
)
QUICK = (0, 1, 33, 65, 513, 4099)


@dataclass(frozen=True)
class ScanSpec(Spec):
    """`additions(n)` is the longest chain of additions that a result goes through."""

    additions: Callable[[int], int] = field(kw_only=True)
    one_thread: bool = False
    few_lanes: bool = False  # a row: rows of every number are quick, long ones are not
    family: str = field(default="scan", init=False)

    def cases(self, target: Target) -> Iterator[Case]:
        yield from self._sizes()
        yield from self._rows(target)
        yield from self._values()
        if not target.is_gpu:
            yield from self._orders()

    def _sizes(self) -> Iterator[Case]:
        """Whole arrays. A few lanes or one are spared the longest ones, except once."""
        for dtype in self.dtypes:
            for op in OPS:
                sizes: tuple[int, ...] = SMALL_SIZES
                if (dtype, op) in LARGE_SCANS[: 1 if self.one_thread or self.few_lanes else None]:
                    sizes = SIZES
                for size in sizes:
                    yield Case(
                        *(op, dtype, (size,)),
                        axis=0,
                        invariants=size in (33, 1025, 262145),
                        quick=size in QUICK and dtype in TEACHING,
                    )
        for op in OPS:
            yield Case(op, self.dtypes[0], (), axis=-1, quick=True)
        if self.dtypes == ALL and not self.few_lanes:
            # More than 1,024 tiles of 2,048: from here on a block goes through several.
            yield Case(OPS[1], "int32", (2200001,), axis=0)

    def _rows(self, target: Target) -> Iterator[Case]:
        for shape in ROW_SHAPES:
            for op in OPS:
                for axis in (1, 0):
                    if axis == 0 and op == OPS[0] and shape[1] > 300:
                        continue  # a block for each of so many rows: once is enough
                    yield Case(
                        *(op, "int32", shape),
                        axis=axis,
                        invariants=shape == (130, 129),
                        quick=shape in ((5, 0), (33, 33), (2, 257)),
                    )
        for dtype in self.dtypes:
            for shape in ((33, 33), (4, 1025)):
                for layout in LAYOUTS:
                    yield Case("inclusive_scan", dtype, shape, axis=1, layout=layout)
                    yield Case("exclusive_scan", dtype, shape[::-1], axis=0, layout=layout)
            for size in (65, 4099):
                for layout in ("odd", "padded", "reversed"):
                    yield Case("inclusive_scan", dtype, (size,), axis=0, layout=layout)
        for along in (0, 1, 2, None):
            for op in OPS:
                yield Case(op, "int32", (3, 65, 4), axis=along)
        for shape in LONG_ROWS:
            yield Case("inclusive_scan", "int32", shape, axis=1)
        if target.is_gpu or self.one_thread or self.few_lanes:
            # A block for each row takes seconds on the CPU.
            for shape in MANY_ROWS:
                yield Case("inclusive_scan", "int32", shape, axis=1)
                yield Case("exclusive_scan", "int32", shape[::-1], axis=0)

    def _values(self) -> Iterator[Case]:
        for dtype in self.dtypes:
            for op in OPS:
                for regime in ("ones", "zeros", "ties", "least", "greatest"):
                    if is_float(dtype) and regime in ("least", "greatest"):
                        continue  # overflows or not by the order of the additions
                    quick = regime == "greatest" and dtype in TEACHING
                    yield Case(op, dtype, (1025,), regime, axis=0, quick=quick)
                yield Case(op, dtype, (4099,), "wide", axis=0)
            if not is_float(dtype):
                continue
            for op in OPS:
                for size in (65, 1025, 4099):
                    yield Case(op, dtype, (size,), "normal", axis=0, invariants=size == 1025)
                    yield Case(op, dtype, (size,), "alternating", axis=0)
                for regime in (
                    "all_nan",
                    "all_inf",
                    "all_minus_inf",
                    "signed_zeros",
                    "both_inf@70",
                ):
                    yield Case(op, dtype, (130,), regime, axis=0)
                for edge in (0, 31, 32, 63, 64, 511, 512, 1024):
                    # A NaN reaches what comes after it, and nothing before.
                    quick = edge == 63 and dtype in TEACHING
                    yield Case(op, dtype, (1025,), f"nan@{edge}", axis=0, quick=quick)
                    yield Case(op, dtype, (4099,), f"inf@{edge}", axis=0)
                yield Case(op, dtype, (5, 65), "nan@64", axis=1, invariants=True)
        for edge in EDGES:
            for op in OPS:
                yield Case(op, "int32", (1024,), f"onehot@{edge}", axis=0, quick=edge in (32, 1023))
        for dtype in [dtype for dtype in ALL if dtype not in self.dtypes][:2]:
            yield Case("inclusive_scan", dtype, (33,), axis=0, refused=True, quick=True)
        for dtype, size in (("float16", 4096), ("bfloat16", 70000), ("bool", 70000)):
            if dtype in self.dtypes:
                yield Case("inclusive_scan", dtype, (size,), "ones", axis=0, quick=size == 4096)

    def _orders(self) -> Iterator[Case]:
        """Lanes, warps and blocks in other orders: a missing barrier then shows."""
        for order in (1, 2, 3):
            for op in OPS:
                for size in (65, 1025, 4099, 513 if self.one_thread else 70001):
                    yield Case(op, "int32", (size,), axis=0, order=order, quick=size == 1025)
                for shape in ((33, 33), (65, 130), (7, 1025), (3, 9001)):
                    yield Case(op, "int32", shape, axis=1, order=order, quick=shape == (33, 33))

    def problem(self, case: Case) -> Problem:
        x = make(case.regime, case.shape, case.dtype)
        operand = Operand(x, case.dtype, case.layout)
        return Problem({"x": operand}, {"axis": case.axis}, self.answer(case, x))

    def answer(self, case: Case, x: Array) -> Answer:
        result = sum_dtype(case.dtype)
        if case.refused:
            return Answer(np.zeros(case.shape, values(result)), result)
        if not is_float(case.dtype):
            return Answer(_scan(case, x, np.dtype(result)), result)
        wide = x.astype(np.longdouble)
        with np.errstate(invalid="ignore"):
            sums = _scan(case, wide, wide.dtype)
            magnitude = _scan(case, np.abs(wide), wide.dtype)
        if case.regime.partition("@")[0] in EXACT:
            return Answer(round_to(sums, result), result)
        # Within the bound that holds for any order of the additions; see specs/reduce.py.
        terms = x.size if case.axis is None or not x.shape else x.shape[case.axis]
        chain = (self.additions(max(terms, 1)) + 1) * unit_roundoff(accumulator(case.dtype))
        bound = chain / (1 - chain) * magnitude
        if case.dtype != accumulator(case.dtype):
            bound = bound + unit_roundoff(case.dtype) * (np.abs(sums) + bound)
        sums = np.where(np.isinf(round_to(sums, result)), round_to(sums, result), sums)
        bound = bound + smallest(case.dtype)
        return Answer(sums, result, bound, f"{chain:.2g} x running sum of magnitudes")

    def invariants(self, case: Case) -> Mapping[str, Invariant]:
        checks: dict[str, Invariant] = {}
        if self.repeats(case.dtype):
            checks["not repeatable"] = repeats(3)
            checks["out= changes the result"] = same_without_out
            checks["out=x changes the result"] = same_in_place
        if case.axis == 1 and is_float(case.dtype):
            checks["rows are not independent"] = rows_independent
        return checks


def _scan(case: Case, x: Array, dtype: np.dtype[np.generic]) -> Array:
    """NumPy's cumsum, in x's shape; shifted by one place for the exclusive scan."""
    if x.ndim == 0 or case.axis is None:
        flat = x.reshape(-1)
        return _scan_axis(case.op, flat, 0, dtype).reshape(x.shape)
    return _scan_axis(case.op, x, case.axis, dtype)


def _scan_axis(op: str, x: Array, axis: int, dtype: np.dtype[np.generic]) -> Array:
    sums = np.cumsum(x, axis=axis, dtype=dtype)
    if op == "inclusive_scan" or x.shape[axis] == 0:
        return sums
    first = np.zeros_like(np.take(sums, [0], axis))
    return np.concatenate([first, np.delete(sums, -1, axis)], axis)


def _levels(n: int) -> int:
    """A block of 512 takes 18 steps at most, up and down; each level adds its offset."""
    return 19 * max(1, math.ceil(math.log(max(n, 2), 512)))


def _tiles(n: int) -> int:
    """Within a tile of 2,048, then from tile to tile: at worst each of them alone."""
    return 40 + 3 * math.ceil(n / 2048)


def _windows(n: int) -> int:
    """Within a tile, over a window of tiles, then over windows of 65,536 elements or more."""
    return 64 + math.ceil(n / 65536)


LARGE = (
    Shape("int32", (2**24,), "the default of the receipts"),
    Shape("float32", (2**24,), "the same in f32"),
    Shape("int32", (4096, 4096), "rows of two tiles"),
)
SHORT = (
    Shape("int32", (1000000, 16), "many rows of a few elements"),
    Shape("float32", (65536, 256), "rows of a few hundred"),
)

SWEEP = tuple(
    Shape(dtype, (size,), "from launch cost to streaming")
    for dtype in ("int32", "float32")
    for size in BENCHMARK_SIZES
)

SPECS = (
    ScanSpec("serial", TEACHING, additions=lambda n: n, one_thread=True),
    ScanSpec("hillis_steele", TEACHING, additions=_levels, benchmark=LARGE),
    ScanSpec("blelloch", TEACHING, additions=_levels, benchmark=LARGE),
    ScanSpec("hierarchical", TEACHING, additions=_levels, benchmark=LARGE),
    ScanSpec("lookback", ALL, additions=_windows, benchmark=SWEEP + LARGE[2:]),
    ScanSpec("pipelined", WIDE, additions=_windows, benchmark=SWEEP + LARGE[2:]),
    ScanSpec("reduce_scan", ALL, additions=_tiles, benchmark=SWEEP + LARGE[2:]),
    ScanSpec("short_rows", ALL, few_lanes=True, additions=lambda n: n + 20, benchmark=SHORT),
)
