"""Every public function on arrays, with what NumPy or SciPy gives for it: one table for all tests.

Inputs are small whole numbers, so that every sum is exact in any order and only the softmax family
has a tolerance.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.special

import gpuport
from gpuport._dtypes import ALL, EXACT, FLOATS, INTEGERS, UNSIGNED, numpy_dtype
from places import Array, read

TOLERANCE = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 2e-6, "float64": 1e-14}


@dataclass(frozen=True)
class Function:
    """`call(x, beside, axis, **on)` is the function, `expected(x, beside, axis)` the reference.

    `beside` is the operand next to x: a mask, flags, offsets or nothing. `kind` says how x is read:
    along an "axis", "flat", or as "segments" of one dimension.
    """

    name: str
    call: Callable[..., Any]
    expected: Callable[..., Any]
    kind: str = "axis"
    dtypes: tuple[str, ...] = ALL
    beside: str | None = None
    several_axes: bool = False
    takes_out: bool = False
    in_place: bool = False


def wide(x: Array) -> Array:
    """Exact: integers of any type, and floats that hold whole numbers."""
    return x.astype(np.float64 if x.dtype.name in FLOATS else np.int64)


def sum_dtype(x: Array) -> Any:
    name = x.dtype.name
    if name in FLOATS:
        return x.dtype
    return np.dtype("uint64" if name in UNSIGNED else "int64")


def float_dtype(x: Array) -> Any:
    return x.dtype if x.dtype.name in FLOATS else np.dtype("float64")


def state_dtype(x: Array) -> Any:
    return np.dtype("float64" if float_dtype(x) == np.float64 else "float32")


def _sum(x: Array, _: Any, axis: Any) -> Array:
    return np.asarray(wide(x).sum(axis=axis)).astype(sum_dtype(x))


def _extreme(op: str) -> Callable[..., Array]:
    return lambda x, _, axis: np.asarray(getattr(wide(x), op)(axis=axis)).astype(x.dtype)


def _scan(inclusive: bool) -> Callable[..., Array]:
    def expected(x: Array, beside: Any, axis: Any) -> Array:
        if axis is None or x.ndim == 0:
            return expected(x.reshape(-1), beside, 0).reshape(x.shape)
        values = wide(x)
        sums = np.cumsum(values, axis=axis)
        if not inclusive and x.shape[axis]:
            sums = np.insert(np.delete(sums, -1, axis), 0, 0, axis)
        return sums.astype(sum_dtype(x))

    return expected


def _arg(op: str) -> Callable[..., Array]:
    return lambda x, _, axis: np.asarray(getattr(wide(x), op)(axis=axis), np.int64)


def _segmented(op: str) -> Callable[..., Array]:
    def expected(x: Array, offsets: Array, axis: Any) -> Array:
        values = wide(x)
        found = [
            getattr(values[int(a) : int(b)], op)() if b > a else None for a, b in pairwise(offsets)
        ]
        if op == "sum":
            return np.array([0 if f is None else f for f in found], object).astype(sum_dtype(x))
        empty = identity(op, x.dtype.name)
        return np.array([empty if f is None else f for f in found], object).astype(x.dtype)

    return expected


def identity(op: str, dtype: str) -> Any:
    """What an empty segment gives: nothing that an element could be is beyond it."""
    if dtype in FLOATS:
        return -math.inf if op == "max" else math.inf
    low, high = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return low if op == "max" else high


def _taking_part(x: Array, mask: Array | None) -> tuple[Array, Array]:
    values = x.astype(np.float64)
    keep = np.broadcast_to(True if mask is None else mask, x.shape)
    return np.where(keep, values, -math.inf), keep


def _softmax(name: str) -> Callable[..., Array]:
    def expected(x: Array, mask: Array | None, axis: Any) -> Array:
        values, keep = _taking_part(x, mask)
        axis = axis if x.ndim else None
        if x.size == 0:
            shape = np.sum(values, axis=axis).shape if name == "logsumexp" else x.shape
            return np.full(shape, -math.inf).astype(float_dtype(x))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got = np.asarray(getattr(scipy.special, name)(values, axis=axis))
        if name != "logsumexp":
            top = values.max(axis=axis, keepdims=True)
            got = np.where(top == math.inf, math.nan, got)  # SciPy's log_softmax has -inf there
            got = np.where(keep, got, 0 if name == "softmax" else -math.inf)
        return got.astype(float_dtype(x))

    return expected


def _state(x: Array, mask: Array | None, axis: Any) -> tuple[Array, Array]:
    values, _ = _taking_part(x, mask)
    numbers = np.where(np.isnan(values), -math.inf, values)  # a NaN shows in d alone
    top = numbers.max(axis=axis, keepdims=True, initial=-math.inf)
    with np.errstate(invalid="ignore"):
        terms = np.where(values == top, 1.0, np.exp(values - top))
    terms = np.where(values == -math.inf, 0.0, terms)
    total = terms.sum(axis=axis)
    return top.reshape(total.shape).astype(state_dtype(x)), total.astype(state_dtype(x))


def _axis(name: str) -> Callable[..., Any]:
    return lambda x, _, axis, **on: getattr(gpuport, name)(x, axis=axis, **on)


def _masked(name: str) -> Callable[..., Any]:
    return lambda x, mask, axis, **on: getattr(gpuport, name)(x, axis=axis, mask=mask, **on)


def _beside(name: str) -> Callable[..., Any]:
    return lambda x, beside, _, **on: getattr(gpuport, name)(x, beside, **on)


def _halves(x: Any, mask: Any, axis: Any, **on: Any) -> Any:
    """Merging the state of x with that of itself: m stays, d doubles, whatever the layout."""
    own = {name: value for name, value in on.items() if name != "variant"}
    state = gpuport.softmax_state(x, axis=axis, mask=mask, **own)
    return gpuport.merge_softmax_states(state, state, **on)


def _merged(x: Array, mask: Array | None, axis: Any) -> tuple[Array, Array]:
    m, d = _state(x, mask, axis)
    return m, (2 * d).astype(d.dtype)


FUNCTIONS = [
    Function("sum", _axis("sum"), _sum, several_axes=True, takes_out=True),
    Function("max", _axis("max"), _extreme("max"), several_axes=True, takes_out=True),
    Function("min", _axis("min"), _extreme("min"), several_axes=True, takes_out=True),
    Function("inclusive_scan", _axis("inclusive_scan"), _scan(True), takes_out=True, in_place=True),
    Function(
        "exclusive_scan", _axis("exclusive_scan"), _scan(False), takes_out=True, in_place=True
    ),
    Function("argmax", _axis("argmax"), _arg("argmax")),
    Function("argmin", _axis("argmin"), _arg("argmin")),
    Function(
        *("compact", _beside("compact"), lambda x, keep, axis: x[keep != 0]),
        kind="flat",
        beside="flags",
    ),
    Function(
        *("nonzero", lambda x, _, axis, **on: gpuport.nonzero(x, **on)),
        lambda x, _, axis: np.flatnonzero(x),
        kind="flat",
        dtypes=EXACT,
    ),
    *(
        Function(
            *(f"segmented_{op}", _beside(f"segmented_{op}"), _segmented(op)),
            kind="segments",
            beside="offsets",
        )
        for op in ("sum", "max", "min")
    ),
    *(
        Function(
            *(name, _masked(name), _softmax(name)),
            beside="mask",
            takes_out=name != "logsumexp",
            in_place=name != "logsumexp",
            several_axes=name == "logsumexp",
        )
        for name in ("softmax", "log_softmax", "logsumexp")
    ),
]
if hasattr(gpuport, "softmax_state"):
    FUNCTIONS += [
        Function(name, call, expected, beside="mask", several_axes=True)
        for name, call, expected in (
            ("softmax_state", _masked("softmax_state"), _state),
            ("merge_softmax_states", _halves, _merged),
        )
    ]
BY_NAME = {function.name: function for function in FUNCTIONS}
SOFTMAX = ("softmax", "log_softmax", "logsumexp", "softmax_state", "merge_softmax_states")


def results(got: Any) -> list[Array]:
    return [read(part) for part in (got if isinstance(got, tuple) else (got,))]


def check(function: Function, got: Any, expected: Any) -> None:
    """dtype, shape and values; NaN equals NaN."""
    found, wanted = results(got), results(expected)
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), function.name
        if function.name in SOFTMAX:
            near = TOLERANCE[theirs.dtype.name]
            np.testing.assert_allclose(
                ours.astype(np.float64), theirs.astype(np.float64), rtol=near, atol=near
            )
        else:
            exact = np.float64 if theirs.dtype.name in FLOATS else theirs.dtype
            np.testing.assert_array_equal(ours.astype(exact), theirs.astype(exact))


def whole_numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    """From -9 to 9; from 0 where there is no sign."""
    low = 0 if dtype == "bool" or dtype in UNSIGNED else -9
    high = 2 if dtype == "bool" else 10
    return np.random.default_rng(seed).integers(low, high, shape).astype(numpy_dtype(dtype))


def operand_beside(function: Function, shape: tuple[int, ...], seed: int = 0) -> Array | None:
    """What the function takes next to x: a mask, flags or offsets."""
    rng = np.random.default_rng(seed)
    if function.beside == "mask":
        return rng.random(shape) > 0.3
    if function.beside == "flags":
        return rng.integers(0, 3, shape).astype(INTEGERS[seed % len(INTEGERS)])
    if function.beside == "offsets":
        (size,) = shape
        ends = np.sort(rng.integers(0, size + 1, 7))
        return np.concatenate([[0, 0], ends, [size, size]])
    return None
