"""Rows side by side, as along the first axis in C order: another kernel, and the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpuport
from gpuport._dtypes import numpy_dtype
from gpuport.testing import Target
from places import Array, place, read, where

FLOATS = ("float16", "bfloat16", "float32", "float64")
DTYPES = ("bool", "int8", "uint16", "int32", "int64", *FLOATS)
# Elements of a row: of one share and of several, with a pack that lacks something, the longest that
# a warp takes and the first that a block does, rows that several blocks share.
SHORT = (2, 3, 4, 8, 9, 16, 17, 63, 64, 65, 100, 257, 1000, 1023, 1024)
LONG = (1025, 2047, 4099, 16385)
# Rows: one too few for the kernel, around one warp and two of either width; even and odd, for lanes
# that take two or more.
ROWS = (15, 16, 17, 32, 33, 64, 65, 129, 136)


def values(shape: tuple[int, int], dtype: str) -> Array:
    """Elements whose sum depends on the order, where it can."""
    random = np.random.default_rng(shape[0])
    x = random.standard_normal(shape) * np.exp2(random.integers(-6, 7, shape)) * 20
    return x.astype(numpy_dtype(dtype))


def same(target: Target, x: Array, function: Any, **more: Any) -> None:
    """The call along the first axis, and the one along packed rows."""
    there = place(target, x)
    packed = place(target, np.ascontiguousarray(x.T))
    got = read(function(there, axis=0, **more, **where(target)))
    want = read(function(packed, axis=1, **more, **where(target)))
    assert got.tobytes() == want.tobytes(), (function.__name__, x.shape, x.strides)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("cols", SHORT)
def test_strides_change_no_bit(cols: int, dtype: str, target: Target) -> None:
    for rows in ROWS:
        x = values((cols, rows), dtype)
        for function in (gpuport.sum, gpuport.max, gpuport.argmax):
            same(target, x, function)
    same(target, values((cols, 70), dtype)[:, ::-1], gpuport.sum)
    same(target, values((2 * cols, 99), dtype)[::2, 1:], gpuport.sum)
    same(target, values((2 * cols, 99), dtype)[::-2, ::3], gpuport.min)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("cols", LONG)
def test_strides_change_no_bit_of_long_rows(cols: int, dtype: str, target: Target) -> None:
    for rows in (16, 33, 65, 130):
        x = values((cols, rows), dtype)
        for function in (gpuport.sum, gpuport.argmin):
            same(target, x, function)
    if dtype in FLOATS:
        same(target, values((cols, 33), dtype), gpuport.sum, dtype="float64")


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        *(((70001, 16), "float32"), ((70001, 40), "float32"), ((131072, 32), "float32")),
        *(((40000, 300), "float32"), ((1500, 9000), "float32")),
        # A GPU's lanes take two rows from 16 MB on, of float32 where rows are many.
        *(((260, 16400), "float32"), ((1030, 16390), "float32")),
        *(((70001, 130), "bfloat16"), ((1026, 9000), "float16"), ((9000, 1026), "bfloat16")),
    ],
)
def test_strides_change_no_bit_where_blocks_share_rows(
    shape: tuple[int, int], dtype: str, target: Target
) -> None:
    x = values(shape, dtype)
    x[shape[0] // 3, :] = x.max(axis=0)  # ties, which the lowest index wins in whatever block
    x[shape[0] - 2, :] = x.max(axis=0)
    for function in (gpuport.sum, gpuport.argmax):
        same(target, x, function)
    x[shape[0] - 3, 5] = np.nan
    for function in (gpuport.sum, gpuport.max, gpuport.argmax):
        same(target, x, function)


def test_rows_side_by_side_are_summed(target: Target) -> None:
    """Against NumPy, with whole numbers: the tests above compare the backend with itself."""
    random = np.random.default_rng(3)
    shapes = ((2, 64), (3, 264), (8, 40), (16, 136), (24, 50), (1000, 33), (4099, 66), (70001, 18))
    for shape in shapes:
        for dtype in ("int8", "uint16", "float32", "bfloat16", "float64"):
            low = 0 if dtype == "uint16" else -9
            x = random.integers(low, 10, shape).astype(numpy_dtype(dtype))
            there = place(target, x)
            accumulator = {"dtype": "float32"} if dtype == "bfloat16" else {}
            total = read(gpuport.sum(there, axis=0, **accumulator, **where(target)))
            np.testing.assert_array_equal(total, x.astype(np.float64).sum(axis=0))
            most = read(gpuport.max(there, axis=0, **where(target)))
            np.testing.assert_array_equal(most, x.max(axis=0))
            index = read(gpuport.argmax(there, axis=0, **where(target)))
            np.testing.assert_array_equal(index, x.argmax(axis=0))
