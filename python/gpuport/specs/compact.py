"""The kept elements in order, and the indices of the elements that are not zero.

A case's mask is "pattern.dtype": what is kept, and the type of the array that says so. With
the mask "itself" the elements are the flags: one array is both arguments.
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
from gpuport.testing.dtypes import ALL, INTEGERS, WIDE, Array, storage
from gpuport.testing.invariants import repeats
from gpuport.testing.memory import LAYOUTS
from gpuport.testing.regimes import make
from gpuport.testing.sizes import BENCHMARK_SIZES, EDGES, HUGE, SIZES, SMALL_SIZES

PATTERNS = ("random", "rare", "all", "none", "alternating", "first", "last", "top")
# One for each size of an element.
SIZE_DTYPES = ("int8", "float16", "int32", "float64")
BYTES = ("bool", "int8", "uint8")
QUICK = (0, 1, 33, 65, 513, 4099)
SHAPES = ((0, 5), (5, 0), (33, 33), (3, 65, 4), (2, 4099))


@dataclass(frozen=True)
class CompactSpec(Spec):
    """`one_launch`: compacts by flags of one byte or the elements' own, and knows nothing else."""

    one_launch: bool = field(default=False, kw_only=True)
    family: str = field(default="compact", init=False)

    def cases(self, target: Target) -> Iterator[Case]:
        for case in self._cases(target):
            flags = (case.mask or "").rpartition(".")[2]
            taken = flags in (*BYTES, "itself") and case.dtype in self.dtypes
            if taken or not self.one_launch:
                yield case

    def _cases(self, target: Target) -> Iterator[Case]:
        yield from self._sizes()
        yield from self._masks()
        yield from self._own_flags()
        yield from self._shapes()
        if target.is_gpu:
            yield Case("compact", "int8", (HUGE,), "sparse", mask="sparse.bool")
            yield Case("compact", "int32", (HUGE,), "sparse", mask="itself")
            yield Case("nonzero", "int8", (HUGE,), "sparse")
        else:
            yield from self._orders()

    def _sizes(self) -> Iterator[Case]:
        for dtype in self.dtypes:
            for size in SIZES if dtype in SIZE_DTYPES else SMALL_SIZES:
                yield Case(
                    *("compact", dtype, (size,), "wide"),
                    mask="random.bool",
                    invariants=size in (33, 1025, 262145),
                    quick=size in QUICK and dtype in SIZE_DTYPES,
                )
        for dtype in INTEGERS:
            for size in SIZES if dtype in SIZE_DTYPES else SMALL_SIZES:
                yield Case("nonzero", dtype, (size,), quick=size in QUICK and dtype == "int8")

        # More than 4,096 tiles of 2,048: from here on a block goes through several.
        yield Case("compact", "int8", (4096 * 2048 + 2049,), mask="random.bool")

    def _masks(self) -> Iterator[Case]:
        for pattern in PATTERNS:
            for keep in INTEGERS:
                for size in (65, 1025, 4099):
                    quick = size == 1025 and keep in ("bool", "int32")
                    mask = f"{pattern}.{keep}"
                    yield Case("compact", "int32", (size,), "wide", mask=mask, quick=quick)
            yield Case("compact", "float32", (70001,), "wide", mask=f"{pattern}.bool")
        for dtype in INTEGERS:
            for regime in ("zeros", "ones", "wide", "least"):
                yield Case("nonzero", dtype, (1025,), regime)
        for edge in EDGES:
            yield Case("nonzero", "bool", (1024,), f"onehot@{edge}")

    def _own_flags(self) -> Iterator[Case]:
        for dtype in INTEGERS:
            for size in SIZES if dtype in ("int32", "uint64") else (1025,):
                yield Case(
                    *("compact", dtype, (size,)),
                    mask="itself",
                    invariants=size in (1025, 262145),
                    quick=size in QUICK and dtype in ("int32", "uint64"),
                )
        for dtype in ("int32", "int64"):
            for regime in ("zeros", "ones", "least", "onehot@0", "onehot@511", "onehot@1023"):
                yield Case("compact", dtype, (1024,), regime, mask="itself")
            for layout in LAYOUTS:
                for extents in ((4099,), (33, 33)):
                    yield Case("compact", dtype, extents, mask="itself", layout=layout)

    def _shapes(self) -> Iterator[Case]:
        """Flattened as NumPy does it, whatever the layout."""
        yield Case("compact", "int32", (), "ones", mask="all.bool", quick=True)
        yield Case("compact", "int32", (), "ones", mask="none.bool")
        yield Case("nonzero", "int32", (), "ones")
        for shape in SHAPES:
            yield Case("compact", "int32", shape, "wide", mask="random.bool", quick=True)
            yield Case("nonzero", "int32", shape)
        for dtype in SIZE_DTYPES:
            for layout in LAYOUTS:
                for extents in ((65,), (33, 33), (4, 1025)):
                    for mask in ("random.bool", "random.int16"):
                        yield Case("compact", dtype, extents, "wide", mask=mask, layout=layout)
        for layout in LAYOUTS:
            yield Case("nonzero", "int16", (33, 33), layout=layout)

    def _orders(self) -> Iterator[Case]:
        """Lanes, warps and blocks in other orders: the order of what is kept must not follow."""
        for order in (1, 2, 3):
            for size in (65, 1025, 4099, 262145):
                quick = size == 1025
                mask = "random.bool"
                yield Case("compact", "int32", (size,), "wide", mask=mask, order=order, quick=quick)
                yield Case("compact", "int32", (size,), mask="itself", order=order, quick=quick)
                yield Case("nonzero", "int32", (size,), order=order)

    def skip(self, case: Case, target: Target) -> str | None:
        needed = 2 * math.prod(case.shape) * storage(case.dtype).itemsize
        if case.regime == "sparse" and needed * 1.25 > target.memory:
            return f"needs {needed / 2**30:.1f} GiB on the device"
        return None

    def problem(self, case: Case) -> Problem:
        if case.regime == "sparse":
            return _sparse(case)
        x = make(case.regime, case.shape, case.dtype)
        operands = {"x": Operand(x, case.dtype, case.layout)}
        if case.op == "nonzero":
            answer = Answer(np.flatnonzero(x), "int64")
            return Problem(operands, {}, answer, takes_out=False)
        if case.mask == "itself":
            operands["keep"] = operands["x"]
            answer = Answer(np.asarray(x)[x != 0], case.dtype)
            return Problem(operands, {}, answer, takes_out=False)
        assert case.mask is not None
        pattern, _, dtype = case.mask.partition(".")
        keep = _keep(pattern, case.shape, dtype)
        operands["keep"] = Operand(keep, dtype, case.layout)
        answer = Answer(np.asarray(x)[keep != 0], case.dtype)
        return Problem(operands, {}, answer, takes_out=False)

    def invariants(self, case: Case) -> Mapping[str, Invariant]:
        return {"not repeatable": repeats(3)}


