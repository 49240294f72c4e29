"""Segments of a vector, each folded to one element.

A case's segments are "pattern.dtype": where the segments end, and the type of the offsets.
"""

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
from gpuport.testing.dtypes import (
    ALL,
    INTEGERS,
    Array,
    accumulator,
    is_float,
    round_to,
    smallest,
    sum_dtype,
    unit_roundoff,
    values,
)
from gpuport.testing.invariants import repeats
from gpuport.testing.regimes import make
from gpuport.testing.sizes import HUGE, SIZES, SMALL_SIZES

OPS = ("segmented_sum", "segmented_max", "segmented_min")
PATTERNS = (
    *("whole", "random", "each", "tiny", "skewed", "half"),
    *("empties", "all_empty", "trailing", "inside", "none"),
)
WRONG = ("negative", "decreasing", "past")
EXACT = ("uniform", "ones", "zeros", "ties")
LARGE_DTYPES = ("int32", "uint8", "float16", "float32", "float64")
QUICK = (0, 1, 33, 513, 4099)
LONG = 2**25 + 13  # from about here on a GPU folds more elements at once, a CPU from 2^14 on
LONG_PATTERNS = ("whole.int64", "random.int64", "skewed.int64", "half.int64")


@dataclass(frozen=True)
class SegmentedSpec(Spec):
    family: str = field(default="segmented", init=False)

    def cases(self, target: Target) -> Iterator[Case]:
        yield from self._sizes()
        yield from self._patterns()
        yield from self._values()
        if target.is_gpu:
            for op in OPS:
                yield Case(op, "int8", (HUGE,), "sparse", segments="sparse.int64")
            for pattern in LONG_PATTERNS:
                for dtype in ("float32", "bfloat16"):
                    if dtype in self.dtypes:
                        yield Case("segmented_sum", dtype, (LONG,), "normal", segments=pattern)
        else:
            yield from self._orders()

    def _sizes(self) -> Iterator[Case]:
        for dtype in self.dtypes:
            for op in OPS:
                for size in SIZES if dtype in LARGE_DTYPES else SMALL_SIZES:
                    yield Case(
                        *(op, dtype, (size,)),
                        segments="random.int64",
                        invariants=size in (33, 1025, 262145),
                        quick=size in QUICK and dtype in ("int32", "float32"),
                    )

        # More than a step for each warp of the largest grid: from here on it loads one ahead.
        for pattern in ("whole", "skewed", "empties", "half"):
            yield Case("segmented_sum", "int8", (2200001,), segments=f"{pattern}.int64")
        yield Case("segmented_max", "float32", (2200001,), "normal", segments="skewed.int64")
        large = ("segmented_sum", "float32", (2200001,), "normal")
        yield Case(*large, layout="odd", segments="half.int64")

    def _patterns(self) -> Iterator[Case]:
        """More segments than a grid has blocks in y or z among them: 70,001 of one element."""
        for pattern in PATTERNS:
            for op in OPS:
                for size in (1, 65, 2048, 4099, 70001):
                    quick = size == 65
                    yield Case(op, "int32", (size,), segments=f"{pattern}.int64", quick=quick)
                for size in (4099, 70001):
                    yield Case(op, "float32", (size,), "normal", segments=f"{pattern}.int64")
                yield Case(op, "bool", (130,), "wide", segments=f"{pattern}.int32")
        for dtype in INTEGERS[1:]:
            for size in (33, 120):  # every offset fits every type
                for layout in ("packed", "padded", "reversed", "odd"):
                    segments = f"random.{dtype}"
                    yield Case(
                        *("segmented_sum", "int32", (size,)), segments=segments, layout=layout
                    )
        for wrong in WRONG:
            for dtype in ("int64", "int8"):
                quick = dtype == "int64"
                segments = f"{wrong}.{dtype}"
                yield Case(
                    *("segmented_sum", "int32", (65,)), segments=segments, refused=True, quick=quick
                )

    def _values(self) -> Iterator[Case]:
        for dtype in self.dtypes:
            for op in OPS:
                for regime in ("ones", "ties", "least", "greatest"):
                    if (
                        is_float(dtype)
                        and op == "segmented_sum"
                        and regime in ("least", "greatest")
                    ):
                        continue  # overflows or not by the order of the additions
                    yield Case(op, dtype, (1025,), regime, segments="skewed.int64")
                yield Case(op, dtype, (4099,), "wide", segments="random.int64")
                for layout in ("odd", "padded", "reversed"):
                    yield Case(op, dtype, (65,), layout=layout, segments="random.int64")
                for pattern in ("whole", "half"):
                    yield Case(op, dtype, (4099,), layout="odd", segments=f"{pattern}.int64")
                if not is_float(dtype):
                    continue
                for regime in ("normal", "alternating"):
                    yield Case(
                        *(op, dtype, (4099,), regime),
                        segments="skewed.int64",
                        invariants=regime == "normal",
                    )
                for edge in (0, 31, 32, 63, 64, 1024):
                    # A NaN stays in its segment.
                    yield Case(op, dtype, (1025,), f"nan@{edge}", segments="random.int64")
                for regime in ("all_nan", "all_inf", "all_minus_inf", "both_inf@70"):
                    yield Case(op, dtype, (130,), regime, segments="empties.int64")

    def _orders(self) -> Iterator[Case]:
        """Lanes, warps and blocks in other orders: a missing barrier then shows."""
        for order in (1, 2, 3):
            for op in OPS:
                for size in (65, 4099, 70001):
                    for pattern in ("random", "skewed"):
                        quick = size == 65
                        segments = f"{pattern}.int64"
                        yield Case(
                            op, "int32", (size,), segments=segments, order=order, quick=quick
                        )

    def skip(self, case: Case, target: Target) -> str | None:
        needed = math.prod(case.shape)
        if case.regime == "sparse" and needed * 1.25 > target.memory:
            return f"needs {needed / 2**30:.1f} GiB on the device"
        return None

    def problem(self, case: Case) -> Problem:
        if case.regime == "sparse":
            return _sparse(case)
        assert case.segments is not None
        pattern, _, dtype = case.segments.partition(".")
        x = make(case.regime, case.shape, case.dtype)
        offsets = _offsets(pattern, x.size)
        operands = {
            "x": Operand(x, case.dtype, case.layout),
            "offsets": Operand(offsets.astype(dtype), dtype, case.layout),
        }
        return Problem(operands, {}, _answer(case, x, offsets), takes_out=False)

    def invariants(self, case: Case) -> Mapping[str, Invariant]:
        return {"not repeatable": repeats(3)}


