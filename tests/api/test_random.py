"""Random shapes, layouts, dtypes and axes against NumPy in exact integers and SciPy in float64."""

from __future__ import annotations

import warnings

import ml_dtypes
import numpy as np
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

import gpuport

INTEGERS = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
TOLERANCE = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 2e-6, "float64": 1e-14}


@st.composite
def arrays(draw: st.DrawFn, dtypes: list[str], max_ndim: int = 4) -> np.ndarray:
    """Small integers in any layout that NumPy can give: stepped, reversed, broadcast, permuted."""
    name = draw(st.sampled_from(dtypes))
    shape = draw(st.lists(st.integers(0, 7), max_size=max_ndim))
    steps = [draw(st.sampled_from([1, 1, 2, -1, -3, 0])) for _ in shape]
    extents = [1 if step == 0 else n * abs(step) for n, step in zip(shape, steps, strict=True)]
    low = 0 if name == "bool" or name.startswith("uint") else -9
    values = np.random.default_rng(draw(st.integers(0, 99))).integers(low, 10, extents)
    array = np.asarray(values).astype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    array = array[(*(slice(None, None, step or None) for step in steps), ...)]
    array = np.broadcast_to(array, shape)
    return array.transpose(draw(st.permutations(range(array.ndim))))


def axes_of(draw: st.DataObject, ndim: int) -> int | tuple[int, ...] | None:
    if ndim == 0:
        return draw.draw(st.sampled_from([None, ()]))
    one = st.integers(-ndim, ndim - 1)
    several = st.sets(st.integers(0, ndim - 1)).map(lambda axes: tuple(sorted(axes)))
    return draw.draw(st.one_of(st.none(), one, several))


@settings(deadline=None)  # a shared machine stalls
@given(x=arrays([*INTEGERS, *FLOATS]), data=st.data(), warp_size=st.sampled_from([32, 64]))
def test_reductions(x: np.ndarray, data: st.DataObject, warp_size: int) -> None:
    axis = axes_of(data, x.ndim)
    exact = x.astype(np.int64)
    total = gpuport.sum(x, axis=axis, dtype="float64", warp_size=warp_size)
    np.testing.assert_array_equal(total, exact.sum(axis=axis, dtype=np.float64), strict=True)
    for ours, theirs in ((gpuport.max, np.max), (gpuport.min, np.min)):
        try:
            expected = theirs(exact, axis=axis)
        except ValueError:
            continue
        got = ours(x, axis=axis, warp_size=warp_size)
        assert got.dtype == x.dtype
        np.testing.assert_array_equal(got.astype(np.int64), expected)


@settings(deadline=None)
@given(x=arrays(FLOATS), data=st.data(), warp_size=st.sampled_from([32, 64]))
def test_softmax(x: np.ndarray, data: st.DataObject, warp_size: int) -> None:
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1)) if x.ndim else -1
    shape = [n if data.draw(st.booleans()) else 1 for n in x.shape]
    shape = shape[data.draw(st.integers(0, x.ndim)) :]
    mask = np.random.default_rng(data.draw(st.integers(0, 99))).random(shape) > 0.3
    mask = data.draw(st.sampled_from([None, np.asarray(mask)]))
    got = gpuport.softmax(x, axis=axis, mask=mask, warp_size=warp_size)
    assert got.shape == x.shape
    assert got.dtype == x.dtype
    wide = x.astype(np.float64)
    if mask is not None:
        wide = np.where(mask, wide, -np.inf)
    if x.size == 0:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = scipy.special.softmax(wide, axis=axis if x.ndim else None)
    if mask is not None:
        expected = np.where(mask, expected, 0)
    tolerance = TOLERANCE[x.dtype.name]
    np.testing.assert_allclose(
        got.astype(np.float64), expected, rtol=tolerance, atol=tolerance * 1e-2
    )