def _keep(pattern: str, shape: tuple[int, ...], dtype: str) -> Array:
    """An array of that type, not zero where an element is kept."""
    size = math.prod(shape)
    at = np.arange(size)
    match pattern:
        case "random":
            kept = make("wide", (size,), "uint8") < 77
        case "rare":
            kept = make("wide", (size,), "uint16") < 600
        case "all" | "top":
            kept = np.ones(size, bool)
        case "none":
            kept = np.zeros(size, bool)
        case "alternating":
            kept = at % 2 == 1
        case "first":
            kept = at == 0
        case "last":
            kept = at == size - 1
        case _:
            raise ValueError(f"no mask is called {pattern!r}")
    if pattern == "top" and dtype != "bool":
        # Only the highest bit: lost where a flag is read as fewer bits than it has.
        high = np.array(1, np.dtype(dtype).str.replace("i", "u")) << (
            np.dtype(dtype).itemsize * 8 - 1
        )
        flags = np.where(kept, high, 0).astype(high.dtype).view(dtype)
    elif dtype == "bool":
        flags = kept
    else:
        nonzero = make("wide", (size,), dtype)
        nonzero[nonzero == 0] = 1
        flags = np.where(kept, nonzero, 0).astype(dtype)
    return flags.reshape(shape)


def _sparse(case: Case) -> Problem:
    """Elements on both sides of 2^31, of which some are kept."""
    where = (3, 2**31 - 1, 2**31, 2**31 + 5, HUGE - 1)
    x = Sparse(case.shape, case.dtype, {at: value for value, at in enumerate(where, 1)})
    if case.op == "nonzero":
        return Problem({"x": x}, {}, Answer(np.array(where), "int64"), takes_out=False)
    if case.mask == "itself":
        answer = Answer(np.arange(1, 6).astype(case.dtype), case.dtype)
        return Problem({"x": x, "keep": x}, {}, answer, takes_out=False)
    keep = Sparse(case.shape, "bool", dict.fromkeys((0, *where[1:]), 1))
    answer = Answer(np.array([0, 2, 3, 4, 5], case.dtype), case.dtype)
    return Problem({"x": x, "keep": keep}, {}, answer, takes_out=False)


BENCHMARK = tuple(Shape("int32", (size,), "9 of 19 are kept, by flags") for size in BENCHMARK_SIZES)
OWN_FLAGS = (Shape("int32", (2**24,), "what is not zero: x is its own mask", pattern="itself"),)
SPECS = (
    CompactSpec("two_pass", ALL, benchmark=(*BENCHMARK, *OWN_FLAGS)),
    CompactSpec("pipelined", WIDE, one_launch=True, benchmark=(*BENCHMARK, *OWN_FLAGS)),
)
