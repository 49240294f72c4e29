"""compact and nonzero over NumPy arrays, against boolean indexing and flatnonzero."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpuport
from test_random import FLOATS, INTEGERS, arrays
from test_reduce import EVERY, LAYOUTS, RUNNING, numpy_dtype, sample


def test_running_example(warp_size: int) -> None:
    got = gpuport.compact(RUNNING, RUNNING > 0, warp_size=warp_size)
    assert (got.tolist(), got.dtype) == ([3, 4, 1, 5, 2, 6], np.int32)
    indices = gpuport.nonzero(RUNNING > 0, warp_size=warp_size)
    assert (indices.tolist(), indices.dtype) == ([0, 2, 3, 4, 6, 7], np.int64)


@pytest.mark.parametrize("dtype", EVERY)
def test_every_dtype_by_every_mask(dtype: str, warp_size: int) -> None:
    x = sample((5, 700), dtype)
    for keep_dtype in INTEGERS:
        keep = sample((5, 700), keep_dtype, seed=1)
        got = gpuport.compact(x, keep, warp_size=warp_size)
        assert got.dtype == x.dtype
        assert got.flags.c_contiguous
        assert got.flags.writeable
        np.testing.assert_array_equal(got, x[keep != 0])


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("length", [0, 1, 31, 64, 65, 2047, 2048, 2049, 9001])
def test_lengths(dtype: str, length: int, warp_size: int) -> None:
    x = sample((length,), dtype, seed=length)
    got = gpuport.nonzero(x, warp_size=warp_size)
    np.testing.assert_array_equal(got, np.flatnonzero(x), strict=True)
    np.testing.assert_array_equal(gpuport.compact(x, x, warp_size=warp_size), x[x != 0])


@pytest.mark.parametrize("dtype", ["uint16", "int32", "int64", "uint64"])
def test_any_bit_keeps(dtype: str) -> None:
    bits = np.dtype(dtype).itemsize * 8
    keep = (np.uint64(1) << np.arange(bits, dtype=np.uint64)).astype(dtype)
    np.testing.assert_array_equal(gpuport.nonzero(keep), np.arange(bits))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["int16", "float64"])
def test_layouts(layout: str, dtype: str) -> None:
    x = LAYOUTS[layout](sample((37, 50), dtype))
    keep = sample(x.shape, "bool")
    np.testing.assert_array_equal(gpuport.compact(x, keep), x[keep])
    values = sample((37, 50), "int32")
    keep = LAYOUTS[layout](values)
    x = sample(keep.shape, dtype, seed=3)
    np.testing.assert_array_equal(gpuport.compact(x, keep), x[keep != 0])
    np.testing.assert_array_equal(gpuport.nonzero(keep), np.flatnonzero(keep))


def test_all_none_and_nothing() -> None:
    x = np.arange(5000, dtype=np.int32)
    np.testing.assert_array_equal(gpuport.compact(x, np.ones(5000, bool)), x)
    for shape in ((0,), (0, 5), (5, 0), (4, 0, 0), (5000,), ()):
        empty = gpuport.compact(np.zeros(shape, np.float32), np.zeros(shape, bool))
        assert (empty.shape, empty.dtype) == ((0,), np.float32)
        assert gpuport.nonzero(np.zeros(shape, bool)).shape == (0,)
    assert gpuport.compact(np.float32(3), np.bool_(True)).tolist() == [3]
    assert gpuport.nonzero(np.int8(3)).tolist() == [0]


def test_packed_fields_and_frozen_masks() -> None:
    record = np.zeros(10, np.dtype([("a", "u1"), ("b", "<i4")]))
    record["b"] = np.arange(10) % 3
    assert gpuport.nonzero(record["b"]).tolist() == [1, 2, 4, 5, 7, 8]
    assert gpuport.compact(record["b"], record["b"]).tolist() == [1, 2, 1, 2, 1, 2]
    keep = np.broadcast_to(np.bool_(True), (10,))
    assert gpuport.compact(record["a"], keep).tolist() == [0] * 10


def test_errors() -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for keep, error, message in (
        (np.ones((3, 4), np.float32), TypeError, "keep must be boolean or integers, not float32"),
        (np.ones((3, 4), np.complex64), TypeError, "not complex64"),
        (np.ones(12, bool), ValueError, r"keep has shape \(12,\), x has \(3, 4\)"),
        (np.ones(4, bool), ValueError, "keep has shape"),
        (np.ones((4, 3), bool).T[:2], ValueError, "keep has shape"),
        ([True] * 12, TypeError, "keep must be an array"),
        (None, TypeError, "keep must be an array"),
    ):
        with pytest.raises(error, match=message):
            gpuport.compact(x, keep)
    with pytest.raises(TypeError, match="nonzero: x must be boolean or integers, not float32"):
        gpuport.nonzero(x)
    with pytest.raises(TypeError, match="nonzero: x of dtype complex64"):
        gpuport.nonzero(np.zeros(3, np.complex64))
    with pytest.raises(ValueError, match="there are two_pass, pipelined"):
        gpuport.compact(x, x > 0, variant="one_pass")
    with pytest.raises(ValueError, match="32 and 64"):
        gpuport.nonzero(x > 0, warp_size=16)


def test_one_launch_takes_flags_of_one_byte() -> None:
    x = np.arange(20_000, dtype=np.int32)
    for warp_size in (32, 64):
        for dtype in (np.float64, np.int32, np.uint64):
            values = x.astype(dtype)
            for flags in (x % 3 == 1, (x % 5).astype(np.int8), np.ones(x.size, np.uint8)):
                how = {"variant": "pipelined", "warp_size": warp_size}
                got = gpuport.compact(values, flags, **how)
                np.testing.assert_array_equal(got, values[flags != 0], strict=True)
                got = gpuport.compact(values[1::2], flags[:0:-2], **how)
                np.testing.assert_array_equal(got, values[1::2][flags[:0:-2] != 0])
    with pytest.raises(ValueError, match=r"flags of one byte, or .*, not int32"):
        gpuport.compact(x, x.copy(), variant="pipelined")
    with pytest.raises(ValueError, match=r"compact\.pipelined takes int32, .*, not int8"):
        gpuport.compact(x.astype(np.int8), x > 0, variant="pipelined")
    with pytest.raises(ValueError, match=r"compact\.two_pass does"):
        gpuport.nonzero(x > 0, variant="pipelined")


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
def test_one_launch_takes_elements_as_their_own_flags(dtype: str, warp_size: int) -> None:
    how: dict[str, Any] = {"variant": "pipelined", "warp_size": warp_size}
    tile = 2 * 16 * warp_size  # two warps, 16 elements a lane; of 8 bytes it is half
    x = sample((9 * tile + 3,), dtype)
    x[x % 4 == 1] = 0
    x[::7] = np.array(1, dtype) << (x.itemsize * 8 - 1)  # only the highest bit
    for size in (0, 1, 3, 4, tile - 1, tile, tile + 1, 4 * tile, x.size):
        for part in (x[:size], x[-size or x.size :], x[::-3][:size], np.zeros(size, dtype)):
            kept = part[part != 0]
            for again in (part, part[:]):
                np.testing.assert_array_equal(
                    gpuport.compact(part, again, **how), kept, strict=True
                )
    matrix = x[: 40 * 50].reshape(40, 50)
    for each in (matrix, matrix.T, matrix[:, ::2], np.broadcast_to(x[1], (3, 700))):
        np.testing.assert_array_equal(gpuport.compact(each, each, **how), each[each != 0])
    np.testing.assert_array_equal(gpuport.compact(x | 1, x, warp_size=warp_size), (x | 1)[x != 0])


def test_nonfinite_looks_at_what_is_kept() -> None:
    x = np.ones((3, 4))
    x[1, 1] = math.nan
    keep = np.isfinite(x).astype(np.int16) * 256
    assert gpuport.compact(x, keep, nonfinite="raise").tolist() == [1] * 11
    x[2, 0] = math.inf
    with pytest.raises(ValueError, match=r"not finite at index \(2, 0\)"):
        gpuport.compact(x, keep, nonfinite="raise")
    assert gpuport.nonzero(keep[:0], nonfinite="raise").shape == (0,)


@settings(deadline=None)  # a shared machine stalls
@given(x=arrays([*INTEGERS, *FLOATS]), data=st.data(), warp_size=st.sampled_from([32, 64]))
def test_any_array(x: np.ndarray, data: st.DataObject, warp_size: int) -> None:
    keep_dtype = data.draw(st.sampled_from(INTEGERS))
    keep = sample(x.shape, keep_dtype, seed=data.draw(st.integers(0, 99)))
    order = data.draw(st.permutations(range(x.ndim)))
    keep = keep.transpose(order).reshape(x.shape)
    got = gpuport.compact(x, keep, warp_size=warp_size)
    np.testing.assert_array_equal(got, np.asarray(x)[keep != 0])
    np.testing.assert_array_equal(gpuport.nonzero(keep, warp_size=warp_size), np.flatnonzero(keep))
    assert got.dtype == numpy_dtype(x.dtype.name)
