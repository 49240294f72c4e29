"""segmented_sum, segmented_max and segmented_min over NumPy arrays, against a loop."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpuport
from test_random import FLOATS, INTEGERS
from test_reduce import EVERY, RUNNING, SIGNED, UNSIGNED, numpy_dtype, sample

CALLS = [gpuport.segmented_sum, gpuport.segmented_max, gpuport.segmented_min]


def bounds(dtype: str) -> tuple[float, float]:
    if dtype == "bool":
        return False, True
    if dtype in FLOATS:
        return -math.inf, math.inf
    info = np.iinfo(dtype)
    return info.min, info.max


def reference(call: Any, x: np.ndarray, offsets: Any) -> list[float]:
    least, most = bounds(x.dtype.name)
    empty, fold = {
        gpuport.segmented_sum: (0, np.sum),
        gpuport.segmented_max: (least, np.max),
        gpuport.segmented_min: (most, np.min),
    }[call]
    wide = x.astype(np.float64 if x.dtype.name in FLOATS else np.int64)
    return [fold(wide[int(a) : int(b)]) if b > a else empty for a, b in pairwise(offsets)]


def test_running_example(warp_size: int) -> None:
    got = gpuport.segmented_sum(RUNNING, [0, 4, 4, 8], warp_size=warp_size)
    assert (got.tolist(), got.dtype) == ([7, 0, 4], np.int64)
    got = gpuport.segmented_max(RUNNING, [0, 4, 4, 8], warp_size=warp_size)
    assert (got.tolist(), got.dtype) == ([4, -(2**31), 6], np.int32)
    got = gpuport.segmented_min(RUNNING, [0, 4, 4, 8], warp_size=warp_size)
    assert (got.tolist(), got.dtype) == ([-1, 2**31 - 1, -9], np.int32)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("dtype", EVERY)
def test_every_dtype(call, dtype: str, warp_size: int) -> None:
    x = sample((3000,), dtype)
    offsets = [0, 0, 1, 34, 34, 98, 2000, 2000, 3000, 3000]
    got = call(x, offsets, warp_size=warp_size)
    if call is not gpuport.segmented_sum or dtype in FLOATS:
        assert got.dtype == x.dtype
    else:
        assert got.dtype == (np.uint64 if dtype in UNSIGNED else np.int64)
    expected = np.array(reference(call, x, offsets), object).astype(got.dtype)
    np.testing.assert_array_equal(got, expected)
    # An empty segment of bools gives a bool, not some byte.
    assert got.view(np.uint8).max() <= 1 or dtype != "bool" or call is gpuport.segmented_sum


@pytest.mark.parametrize("dtype", [*SIGNED, *UNSIGNED])
def test_every_dtype_of_offsets_in_every_layout(dtype: str) -> None:
    x = sample((100,), "int32")
    ends = np.array([3, 3, 50, 51, 100], dtype)
    padded = np.zeros(10, dtype)
    padded[::2] = ends
    misaligned = np.frombuffer(b"\0" + ends.tobytes(), np.uint8)[1:].view(dtype)
    frozen = ends.copy()
    frozen.flags.writeable = False
    swapped = ends.astype(ends.dtype.newbyteorder(">"))
    for offsets in (ends, padded[::2], ends[::-1].copy()[::-1], misaligned, frozen, swapped):
        got = gpuport.segmented_sum(x, offsets)
        assert got.tolist() == reference(gpuport.segmented_sum, x, ends)
    assert gpuport.segmented_sum(x, tuple(ends.tolist())).tolist() == got.tolist()


def test_trailing_and_leading_empty_segments() -> None:
    assert gpuport.segmented_sum(np.ones(10), [0, 1, 1, 6, 10, 10]).tolist() == [1, 0, 5, 4, 0]
    assert gpuport.segmented_sum(np.empty(0), [0, 0, 0]).tolist() == [0, 0]
    assert gpuport.segmented_max(np.empty(0, np.int8), [0, 0]).tolist() == [-128]
    assert gpuport.segmented_min(np.empty(0, np.float32), [0, 0]).tolist() == [math.inf]
    for call in CALLS:
        for n in (0, 8):
            got = call(RUNNING[:n], [n // 2])
            assert got.shape == (0,)
    assert gpuport.segmented_sum(RUNNING, [2, 3, 3, 5]).tolist() == [4, 0, 6]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("n", [1, 255, 2047, 2048, 2049, 9001])
def test_skewed_segments(call, n: int, warp_size: int) -> None:
    x = sample((n,), "int32", seed=n)
    for offsets in (
        [0, n],
        list(range(n + 1)),
        [0] * 3000 + [n] * 3000,
        [0, n // 2, *range(n // 2, n + 1)],
        [0, *np.repeat(range(n // 2, n), 20), n],
        [n] * 5,
    ):
        got = call(x, np.array(offsets), warp_size=warp_size)
        np.testing.assert_array_equal(got, reference(call, x, offsets))


def test_more_segments_than_a_grid_dimension() -> None:
    x = sample((70_000,), "int16")
    got = gpuport.segmented_sum(x, np.arange(70_001))
    np.testing.assert_array_equal(got, x)


def test_layouts_of_x() -> None:
    x = sample((3000,), "float64")
    for view in (x[::-1], x[::3], np.broadcast_to(x[:1], (500,)), x.astype(">f8")):
        offsets = [0, 10, 10, 400]
        got = gpuport.segmented_sum(view, offsets)
        np.testing.assert_array_equal(got, reference(gpuport.segmented_sum, view, offsets))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_order_of_additions_is_that_of_the_offsets(dtype: str, warp_size: int) -> None:
    """The same bits wherever x lies and however far apart its elements are."""
    x = np.random.default_rng(1).normal(size=20_000).astype(dtype)
    offsets = np.array([3, 3, 40, *range(700, 900), 9000, 19_997])
    first = gpuport.segmented_sum(x, offsets, warp_size=warp_size)
    room = np.empty(3 * x.size, dtype)
    for view in (room[1:][: x.size], room[3:][: x.size], room[::3], room[::-2][: x.size]):
        view[:] = x
        got = gpuport.segmented_sum(view, offsets, warp_size=warp_size)
        assert got.tobytes() == first.tobytes()


def test_sums_are_widened_and_repeat() -> None:
    assert gpuport.segmented_sum(np.full(6, 2**31 - 1, np.int32), [0, 3, 6])[0] == 6442450941
    assert gpuport.segmented_sum(np.ones(600, np.uint8), [0, 300, 600]).tolist() == [300, 300]
    assert gpuport.segmented_sum(np.ones(8192, np.float16), [0, 4096, 8192])[1] == 4096
    x = np.random.default_rng(0).normal(size=50_000).astype(np.float32)
    first = gpuport.segmented_sum(x, [0, 7, 40_000, 50_000], deterministic=True)
    for _ in range(5):
        again = gpuport.segmented_sum(x, [0, 7, 40_000, 50_000], deterministic=True)
        assert again.tobytes() == first.tobytes()


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_nan_stays_in_its_segment(dtype: str) -> None:
    offsets = [0, 10, 10, 700, 3000]
    for at, segment in ((0, 0), (9, 0), (10, 2), (699, 2), (700, 3), (2999, 3)):
        x = sample((3000,), dtype)
        x[at] = math.nan
        for call in CALLS:
            got = call(x, offsets).astype(np.float64)
            assert np.flatnonzero(np.isnan(got)).tolist() == [segment]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("offsets", "error", "message"),
    [
        ([], ValueError, "offsets is empty"),
        (np.empty(0, np.int64), ValueError, "offsets is empty"),
        ([-1, 8], ValueError, r"offsets\[0\] is -1; the first one is 0 or more"),
        ([0, 5, 3, 8], ValueError, r"offsets\[2\] is 3, less than offsets\[1\], which is 5"),
        ([0, 5, -3], ValueError, r"offsets\[2\] is -3, less than offsets\[1\], which is 5"),
        ([0, 9], ValueError, r"offsets\[1\] is 9, past the end of x, which has 8 elements"),
        ([9], ValueError, r"offsets\[0\] is 9, past the end"),
        ([0, 11, 8], ValueError, r"offsets\[1\] is 11, past the end"),
        (np.array([0, 2**63 + 5], np.uint64), ValueError, r"offsets\[1\] is 9223372036854775813"),
        (np.array([5, 4], np.uint8), ValueError, r"offsets\[1\] is 4, less"),
        ([0, 2**63], ValueError, r"offsets\[1\] is 9223372036854775808, past the end of x, which"),
        ([0, 2**64], ValueError, r"offsets\[1\] is 18446744073709551616, past the end of x, which"),
        ([0, 4, 10**30, 8], ValueError, r"offsets\[2\] is 10{30}, past the end of x, which"),
        ([-(2**64), 8], ValueError, r"offsets\[0\] is -18446744073709551616; the first one is 0"),
        (
            [0, 5, -(2**64)],
            ValueError,
            r"offsets\[2\] is -18.*, less than offsets\[1\], which is 5",
        ),
        ([5, 3, 2**64], ValueError, r"offsets\[1\] is 3, less than offsets\[0\], which is 5"),
        ([np.uint64(2**63), 3], ValueError, r"offsets\[0\] is 9223372036854775808, past the end"),
        ([np.uint64(0), 9], ValueError, r"offsets\[1\] is 9, past the end of x, which has 8"),
        ([[0, 8]], ValueError, "offsets must have one dimension, not 2"),
        ([[0, 2**64]], ValueError, "offsets must have one dimension, not 2"),
        ([[0], [1, 2]], ValueError, "offsets must have one dimension"),
        ([0, [1, 2]], ValueError, "offsets must have one dimension"),
        ([0, None], TypeError, "offsets must be integers, not NoneType$"),
        ([0, 2**64, 0.5], TypeError, "offsets must be integers, not float$"),
        ([0, np.uint64(3), True], TypeError, "offsets must be integers, not bool$"),
        (np.int64(0), ValueError, "offsets must have one dimension, not 0"),
        ([0.0, 8.0], TypeError, "offsets must be integers, not float$"),
        ([False, True], TypeError, "offsets must be integers, not bool$"),
        (["0", "8"], TypeError, "offsets must be integers, not str$"),
        (np.zeros(2), TypeError, "offsets must be integers, not float64$"),
        (np.zeros(2, bool), TypeError, "offsets must be integers, not bool$"),
        (None, TypeError, "offsets must be an array"),
        (8, TypeError, "offsets must be an array"),
    ],
)
def test_wrong_offsets(call, offsets: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(RUNNING, offsets)


def test_offsets_are_not_looked_at_where_the_caller_says_so() -> None:
    got = gpuport.segmented_sum(RUNNING, [0, 4, 8], check=False)
    assert got.tolist() == [7, 4]


def test_errors() -> None:
    for x in (np.zeros((2, 4)), np.float32(3)):
        with pytest.raises(ValueError, match="x must have one dimension"):
            gpuport.segmented_sum(x, [0, 1])
    with pytest.raises(TypeError, match="segmented_min: x of dtype complex64"):
        gpuport.segmented_min(np.zeros(3, np.complex64), [0, 3])
    for keywords, message in (
        ({"variant": "one_block"}, "there are merge_path"),
        ({"deterministic": False}, "deterministic must be"),
        ({"warp_size": 16}, "32 and 64"),
    ):
        with pytest.raises(ValueError, match=message):
            gpuport.segmented_sum(RUNNING, [0, 8], **keywords)
    with pytest.raises(ValueError, match="not finite at index 2"):
        gpuport.segmented_max(np.array([0, 1, math.nan]), [1, 3], nonfinite="raise")


def test_wrong_offsets_that_nobody_checks_lead_to_no_wild_read() -> None:
    """As far as nonfinite="raise" reads: the kernel is not run where there is no segment."""
    x = np.zeros(8)
    for offsets in ([-(2**62)], [2**62], np.array([2**64 - 1], np.uint64)):
        assert gpuport.segmented_sum(x, offsets, check=False, nonfinite="raise").size == 0


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("check", [None, 0, 1, "no", "", 2.0, np.array([True, False])])
def test_check_is_true_or_false(call, check: Any) -> None:
    for offsets in ([0, 8], [0, 9]):
        with pytest.raises(TypeError, match=r"^check must be True or False, not "):
            call(RUNNING, offsets, check=check)


@pytest.mark.parametrize("call", CALLS)
def test_a_list_of_integers_is_what_it_says(call) -> None:
    """NumPy makes floats or objects of integers that share no type of its own."""
    expected = call(RUNNING, np.array([0, 4, 8]))
    for kind in (list, tuple):
        for offsets in (
            [np.uint64(0), 4, 8],
            [0, np.uint64(4), np.int8(8)],
            [np.uint64(0), np.int64(4), np.uint8(8)],
            [np.array(0), np.array(4, np.uint64), 8],
        ):
            np.testing.assert_array_equal(call(RUNNING, kind(offsets)), expected)


@settings(deadline=None)  # a shared machine stalls
@given(
    dtype=st.sampled_from([*INTEGERS, *FLOATS]),
    size=st.integers(0, 3000),
    count=st.integers(1, 3000),
    few=st.booleans(),
    seed=st.integers(0, 99),
    offset_dtype=st.sampled_from(["int64", "uint16", "int32"]),
    warp_size=st.sampled_from([32, 64]),
)
def test_any_segments(
    dtype: str, size: int, count: int, few: bool, seed: int, offset_dtype: str, warp_size: int
) -> None:
    x = sample((size,), dtype, seed)
    draws = np.random.default_rng(seed).integers(0, size + 1, min(count, 9) if few else count)
    offsets = np.sort(draws).astype(offset_dtype)
    for call in CALLS:
        got = call(x, offsets, warp_size=warp_size)
        expected = np.array(reference(call, x, offsets), object).astype(got.dtype)
        np.testing.assert_array_equal(got, expected)
    assert got.dtype == numpy_dtype(dtype)
