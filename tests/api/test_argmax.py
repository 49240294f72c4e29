"""argmax and argmin over NumPy arrays, against NumPy's: ties, NaN, sentinels, empty axes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpuport
from test_random import FLOATS, INTEGERS, arrays
from test_reduce import EVERY, LAYOUTS, RUNNING, numpy_dtype, sample

PAIRS = [(gpuport.argmax, np.argmax), (gpuport.argmin, np.argmin)]


def test_running_example(warp_size: int) -> None:
    got = gpuport.argmax(RUNNING, warp_size=warp_size)
    assert (int(got), got.dtype, got.shape) == (7, np.int64, ())
    assert gpuport.argmin(RUNNING, warp_size=warp_size) == 5
    assert gpuport.argmax(np.array([6, -1, 6]), warp_size=warp_size) == 0


@pytest.mark.parametrize("dtype", EVERY)
@pytest.mark.parametrize("axis", [None, 0, 1, 2, -2])
def test_every_dtype_along_every_axis(dtype: str, axis: int | None, warp_size: int) -> None:
    x = sample((3, 40, 7), dtype)  # many ties
    for ours, theirs in PAIRS:
        got = ours(x, axis=axis, warp_size=warp_size)
        np.testing.assert_array_equal(got, theirs(x.astype(np.int64), axis=axis), strict=True)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_the_index_counts_in_c_order(layout: str, axis: int | None) -> None:
    x = LAYOUTS[layout](sample((37, 50), "int16"))
    for ours, theirs in PAIRS:
        np.testing.assert_array_equal(ours(x, axis=axis), theirs(x, axis=axis))


@pytest.mark.parametrize("dtype", EVERY)
def test_ties_go_to_the_lowest_index(dtype: str, warp_size: int) -> None:
    x = np.zeros(130, numpy_dtype(dtype))
    x[[33, 65, 97]] = 1 if dtype == "bool" else 7
    assert gpuport.argmax(x, warp_size=warp_size) == 33
    assert gpuport.argmin(x, warp_size=warp_size) == 0
    for size in (1, 64, 65, 1025, 70_001):
        same = np.ones(size, numpy_dtype(dtype))
        assert gpuport.argmax(same, warp_size=warp_size) == 0
        assert gpuport.argmin(same, warp_size=warp_size) == 0


@pytest.mark.parametrize("size", [1, 130, 5000, 70_001])
def test_data_equal_to_the_start_value(size: int) -> None:
    for value, dtype in ((0, "uint32"), (-(2**31), "int32"), (-math.inf, "f4"), (0, "bool")):
        assert gpuport.argmax(np.full(size, value, dtype)) == 0
    for value, dtype in ((np.finfo("f8").max, "f8"), (math.inf, "f2"), (2**64 - 1, "u8")):
        assert gpuport.argmin(np.full(size, value, dtype)) == 0


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_first_nan_wins(dtype: str, warp_size: int) -> None:
    for ours, _ in PAIRS:
        assert ours(np.array([1, math.nan, 5, math.nan], numpy_dtype(dtype))) == 1
        for at in (0, 31, 32, 63, 64, 199):
            x = sample((3, 200), dtype)
            x[1, at:] = math.nan
            x[1, 10] = math.inf
            x[1, 11] = -math.inf
            got = ours(x, axis=1, warp_size=warp_size)
            assert got[1] == at
        assert ours(np.full(130, math.nan, numpy_dtype(dtype))) == 0
        assert ours(np.array([-0.0, 0.0], numpy_dtype(dtype))) == 0
        assert ours(np.array([0.0, -0.0], numpy_dtype(dtype))) == 0


def test_rows_of_one_element() -> None:
    """More than 32,768 of them."""
    got = gpuport.argmax(np.zeros((40, 900, 1), np.float32), axis=2)
    np.testing.assert_array_equal(got, np.zeros((40, 900), np.int64), strict=True)


def test_empty() -> None:
    for shape in ((0,), (0, 5), (5, 0), (4, 0, 0), (0, 1)):
        x = np.empty(shape, np.float32)
        for axis in (None, *range(len(shape))):
            for ours, theirs in PAIRS:
                try:
                    expected = theirs(x, axis=axis)
                except ValueError:
                    with pytest.raises(ValueError, match=f"{ours.__name__} of no elements"):
                        ours(x, axis=axis)
                else:
                    np.testing.assert_array_equal(ours(x, axis=axis), expected, strict=True)
    assert gpuport.argmax(np.empty((0, 1)), axis=1).shape == (0,)


def test_a_scalar_and_its_axes() -> None:
    for axis in (None, 0, -1):
        got = gpuport.argmax(np.float32(3), axis=axis)
        assert (int(got), got.shape, got.dtype) == (0, (), np.int64)


def test_errors() -> None:
    for call in (gpuport.argmax, gpuport.argmin):
        for keywords, error, message in (
            ({"axis": 1}, ValueError, "axis 1 is out of bounds"),
            ({"axis": (0,)}, TypeError, "axis must be an integer or None"),
            ({"variant": "serial"}, ValueError, "there are single_pass"),
            ({"warp_size": 48}, ValueError, "32 and 64"),
            ({"stream": 5}, ValueError, "no stream"),
        ):
            with pytest.raises(error, match=message):
                call(RUNNING, **keywords)
        with pytest.raises(TypeError, match=f"{call.__name__}: x of dtype complex64"):
            call(np.zeros(3, np.complex64))
        with pytest.raises(ValueError, match="not finite at index 1"):
            call(np.array([1.0, math.nan]), nonfinite="raise")


@settings(deadline=None)  # a shared machine stalls
@given(x=arrays([*INTEGERS, *FLOATS]), data=st.data(), warp_size=st.sampled_from([32, 64]))
def test_any_array(x: np.ndarray, data: st.DataObject, warp_size: int) -> None:
    axis = data.draw(st.one_of(st.none(), st.integers(-x.ndim, x.ndim - 1))) if x.ndim else None
    exact = x.astype(np.int64)
    for ours, theirs in PAIRS:
        try:
            expected = theirs(exact, axis=axis)
        except ValueError:
            continue
        np.testing.assert_array_equal(ours(x, axis=axis, warp_size=warp_size), expected)
