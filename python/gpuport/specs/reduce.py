"""Reductions: sum, max and min of every row, against exact integers or extended precision."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from gpuport.specs import sums
from gpuport.specs.workloads import FIRST_AXIS
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
from gpuport.testing.dtypes import (
    ALL,
    TEACHING,
    Array,
    accumulator,
    is_float,
    round_to,
    smallest,
    storage,
    sum_dtype,
    unit_roundoff,
)
from gpuport.testing.invariants import repeats, rows_independent, same_without_out
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

OPS = ("sum", "max", "min")
# Whole numbers whose sums stay below 2^24.
EXACT = ("uniform", "ones", "onehot", "diagonal", "ties", "below_zero", "above_zero")
QUICK = (0, 1, 33, 65, 513, 4099)


@dataclass(frozen=True)
class ReduceSpec(Spec):
    """`additions(n)` is the longest chain of additions that an element goes through."""

    additions: Callable[[int], int] = field(kw_only=True)
    one_thread: bool = False
    family: str = field(default="reduce", init=False)

    def cases(self, target: Target) -> Iterator[Case]:
        yield from self._sizes()
        yield from self._rows()
        yield from self._many_rows(target)
        yield from self._values()
        yield from self._edges()
        if target.is_gpu:
            yield from self._huge()
        else:
            yield from self._orders()

    def _sizes(self) -> Iterator[Case]:
        """Whole arrays. A single thread is spared the longest ones, except once."""
        for dtype in self.dtypes:
            for op in OPS:
                sizes: tuple[int, ...] = SIZES
                if self.one_thread and (dtype, op) != ("int32", "sum"):
                    sizes = SMALL_SIZES
                for size in sizes:
                    yield Case(
                        *(op, dtype, (size,)),
                        refused=size == 0 and op != "sum",  # no identity to return, as in NumPy
                        invariants=size in (33, 1025, 262145),
                        quick=size in QUICK,
                    )
        for op in OPS:
            yield Case(op, self.dtypes[0], (), quick=True)

    def _rows(self) -> Iterator[Case]:
        for shape in ROW_SHAPES:
            for op in OPS:
                for axis in (1, 0):
                    empty = op != "sum" and shape[axis] == 0 and shape[1 - axis] != 0
                    if op != "sum" and shape == (0, 0):
                        continue  # NumPy refuses it, an empty result would be right too
                    yield Case(
                        *(op, "int32", shape),
                        axis=axis,
                        refused=empty,
                        invariants=shape == (130, 129),
                        quick=shape in ((5, 0), (33, 33), (2, 257)),
                    )
        for dtype in self.dtypes:
            for shape in ((33, 33), (4, 1025)):
                for layout in LAYOUTS:
                    yield Case("sum", dtype, shape, axis=1, layout=layout)
                    yield Case("max", dtype, shape, axis=0, layout=layout)
            for size in (65, 1025):
                for layout in ("odd", "padded", "reversed"):
                    yield Case("sum", dtype, (size,), layout=layout, quick=size == 65)
        for axis in (0, 1, 2):
            yield Case("sum", "int32", (3, 65, 4), axis=axis)
        for dtype in self.dtypes:
            for shape in FEW_SHAPES:
                yield Case("sum", dtype, shape, axis=0)
                yield Case("max", dtype, shape, axis=0)
            for shape in COLUMN_SHAPES if not self.one_thread else COLUMN_SHAPES[:2]:
                if shape[0] > 4099 and dtype not in ("int32", "float32"):
                    continue
                yield Case("sum", dtype, shape, axis=0, quick=shape == (70, 33))
                yield Case("min", dtype, shape, axis=0, invariants=shape == (4099, 33))
            if is_float(dtype):
                yield Case("sum", dtype, (1023, 65), "normal", axis=0)

    def _many_rows(self, target: Target) -> Iterator[Case]:
        """The CPU is spared most of them: a block for each row takes seconds there."""
        for shape in LONG_ROWS:
            yield Case("sum", "int32", shape, axis=1)
        if self.variant == "single_pass":
            for loads in LONG_LOADS:
                for op, dtype in (("sum", "int32"), ("sum", "float32"), ("min", "float32")):
                    yield Case(op, dtype, loads, axis=len(loads) - 1)
        if target.is_gpu or target.warp_size == 32:
            yield Case("sum", "int32", MANY_ROWS[0], axis=1)
        if target.is_gpu:
            for shape in MANY_ROWS:
                yield Case("max", "int32", shape, axis=1)
                yield Case("sum", "int32", shape[::-1], axis=0)

    def _values(self) -> Iterator[Case]:
        for dtype in self.dtypes:
            for op in OPS:
                for regime in ("ties", "ones", "below_zero", "above_zero", "least", "greatest"):
                    if regime == "below_zero" and not _is_signed(dtype):
                        continue
                    if op == "sum" and is_float(dtype) and regime in ("least", "greatest"):
                        continue  # overflows or not by the order of the additions
                    yield Case(op, dtype, (1025,), regime, quick=regime == "below_zero")
                yield Case(op, dtype, (4099,), "wide")
            if _is_signed(dtype):
                yield Case("max", dtype, (33, 65), "below_zero", axis=1, quick=True)
                yield Case("min", dtype, (33, 65), "above_zero", axis=1)
            if not is_float(dtype):
                continue
            for op in OPS:
                for size in (65, 1025, 4099):
                    yield Case(op, dtype, (size,), "normal", invariants=size == 1025)
                    yield Case(op, dtype, (size,), "alternating")
                for regime in ("all_nan", "all_inf", "all_minus_inf", "signed_zeros"):
                    yield Case(op, dtype, (130,), regime)
                for regime in ("inf@64", "minus_inf@32", "both_inf@70"):
                    yield Case(op, dtype, (130,), regime)
        for dtype in [dtype for dtype in ALL if dtype not in self.dtypes][:2]:
            yield Case("sum", dtype, (33,), refused=True, quick=True)
        for dtype, size in (("float16", 4096), ("bfloat16", 70000)):
            if dtype in self.dtypes:
                yield Case("sum", dtype, (size,), "ones", quick=True)

    def _edges(self) -> Iterator[Case]:
        """The one element that decides, at the edges of warps and blocks."""
        for edge in EDGES:
            yield Case("sum", "int32", (1024,), f"onehot@{edge}", quick=edge in (16, 32, 1023))
            yield Case("max", "float32", (1024,), f"onehot@{edge}")
        for op in ("sum", "max"):
            for axis in (1, 0):
                yield Case(op, "int32", (1024, 1024), "diagonal", axis=axis)
        for dtype in filter(is_float, self.dtypes):
            for op in OPS:
                for edge in (0, 31, 32, 63, 64, 1024):
                    yield Case(op, dtype, (1025,), f"nan@{edge}", quick=op == "max" and edge == 63)
                yield Case(op, dtype, (5, 65), "nan@64", axis=1, invariants=True)

    def _orders(self) -> Iterator[Case]:
        """Lanes, warps and blocks in other orders: a missing barrier then shows."""
        for order in (1, 2, 3):
            for size in (65, 1025, 4099, 262145 if not self.one_thread else 513):
                yield Case("sum", "int32", (size,), order=order, quick=size <= 1025)
            for shape in LONG_ROWS:
                yield Case("sum", "int32", shape, axis=1, order=order)
            for shape in ((33, 33), (130, 129), (7, 1025)):
                yield Case("sum", "int32", shape, axis=1, order=order)
                yield Case("max", "float32", shape, "normal", axis=0, order=order)
            if not self.one_thread:
                for shape in COLUMN_SHAPES[1:]:
                    yield Case("sum", "float32", shape, axis=0, order=order)

    def _huge(self) -> Iterator[Case]:
        if not self.one_thread:
            dtype = "int8" if "int8" in self.dtypes else "float32"
            yield Case("max", dtype, (HUGE,), "sparse")
            yield Case("sum", dtype, (HUGE,), "sparse")

    def skip(self, case: Case, target: Target) -> str | None:
        needed = math.prod(case.shape) * storage(case.dtype).itemsize
        if case.regime == "sparse" and needed * 1.25 > target.memory:
            return f"needs {needed / 2**30:.1f} GiB on the device"
        return None

    def problem(self, case: Case) -> Problem:
        if case.regime == "sparse":
            return _sparse(case)
        x = make(case.regime, case.shape, case.dtype)
        options = {} if case.axis is None else {"axis": case.axis}
        operand = Operand(x, case.dtype, case.layout)
        return Problem({"x": operand}, options, self.answer(case, x))

    def answer(self, case: Case, x: Array) -> Answer:
        if case.refused:
            shape = () if case.axis is None else np.delete(case.shape, case.axis)
            return Answer(np.zeros(tuple(shape), case.dtype), case.dtype)
        if case.op != "sum":
            with np.errstate(invalid="ignore"):
                return Answer(np.asarray(getattr(np, case.op)(x, axis=case.axis)), case.dtype)
        result = sum_dtype(case.dtype)
        if not is_float(case.dtype):
            return Answer(np.asarray(np.sum(x, axis=case.axis, dtype=result)), result)
        return self._float_sum(case, x)

    def _float_sum(self, case: Case, x: Array) -> Answer:
        """Within the bound that holds for any order of the additions.

        With h the longest chain of them it is h u / (1 - h u) times the sum of magnitudes (Higham,
        "Accuracy and Stability of Numerical Algorithms", 4.2). A narrower result is rounded again.
        """
        wide = x.astype(np.longdouble)
        with np.errstate(invalid="ignore"):
            total = np.asarray(np.sum(wide, axis=case.axis))
            magnitude = np.asarray(np.sum(np.abs(wide), axis=case.axis))
        terms = x.size if case.axis is None else x.shape[case.axis]
        if case.regime.partition("@")[0] in EXACT:
            # Whole numbers below 2^24: every order of additions is exact, and the result is
            # rounded once.
            return Answer(round_to(total, case.dtype), case.dtype)
        # One addition more for the reference's own rounding, where extended precision is no more
        # than double.
        chain = (self.additions(max(terms, 1)) + 1) * unit_roundoff(accumulator(case.dtype))
        bound = chain / (1 - chain) * magnitude
        if case.dtype != accumulator(case.dtype):
            bound = bound + unit_roundoff(case.dtype) * (np.abs(total) + bound)
        total = np.where(np.isinf(round_to(total, case.dtype)), round_to(total, case.dtype), total)
        bound = bound + smallest(case.dtype)
        return Answer(total, case.dtype, bound, f"{chain:.2g} x sum of magnitudes")

    def invariants(self, case: Case) -> Mapping[str, Invariant]:
        checks: dict[str, Invariant] = {}
        if self.repeats(case.dtype):
            checks["not repeatable"] = repeats(3)
            checks["out= changes the result"] = same_without_out
        if case.axis == 1 and is_float(case.dtype):
            checks["rows are not independent"] = rows_independent
        return checks


def _is_signed(dtype: str) -> bool:
    return dtype != "bool" and not dtype.startswith("uint")


def _sparse(case: Case) -> Problem:
    (size,) = case.shape
    elements = {0: 1, 2**31 - 1: 2, 2**31: 3, size - 1: 5}
    value = sum(elements.values()) if case.op == "sum" else max(elements.values())
    result = sum_dtype(case.dtype) if case.op == "sum" else case.dtype
    return Problem(
        {"x": Sparse(case.shape, case.dtype, elements)}, {}, Answer(np.array(value, result), result)
    )


def _tree(n: int) -> int:
    return math.ceil(math.log2(max(n, 2)))


def _block(n: int) -> int:
    """256 threads a row: each adds its share in turn, a tree joins them."""
    return math.ceil(n / 256) + 9


def _warp_or_blocks(n: int) -> int:
    """Two packs or a part of 32 by a lane of a short row, blocks of a long one; some twice."""
    return math.ceil(n / (32 if n <= 1024 else 256)) + 24


LARGE = (
    Shape("int32", (2**24,), "the default of the receipts"),
    Shape("float32", (2**24,), "the same in f32"),
    Shape("float32", (4096, 4096), "rows of several tiles"),
)

SWEEP = tuple(
    Shape(dtype, (size,), "from launch cost to streaming")
    for dtype in ("int32", "float32")
    for size in BENCHMARK_SIZES
)

FIRST = tuple(
    Shape(dtype, shape, why, pattern=FIRST_AXIS)
    for dtype in ("float32", "bfloat16")
    for shape, why in (
        ((8192, 4096), "the gradient of a bias"),
        ((65536, 1024), "the same of a long batch"),
        ((2, 2**24), "two arrays added"),
    )
)

SPECS = (
    ReduceSpec("serial", TEACHING, additions=lambda n: n - 1, one_thread=True),
    ReduceSpec("shared_tree", TEACHING, additions=_block, benchmark=LARGE),
    ReduceSpec("warp_shuffle", TEACHING, additions=_block, benchmark=LARGE),
    ReduceSpec("hierarchical", TEACHING, additions=lambda n: _tree(n) + 8, benchmark=LARGE),
    ReduceSpec("single_pass", ALL, additions=_warp_or_blocks, benchmark=SWEEP + LARGE[2:] + FIRST),
    ReduceSpec(
        "atomic",
        TEACHING,
        deterministic=False,
        repeatable=("int32",),
        additions=lambda n: 100 + math.ceil(n / 16384),
        benchmark=LARGE,
    ),
    *sums.SPECS,
)
