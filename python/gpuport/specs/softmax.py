"""Softmax, its logarithm, and the logarithm of its denominator, along rows, masked or not.

The rules at the edges, the same on every backend: a masked element takes no part and its
probability is exactly 0; a row with nothing unmasked gives zeros (-inf for the logarithms); an
unmasked row of only -inf, or with a NaN or +inf among its elements, gives NaN, except that its
logsumexp is -inf or +inf where there is no NaN.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from gpuport.specs import softmax_state
from gpuport.specs.workloads import FIRST_AXIS
from gpuport.testing.case import (
    Answer,
    Case,
    Invariant,
    Operand,
    Problem,
    Shape,
    Spec,
    Target,
)
from gpuport.testing.dtypes import (
    FLOATS,
    Array,
    accumulator,
    round_to,
    smallest,
    unit_roundoff,
)
from gpuport.testing.invariants import (
    repeats,
    rows_independent,
    rows_sum_to_one,
    same_without_out,
    shift_changes_nothing,
)
from gpuport.testing.memory import LAYOUTS
from gpuport.testing.regimes import make
from gpuport.testing.sizes import (
    COLUMN_SHAPES,
    FEW_SHAPES,
    LONG_ROWS,
    MANY_ROWS,
    ROW_SHAPES,
    SIZES,
    SMALL_SIZES,
)

OPS = ("softmax", "log_softmax", "logsumexp")
MASKS = ("random", "alternating", "row", "all", "last", "columns")
QUICK = (1, 33, 65, 513, 4099)


@dataclass(frozen=True)
class SoftmaxSpec(Spec):
    """`merges(n)` is the longest chain of merged (max, sum) pairs, or of additions, in a row.

    `base_2`: exp(t) is 2^(t log2 e) in float32, as the GPU's own instruction computes it.
    """

    merges: Callable[[int], int] = field(kw_only=True)
    one_thread: bool = False
    base_2: bool = False
    limits: Mapping[str, int] = field(default_factory=dict)  # columns at most, by dtype
    family: str = field(default="softmax", init=False)

    def cases(self, target: Target) -> Iterator[Case]:
        """What fits, and of what does not the one-dimensional cases, which must be refused."""
        for case in self._all_cases(target):
            cols = case.shape[case.axis or 0]
            if cols <= self.limits.get(case.dtype, cols):
                yield case
            elif len(case.shape) == 1:
                yield replace(case, refused=True, invariants=False)

    def _all_cases(self, target: Target) -> Iterator[Case]:
        for dtype, most in self.limits.items():
            for size in (most, most + 1):
                yield Case("softmax", dtype, (size,), "normal", axis=0, quick=True)
        yield from self._sizes()
        yield from self._rows()
        yield from self._many_rows(target)
        yield from self._values()
        yield from self._masks()
        if not target.is_gpu:
            yield from self._orders()

    def _sizes(self) -> Iterator[Case]:
        for dtype in self.dtypes:
            for op in OPS:
                long = not self.one_thread and (dtype, op) != ("float64", "log_softmax")
                for size in SIZES if long else SMALL_SIZES:
                    yield Case(
                        *(op, dtype, (size,), "normal"),
                        axis=0,
                        invariants=size in (33, 1025),
                        quick=size in QUICK,
                    )

    def _rows(self) -> Iterator[Case]:
        for shape in ROW_SHAPES:
            for op in OPS:
                quick = shape in ((33, 33), (2, 257))
                yield Case(op, "float32", shape, "normal", axis=1, quick=quick)
            yield Case("softmax", "float32", shape, "normal", axis=0)
        for dtype in self.dtypes:
            for shape in ((33, 33), (9, 64), (4, 1025)):
                for layout in LAYOUTS:
                    yield Case("softmax", dtype, shape, "normal", axis=1, layout=layout)
                    yield Case("log_softmax", dtype, shape, "normal", axis=0, layout=layout)
        for axis in (0, 1, 2):
            yield Case("softmax", "float32", (3, 65, 4), "normal", axis=axis)
        for shape in (*FEW_SHAPES, *COLUMN_SHAPES[: 2 if self.one_thread else 4]):
            for dtype in self.dtypes if shape[0] <= 4099 else ("float32",):
                quick = shape == (70, 33)
                yield Case("softmax", dtype, shape, "normal", axis=0, quick=quick)
                yield Case("logsumexp", dtype, shape, "spread", axis=0)
                yield Case("log_softmax", dtype, shape, "normal", axis=0, mask="random")
            for regime in ("nan@100", "inf@100", "minus_inf@100", "all_minus_inf", "all_inf"):
                yield Case("softmax", "float32", shape, regime, axis=0)
                yield Case("logsumexp", "float32", shape, regime, axis=0, mask="random")

    def _many_rows(self, target: Target) -> Iterator[Case]:
        """The CPU is spared most of them: a block for each row takes seconds there."""
        for shape in LONG_ROWS:
            yield Case("softmax", "float32", shape, "normal", axis=1)
        if target.is_gpu or target.warp_size == 32:
            yield Case("softmax", "float32", MANY_ROWS[0], "normal", axis=1)
        if target.is_gpu:
            for shape in MANY_ROWS:
                yield Case("logsumexp", "float32", shape, "normal", axis=1)
                yield Case("softmax", "float32", shape[::-1], "normal", axis=0)

    def _values(self) -> Iterator[Case]:
        regimes = (
            *("spread", "steps", "ramp", "ones", "ties"),
            *("far_below", "near_1e7", "near_1e38", "extremes"),
            *("all_minus_inf", "all_inf", "all_nan", "least", "greatest"),
        )
        edges = (0, 31, 32, 63, 64, 128)
        for dtype in self.dtypes:
            for op in OPS:
                for regime in regimes:
                    yield Case(
                        *(op, dtype, (5, 129), regime),
                        axis=1,
                        invariants=regime in ("steps", "spread"),
                        quick=regime in ("spread", "far_below", "near_1e7"),
                    )
                for edge in edges:
                    for regime in ("nan", "inf", "minus_inf"):
                        yield Case(
                            *(op, dtype, (3, 129), f"{regime}@{129 + edge}"),
                            axis=1,
                            invariants=regime == "nan" and edge == 63,
                            quick=regime == "nan" and edge == 63,
                        )
                yield Case(op, dtype, (2, 512), "ones", axis=1)
            yield Case("softmax", dtype, (257, 257), "diagonal", axis=1)

    def _masks(self) -> Iterator[Case]:
        for dtype in self.dtypes:
            for op in OPS:
                for mask in MASKS:
                    for shape in ((5, 33), (4, 129), (3, 1025)):
                        quick = shape == (4, 129) and mask in ("row", "random")
                        yield Case(op, dtype, shape, "normal", axis=1, mask=mask, quick=quick)
                for regime in ("nan@30", "inf@30", "minus_inf@30"):
                    yield Case(op, dtype, (3, 65), regime, axis=1, mask="hole", quick=True)
                yield Case(op, dtype, (3, 65), "all_minus_inf", axis=1, mask="random")
                yield Case(op, dtype, (4, 65), "normal", axis=0, mask="random")
                yield Case(op, dtype, (4, 65), "normal", axis=1, mask="random", layout="odd")

    def _orders(self) -> Iterator[Case]:
        """Lanes, warps and blocks in other orders: a missing barrier then shows."""
        for order in (1, 2, 3):
            for shape in ((33, 33), (130, 129), (7, 1025), (2, 4099)):
                for op in OPS:
                    quick = shape == (7, 1025)
                    yield Case(op, "float32", shape, "normal", axis=1, order=order, quick=quick)
            if not self.one_thread:
                for shape in COLUMN_SHAPES[1:]:
                    yield Case("softmax", "float32", shape, "normal", axis=0, order=order)

    def problem(self, case: Case) -> Problem:
        x = make(case.regime, case.shape, case.dtype)
        operands = {"x": Operand(x, case.dtype, case.layout)}
        mask = _mask(case, x)
        if mask is not None:
            operands["mask"] = Operand(mask, "bool", case.layout)
        answer = self.answer(case, x, mask)
        return Problem(operands, {"axis": case.axis}, answer, takes_out=case.op != "logsumexp")

    def answer(self, case: Case, x: Array, mask: Array | None) -> Answer:
        """The definition in extended precision, and the distance that rounding allows.

        With t = x - m: the subtraction rounds t, so exp(t) is off by |t| u; exp itself by 4 u;
        each merge rescales the sum by another exp (6 u in all); the sum's own terms are off by the
        mean of their t, at most ln n. In base 2 the product with log2 e rounds t once more, and
        log2 e itself is off by a quarter of a unit; a bfloat16 below 2^-126 may come out 0.
        """
        axis = case.axis
        assert axis is not None
        taking_part = np.ones(x.shape, bool) if mask is None else np.broadcast_to(mask, x.shape)
        wide = np.where(taking_part, x, -math.inf).astype(np.longdouble)
        with np.errstate(all="ignore"):
            top = np.max(wide, axis=axis, keepdims=True, initial=-math.inf)
            distance = wide - top
            terms = np.exp(distance)
            total = np.sum(terms, axis=axis, keepdims=True)
            log_total = np.log(total)
            empty = ~np.any(taking_part, axis=axis, keepdims=True)

            unit = unit_roundoff(accumulator(case.dtype))
            columns = max(x.shape[axis], 1)
            in_sum = (4 + 6 * self.merges(columns) + 2 * math.log(columns)) * unit
            base_2 = self.base_2 and accumulator(case.dtype) == "float32"
            in_exponent = np.nan_to_num(np.abs(distance), posinf=0, nan=0) * unit
            if base_2:
                in_exponent = 2.25 * in_exponent
            in_log = in_sum + 4 * unit * np.nan_to_num(np.abs(log_total), posinf=0, nan=0)

            if case.op == "softmax":
                values = np.where(taking_part, np.where(empty, 0, terms / total), 0)
                bound = values * (in_exponent + in_sum + 8 * unit)
                bound = bound + 4 * smallest(accumulator(case.dtype))
            elif case.op == "log_softmax":
                values = np.where(taking_part, distance - log_total, -math.inf)
                bound = in_exponent + in_log + unit * np.abs(values)
            else:
                finite_top = np.where(np.isfinite(top), top, 0)
                sums = np.sum(np.exp(wide - finite_top), axis=axis, keepdims=True)
                values = finite_top + np.log(sums)
                bound = (in_log + unit * np.abs(values)).squeeze(axis)
                values = values.squeeze(axis)
            if case.dtype != accumulator(case.dtype):
                bound = bound + unit_roundoff(case.dtype) * (np.abs(values) + bound)
            bound = bound + smallest(case.dtype)
            if base_2 and case.dtype == "bfloat16":
                bound = bound + 2.0**-126
            rounded = round_to(values, case.dtype)
            values = np.where(np.isinf(rounded), rounded, values)
        return Answer(values, case.dtype, bound, "rounding of exp, of each merge and of the result")

    def invariants(self, case: Case) -> Mapping[str, Invariant]:
        checks: dict[str, Invariant] = {}
        if self.repeats(case.dtype):
            checks["not repeatable"] = repeats(3)
            checks["out= changes the result"] = same_without_out
        finite = case.regime in ("normal", "spread", "steps")
        if case.op == "softmax" and case.mask is None and finite:
            checks["rows do not sum to 1"] = rows_sum_to_one
        exact_shift = case.regime == "steps" and case.dtype in ("float32", "float64")
        if exact_shift and case.op != "logsumexp":
            checks["a shift changes the result"] = shift_changes_nothing
        if case.axis == 1 and len(case.shape) == 2:
            checks["rows are not independent"] = rows_independent
        return checks


def _mask(case: Case, x: Array) -> Array | None:
    if case.mask is None:
        return None
    mask = np.ones(x.shape, bool)
    match case.mask:
        case "random":
            mask = make("uniform", x.shape, "bool")
        case "alternating":
            mask[..., ::2] = False
        case "row":
            mask[1] = False
        case "all":
            mask[...] = False
        case "last":
            mask[..., :-1] = False
        case "columns":  # one mask for every row
            return make("uniform", x.shape[-1:], "bool")
        case "hole":
            mask = np.isfinite(x)
        case _:
            raise ValueError(f"no mask is called {case.mask!r}")
    return mask


def _block(n: int) -> int:
    """256 threads a row: each merges its share in turn, a tree joins them."""
    return math.ceil(n / 256) + 9


_ROWS = (
    ((131072, 32), "rows of one warp"),
    ((65536, 128), "attention over a short window"),
    ((32768, 256), "the same, longer"),
    ((16384, 1000), "rows of a classifier, not a power of two"),
    ((16384, 1024), "the same, a power of two"),
    ((8192, 2048), "the last that a warp can hold"),
    ((4096, 4096), "the labs' case"),
    ((8192, 8192), "rows of a block"),
    ((4096, 16384), "rows that fill a block's registers"),
    ((2048, 32768), "vocabularies"),
    ((1024, 65536), "past what one block holds in registers"),
    ((512, 131072), "past what one block holds at all"),
    ((128, 262144), "fewer rows than multiprocessors"),
)
_FEW_ROWS = (
    ((16, 262145), "not a multiple of anything"),
    ((1, 2**24), "one row over the whole device"),
    ((32, 1000003), "a prime: rows are not 16-byte aligned"),
)
SHORT = tuple(
    Shape(dtype, shape, why) for dtype in ("float32", "bfloat16") for shape, why in _ROWS[:6]
)
MEDIUM = tuple(
    Shape(dtype, shape, why) for dtype in ("float32", "bfloat16") for shape, why in _ROWS[6:9]
)
LONG = (
    *(Shape(dtype, shape, why) for dtype in ("float32", "bfloat16") for shape, why in _ROWS[9:]),
    *(Shape("float32", shape, why) for shape, why in _FEW_ROWS),
)
LABS = (
    Shape("float32", (4096, 1024), "the case of the ladder"),
    Shape("float32", (4096, 4096), "the labs' case"),
)
EVERY = (
    *(Shape(dtype, shape, why) for dtype in ("float32", "bfloat16") for shape, why in _ROWS),
    *(Shape("float32", shape, why) for shape, why in _FEW_ROWS),
)

FIRST = tuple(
    Shape(dtype, shape, why, pattern=FIRST_AXIS)
    for dtype in ("float32", "bfloat16")
    for shape, why in (
        ((4096, 4096), "the labs' case"),
        ((21, 2**20), "classes of pixels"),
        ((3, 2**22), "colours"),
    )
)

SPECS = (
    SoftmaxSpec(
        "serial",
        ("float32", "float64"),
        merges=lambda n: n,
        one_thread=True,
        benchmark=LABS[:1],
    ),
    SoftmaxSpec("three_pass", ("float32", "float64"), merges=_block, benchmark=LABS),
    SoftmaxSpec("online_shuffle", FLOATS, merges=_block, benchmark=EVERY),
    SoftmaxSpec(
        "online_serial",
        ("float32", "float64"),
        merges=lambda n: n,
        one_thread=True,
        benchmark=LABS,
    ),
    SoftmaxSpec("online_vec4", ("float32", "float64"), merges=_block, benchmark=LABS),
    SoftmaxSpec(
        "online_registers",
        FLOATS,
        merges=_block,
        base_2=True,
        benchmark=LABS[:1] + MEDIUM,
        limits={"float16": 65536, "bfloat16": 65536, "float32": 32768, "float64": 8192},
    ),
    SoftmaxSpec(
        "online_row_cache",
        ("float32", "float64"),
        merges=_block,
        benchmark=LABS,
        limits={"float32": 8192, "float64": 4096},
    ),
    SoftmaxSpec("grid_stride", ("float32", "float64"), merges=_block, benchmark=LABS),
    SoftmaxSpec("split_row", FLOATS, merges=_block, base_2=True, benchmark=LONG),
    SoftmaxSpec(
        "warp_row",
        FLOATS,
        merges=lambda n: math.ceil(n / 32) + 6,
        base_2=True,
        benchmark=SHORT,
    ),
    SoftmaxSpec(
        "columns",
        FLOATS,
        merges=lambda n: math.ceil(n / 128) + 40,
        base_2=True,
        benchmark=FIRST,
    ),
    *softmax_state.SPECS,
)