def _offsets(pattern: str, n: int) -> Array:
    match pattern:
        case "whole":
            offsets = [0, n]
        case "random":
            count = n // 7 + 3
            draws = make("wide", (count,), "uint32").astype(np.int64) % (n + 1)
            return np.sort(draws)
        case "each":
            return np.arange(n + 1)
        case "tiny":
            return np.append(np.arange(0, n, 3), n)
        case "skewed":  # one takes almost everything, many have an element or none around it
            edge = min(n // 8, 200)
            return np.concatenate([np.arange(edge), np.repeat(np.arange(n - edge, n + 1), 2)])
        case "half":  # one takes half, then many have an element or none, and the last the rest
            middle, edge = n // 2, n - n // 8
            return np.concatenate([[0], np.repeat(np.arange(middle, edge), 2), [n]])
        case "empties":  # runs of empty segments between long ones
            return np.repeat(np.array([0, n // 3, n // 3 + n // 7, n]), 300)
        case "all_empty":
            return np.full(3000, n // 2)
        case "trailing":
            offsets = [0, min(1, n), min(1, n), min(6, n), min(10, n), min(10, n)]
        case "inside":  # elements before the first segment and after the last
            offsets = [n // 4, n // 3, n // 3, n // 2]
        case "none":
            offsets = [n // 2]
        case "negative":
            offsets = [-1, n]
        case "decreasing":
            offsets = [0, 9, 8, n]
        case "past":
            offsets = [0, n + 1]
        case _:
            raise ValueError(f"no segments are called {pattern!r}")
    return np.array(offsets)


def _answer(case: Case, x: Array, offsets: Array) -> Answer:
    count = offsets.size - 1
    result = sum_dtype(case.dtype) if case.op == "segmented_sum" else case.dtype
    if case.refused:
        return Answer(np.zeros(count, values(result)), result)
    if case.op != "segmented_sum":
        fold = np.maximum if case.op == "segmented_max" else np.minimum
        identity = _bounds(case.dtype)[0 if case.op == "segmented_max" else 1]
        return Answer(_fold(fold, x, offsets, np.full(count, identity, values(result))), result)
    if not is_float(case.dtype):
        wide = x.astype(result)
        return Answer(_fold(np.add, wide, offsets, np.zeros(count, result)), result)
    wide = x.astype(np.longdouble)
    with np.errstate(invalid="ignore"):
        sums = _fold(np.add, wide, offsets, np.zeros(count, wide.dtype))
        magnitude = _fold(np.add, np.abs(wide), offsets, np.zeros(count, wide.dtype))
    if case.regime.partition("@")[0] in EXACT:
        return Answer(round_to(sums, result), result)
    # Within the bound that holds for any order of the additions; see specs/reduce.py. A lane adds
    # up to 16 elements of a step, and a sum a step; trees join the lanes, the warps and the blocks.
    chain = (60 + math.ceil(x.size / 2**19)) * unit_roundoff(accumulator(case.dtype))
    bound = chain / (1 - chain) * magnitude
    if case.dtype != accumulator(case.dtype):
        bound = bound + unit_roundoff(case.dtype) * (np.abs(sums) + bound)
    sums = np.where(np.isinf(round_to(sums, result)), round_to(sums, result), sums)
    bound = bound + smallest(case.dtype)
    return Answer(sums, result, bound, f"{chain:.2g} x sum of magnitudes")


def _fold(fold: np.ufunc, x: Array, offsets: Array, empty: Array) -> Array:
    """NumPy's reduceat over the segments that hold elements; `empty` has the others' results.

    Those segments follow each other without a gap, so each one ends where the next begins.
    """
    filled = offsets[:-1] < offsets[1:]
    if filled.any():
        with np.errstate(invalid="ignore"):
            empty[filled] = fold.reduceat(x[: offsets[-1]], offsets[:-1][filled])
    return empty


def _bounds(dtype: str) -> tuple[float, float]:
    """What every element is at least, and at most."""
    if dtype == "bool":
        return False, True
    if is_float(dtype):
        return -math.inf, math.inf
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def _sparse(case: Case) -> Problem:
    """Segments on both sides of 2^31, one empty."""
    x = Sparse(case.shape, case.dtype, {2: 7, 2**31 - 1: 2, 2**31: 3, HUGE - 1: -5})
    offsets = np.array([3, 2**31, 2**31, 2**31 + 1, HUGE])
    match case.op:
        case "segmented_sum":
            answer = Answer(np.array([2, 0, 3, -5]), "int64")
        case "segmented_max":
            answer = Answer(np.array([2, -128, 3, 0], np.int8), "int8")
        case _:
            answer = Answer(np.array([0, 127, 3, -5], np.int8), "int8")
    ends = Operand(offsets, "int64")
    return Problem({"x": x, "offsets": ends}, {}, answer, takes_out=False)


SPECS = (
    SegmentedSpec(
        "merge_path",
        ALL,
        benchmark=tuple(
            Shape("float32", (size,), why, pattern=pattern)
            for size in (2**24, 2**26)
            for pattern, why in (
                ("equal.10", "few segments, longer than any cache"),
                ("equal.10000", "a block's worth each"),
                ("equal.1000000", "a warp's worth or less each"),
                ("power.10000", "lengths like 1 / rank: one takes a tenth, most are short"),
            )
        ),
    ),
)
