"""Comparison of results: NaN equals NaN, everything else by the bound of the answer."""

import numpy as np

from gpuport.testing.case import Answer, Difference
from gpuport.testing.dtypes import Array


def _place(flat: int, shape: tuple[int, ...]) -> str:
    if not shape:
        return "the scalar"
    index = tuple(int(i) for i in np.unravel_index(flat, shape))
    return f"index {index[0] if len(index) == 1 else index}"


def wrong(answer: Answer, got: Array) -> Array:
    """True where an element is not what was asked for."""
    expected = answer.values
    if expected.dtype.kind in "biu" and got.dtype.kind in "biu":
        return np.asarray(expected != got)
    with np.errstate(invalid="ignore", over="ignore"):
        both_nan = np.isnan(expected) & np.isnan(got)
        same = (expected == got) | both_nan
        if answer.bound is not None:
            distance = np.abs(expected - got)
            same |= np.isfinite(expected) & np.isfinite(got) & (distance <= answer.bound)
    return np.asarray(~same)


def compare(answer: Answer, got: Array) -> Difference | None:
    if got.shape != answer.values.shape:
        return Difference(f"shape {got.shape}, expected {answer.values.shape}")
    bad = wrong(answer, got)
    count = int(np.count_nonzero(bad))
    if count == 0:
        return None
    flat = int(np.argmax(bad.reshape(-1)))
    expected, value = answer.values.reshape(-1)[flat], got.reshape(-1)[flat]
    message = f"{count} of {got.size} wrong, the first at {_place(flat, got.shape)}"
    if answer.bound is not None:
        bound = np.broadcast_to(answer.bound, got.shape).reshape(-1)[flat]
        message += f"; allowed distance {float(bound):.3g} ({answer.why})"
    return Difference(message, expected=str(expected), got=str(value))


def bits_differ(first: Array, second: Array) -> Difference | None:
    """Where bits differ: -0.0 is not 0.0, while a NaN is a NaN, whatever its payload."""
    if first.shape != second.shape or first.dtype != second.dtype:
        return Difference(f"{second.dtype}{second.shape} after {first.dtype}{first.shape}")
    same = first == second
    if first.dtype.kind == "f":
        same &= np.signbit(first) == np.signbit(second)
        same |= np.isnan(first) & np.isnan(second)
    if np.all(same):
        return None
    flat = int(np.argmin(same.reshape(-1)))
    count = int(np.count_nonzero(~same))
    return Difference(
        f"{count} of {first.size} differ, the first at {_place(flat, first.shape)}",
        expected=repr(first.reshape(-1)[flat]),
        got=repr(second.reshape(-1)[flat]),
    )
