"""Row kernels at every width from 1 to 2,049, inside one larger buffer.

The matrices of all widths lie in one buffer, each at an odd element and with an odd pitch, so that
no row is where a vector access would be aligned by luck. What lies before, after and between the
rows spoils a result that looks at it, and must be there still when all calls are made. So a kernel
costs one upload, one call a width and one comparison.

The CPU backend emulates every thread. There the default kernels see every width once; their other
dtypes, their calls in place and the other kernels see those around each multiple of 32 and every
seventh, which is a quarter of the time. A GPU sees all of them each time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
import scipy.special

import gpuport
from functions import TOLERANCE
from gpuport._dtypes import FLOATS, numpy_dtype
from gpuport.testing import Target
from places import Array, Block, where
from variants import KERNELS

WIDEST, ROWS, GUARD = 2049, 3, 33
EVERY = tuple(range(1, WIDEST + 1))
EDGES = tuple(w for w in EVERY if w % 7 == 0 or (w + 1) % 32 <= 2)
DEFAULTS = {
    *("reduce.single_pass", "scan.lookback", "scan.reduce_scan", "argmax.single_pass"),
    *("softmax.warp_row", "softmax.online_shuffle"),
}


@dataclass(frozen=True)
class Matrices:
    """Where the matrix of each width lies; `own` is True for every element of one."""

    widths: tuple[int, ...]
    starts: tuple[int, ...]
    pitches: tuple[int, ...]
    size: int

    @property
    def own(self) -> Array:
        flags = np.zeros(self.size, bool)
        for place in self.places():
            flags[place] = True
        return flags

    def places(self) -> list[Array]:
        """For each width the indices of its elements, rows x width."""
        return [
            start + pitch * np.arange(ROWS)[:, None] + np.arange(width)
            for width, start, pitch in zip(self.widths, self.starts, self.pitches, strict=True)
        ]


@cache
def matrices(widths: tuple[int, ...], columns: int | None = None) -> Matrices:
    """`columns` are those of every matrix where the results are one a row."""
    starts, pitches, at = [], [], GUARD
    for width in widths:
        pitch = (width if columns is None else columns) + 5
        pitch += 1 - pitch % 2
        starts.append(at)
        pitches.append(pitch)
        at += ROWS * pitch
        at += GUARD + (at + GUARD + 1) % 2
    shown = widths if columns is None else (columns,) * len(widths)
    return Matrices(shown, tuple(starts), tuple(pitches), at + GUARD)


@cache
def source(widths: tuple[int, ...], dtype: str) -> Array:
    """Whole numbers from -9 to 9 (0 to 9), between guards that no result survives."""
    there, kind = matrices(widths), numpy_dtype(dtype)
    low, high = (-9, 9) if dtype in FLOATS else (max(np.iinfo(kind).min, -9), 9)
    values = np.random.default_rng(5).integers(low, high, there.size, endpoint=True).astype(kind)
    guard = np.nan if dtype in FLOATS else np.iinfo(kind).max
    values[~there.own] = guard
    return values


REFERENCES: dict[str, Callable[[Array], Array]] = {
    "sum": lambda x: x.sum(axis=1, keepdims=True),
    "max": lambda x: x.max(axis=1, keepdims=True),
    "min": lambda x: x.min(axis=1, keepdims=True),
    "argmax": lambda x: x.argmax(axis=1)[:, None],
    "inclusive_scan": lambda x: np.cumsum(x, axis=1),
    "exclusive_scan": lambda x: np.cumsum(x, axis=1) - x,
    "softmax": lambda x: scipy.special.softmax(x, axis=1),
    "log_softmax": lambda x: scipy.special.log_softmax(x, axis=1),
    "logsumexp": lambda x: scipy.special.logsumexp(x, axis=1, keepdims=True),
}
REDUCES = ("sum", "max", "min", "argmax", "logsumexp")
TAKES_OUT = ("sum", "max", "min", "inclusive_scan", "exclusive_scan", "softmax", "log_softmax")


@cache
def expected(widths: tuple[int, ...], dtype: str, op: str) -> Array:
    """Of all widths, one after the other."""
    x = source(widths, dtype).astype(np.float64)
    parts = [REFERENCES[op](x[place]).reshape(-1) for place in matrices(widths).places()]
    return np.concatenate(parts)


def result_dtype(op: str, dtype: str) -> str:
    if op == "argmax":
        return "int64"
    if op in ("sum", "inclusive_scan", "exclusive_scan") and dtype not in FLOATS:
        return "uint64" if dtype.startswith("u") else "int64"
    return dtype


def sweep(kernel: str, op: str, dtype: str, target: Target, *, in_place: bool = False) -> None:
    every = kernel in DEFAULTS and not in_place and dtype in ("int32", "float32")
    widths = EVERY if target.is_gpu or every else EDGES
    there = matrices(widths)
    into = matrices(widths, 1) if op in REDUCES else there
    values = source(widths, dtype)
    made = np.dtype(numpy_dtype(result_dtype(op, dtype)))
    inputs = Block(target, values)
    poison = values if in_place else np.full(into.size * made.itemsize, 0xA5, np.uint8).view(made)
    outputs = inputs if in_place else Block(target, poison)
    on = where(target, variant=kernel.partition(".")[2])
    call = getattr(gpuport, op)
    kept = []
    for at, width in enumerate(widths):
        pitch, first = there.pitches[at], there.starts[at]
        x = inputs.array((ROWS, width), dtype, (pitch, 1), first)
        if op not in TAKES_OUT:
            kept.append(call(x, axis=1, **on))
            continue
        steps = (into.pitches[at],) if op in REDUCES else (into.pitches[at], 1)
        shape = (ROWS,) if op in REDUCES else (ROWS, width)
        out = x if in_place else outputs.array(shape, made.name, steps, into.starts[at])
        call(x, axis=1, out=out, **on)

    after = outputs.fetch().view(made)
    own = into.own
    if kept:
        got = np.concatenate([k if isinstance(k, np.ndarray) else k.to_numpy() for k in kept])
    else:
        assert_guards(after, poison, own, into)
        got = np.concatenate([after[place].reshape(-1) for place in into.places()])
    if not in_place:
        assert_guards(inputs.fetch().view(values.dtype), values, np.zeros(there.size, bool), there)
    wanted = expected(widths, dtype, op)
    if op in ("softmax", "log_softmax", "logsumexp"):
        near = TOLERANCE[dtype]
        wrong = ~np.isclose(got.astype(np.float64), wanted, rtol=near, atol=near)
    else:
        wrong = got != wanted.astype(made)
    ends = np.cumsum([ROWS * width for width in into.widths])
    bad = sorted({widths[i] for i in np.searchsorted(ends, np.flatnonzero(wrong), side="right")})
    assert not bad, f"{kernel} {op} of {dtype} is wrong at widths {bad[:20]}"


def assert_guards(after: Array, before: Array, own: Array, into: Matrices) -> None:
    width = after.itemsize
    changed = (after.view(np.uint8) != before.view(np.uint8)).reshape(-1, width).any(axis=1) & ~own
    if changed.any():
        first = int(np.argmax(changed))
        at = int(np.searchsorted(into.starts, first, side="right")) - 1
        raise AssertionError(
            f"element {first - into.starts[at]} of the matrix number {at} was written"
        )


NAMES = {family: [kernel.name for kernel in KERNELS[family]] for family in KERNELS}


@pytest.mark.parametrize("kernel", NAMES["reduce"])
@pytest.mark.parametrize("op", ["sum", "max"])
def test_reductions(kernel: str, op: str, target: Target) -> None:
    sweep(kernel, op, "int32" if op == "sum" else "float64", target)


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float64"])
def test_sums_of_other_pack_sizes(dtype: str, target: Target) -> None:
    sweep("reduce.single_pass", "sum", dtype, target)


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_argmax(dtype: str, target: Target) -> None:
    sweep("argmax.single_pass", "argmax", dtype, target)


@pytest.mark.parametrize("kernel", NAMES["scan"])
def test_scans(kernel: str, target: Target) -> None:
    sweep(kernel, "exclusive_scan", "int32", target)


@pytest.mark.parametrize("kernel", NAMES["scan"])
def test_scans_in_place(kernel: str, target: Target) -> None:
    sweep(kernel, "inclusive_scan", "float32", target, in_place=True)


@pytest.mark.parametrize("kernel", NAMES["softmax"])
def test_softmax(kernel: str, target: Target) -> None:
    sweep(kernel, "softmax", "float32", target)


@pytest.mark.parametrize("kernel", NAMES["softmax"])
def test_softmax_in_place(kernel: str, target: Target) -> None:
    op = "log_softmax" if kernel == "softmax.warp_row" else "softmax"
    sweep(kernel, op, "float32", target, in_place=True)


@pytest.mark.parametrize("kernel", ["softmax.warp_row", "softmax.online_shuffle"])
def test_logsumexp_of_half_floats(kernel: str, target: Target) -> None:
    sweep(kernel, "logsumexp", "float16", target)
