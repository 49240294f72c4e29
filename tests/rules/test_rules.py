"""The rules of docs/rules.md on every backend, for every variant: ties, NaN, infinities, masks."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import gpuport
from gpuport._dtypes import ALL, FLOATS, INTEGERS, numpy_dtype
from gpuport.testing import Target
from places import place, where
from variants import INF, NAN, floats_of, on, plain, variants

# The edges of warps of either width and of blocks, and an end far into a second block.
EDGES = (0, 31, 32, 63, 64, 255, 256, 1023, 1024, 2599)


# Ties.


def test_ties_go_to_the_lowest_index(target: Target) -> None:
    for dtype in ALL:
        x = np.zeros(130, numpy_dtype(dtype))
        x[[33, 65, 97]] = 1
        assert gpuport.argmax(x, **where(target)) == 33
        assert gpuport.argmin(1 - x.astype("i1"), **where(target)) == 33
        for size in (1, 65, 70_001):
            same = np.ones(size, numpy_dtype(dtype))
            assert gpuport.argmax(same, **where(target)) == 0
            assert gpuport.argmin(same, **where(target)) == 0


def test_two_equal_extrema_of_one_thread(target: Target) -> None:
    """Where a thread meets them in different packs, it may meet the later one first."""
    warp, block = (2, 130, 258, 386, 514, 642, 770, 898), (3, 1027, 2051, 3075, 4099, 5123)
    for places, cols in ((warp, 1024), (block, 6000)):
        pairs = list(combinations(places, 2))
        pairs *= 64 // len(pairs) + 1  # so many rows that none is split over blocks
        for dtype in ("int32", "uint64", "float16", "float32", "float64"):
            x = np.zeros((len(pairs), cols), numpy_dtype(dtype))
            for row, pair in enumerate(pairs):
                x[row, list(pair)] = 1
            first = [a for a, _ in pairs]
            np.testing.assert_array_equal(gpuport.argmax(x, axis=1, **where(target)), first)
            np.testing.assert_array_equal(gpuport.argmin(1 - x, axis=1, **where(target)), first)


def test_zeros_of_both_signs_are_equal(target: Target) -> None:
    for dtype in FLOATS:
        for values in ([-0.0, 0.0], [0.0, -0.0]):
            x = np.array(values, numpy_dtype(dtype))
            assert gpuport.argmax(x, **where(target)) == 0
            assert gpuport.argmin(x, **where(target)) == 0
            assert gpuport.max(x, **where(target)) == 0
            assert gpuport.min(x, **where(target)) == 0
        zeros = np.full(300, -0.0, numpy_dtype(dtype))
        assert gpuport.sum(zeros, **where(target)) == 0
        assert (gpuport.segmented_sum(zeros, [0, 1, 300], **where(target)) == 0).all()
        assert (gpuport.inclusive_scan(zeros, **where(target)) == 0).all()


def test_data_equal_to_the_identity(target: Target) -> None:
    for size in (1, 65, 70_001):
        for value, dtype in ((0, "uint32"), (-(2**31), "int32"), (-INF, "float32"), (0, "bool")):
            x = np.full(size, value, dtype)
            assert gpuport.argmax(x, **where(target)) == 0
            assert gpuport.max(x, **where(target)) == value
        for value, dtype in ((2**64 - 1, "uint64"), (INF, "float16"), (1, "bool")):
            x = np.full(size, value, dtype)
            assert gpuport.argmin(x, **where(target)) == 0
            assert gpuport.min(x, **where(target)) == value


# NaN.


@variants("reduce")
def test_a_nan_wins_every_reduction(kernel: Any, target: Target) -> None:
    for dtype in floats_of(kernel):
        x = np.ones((len(EDGES) + 1, 2600), dtype)
        x[np.arange(len(EDGES)), EDGES] = NAN
        x[: len(EDGES), 7] = INF
        for function in (gpuport.sum, gpuport.max, gpuport.min):
            got = np.isnan(plain(function(x, axis=1, **on(kernel, target))))
            assert got.tolist() == [True] * len(EDGES) + [False]  # and stays in its row
            assert np.isnan(plain(function(np.full(130, NAN, dtype), **on(kernel, target))))


def test_the_first_nan_wins(target: Target) -> None:
    for dtype in FLOATS:
        for function in (gpuport.argmax, gpuport.argmin):
            got = function(np.array([1, NAN, 5, NAN], numpy_dtype(dtype)), **where(target))
            assert got == 1
            x = np.zeros((len(EDGES), 2600), numpy_dtype(dtype))
            for row, at in enumerate(EDGES):
                x[row, at:] = NAN
                x[row, :at:2], x[row, 1:at:3] = INF, -INF
            assert function(x, axis=1, **where(target)).tolist() == list(EDGES)
            assert function(np.full(130, NAN, numpy_dtype(dtype)), **where(target)) == 0


@variants("scan")
def test_a_nan_reaches_every_later_result(kernel: Any, target: Target) -> None:
    for dtype in floats_of(kernel):
        x = np.ones((len(EDGES), 2600), dtype)
        x[np.arange(len(EDGES)), EDGES] = NAN
        for function, more in ((gpuport.inclusive_scan, 0), (gpuport.exclusive_scan, 1)):
            got = np.isnan(plain(function(x, axis=1, **on(kernel, target))))
            for row, at in enumerate(EDGES):
                assert np.flatnonzero(got[row]).tolist() == list(range(at + more, 2600))


def test_a_nan_stays_in_its_segment(target: Target) -> None:
    for dtype in FLOATS:
        for at, segment in ((0, 0), (9, 0), (10, 2), (699, 2), (700, 3), (2999, 3)):
            x = np.ones(3000, numpy_dtype(dtype))
            x[at] = NAN
            for name in ("segmented_sum", "segmented_max", "segmented_min"):
                got = getattr(gpuport, name)(x, [0, 10, 10, 700, 3000], **where(target))
                assert np.flatnonzero(np.isnan(plain(got))).tolist() == [segment]


def test_what_is_kept_keeps_its_bits(target: Target) -> None:
    """Signs of zeros, subnormal numbers, payloads of NaN: compaction moves and does not compute."""
    bits = {"float16": np.uint16, "bfloat16": np.uint16, "float32": np.uint32, "float64": np.uint64}
    for dtype, kind in bits.items():
        width = np.dtype(kind).itemsize * 8
        rng = np.random.default_rng(width)
        x = rng.integers(0, 2**width, 5000, kind)
        x[:4] = 0, 1, 1 << (width - 1), 2**width - 1
        keep = rng.integers(0, 3, 5000).astype(np.int8)
        keep[:4] = -1
        got = gpuport.compact(x.view(numpy_dtype(dtype)), keep, **where(target))
        np.testing.assert_array_equal(got.view(kind), x[keep != 0])


@pytest.mark.parametrize("name", ["sum", "max", "argmin", "inclusive_scan", "logsumexp", "softmax"])
def test_raise_names_the_first_index(name: str, target: Target) -> None:
    x = np.zeros((3, 400), np.float32)
    call = getattr(gpuport, name)
    assert np.isfinite(call(x, axis=1, nonfinite="raise", **where(target))).all()
    x[2, 0], x[1, 301] = NAN, -INF
    with pytest.raises(ValueError, match=rf"^{name}: x is not finite at index \(1, 301\)$"):
        call(x, axis=1, nonfinite="raise", **where(target))


def test_raise_looks_at_what_takes_part(target: Target) -> None:
    x = np.zeros(400)
    x[77] = NAN
    part = np.isfinite(x)
    assert gpuport.softmax(x, mask=part, nonfinite="raise", **where(target))[77] == 0
    assert gpuport.compact(x, part, nonfinite="raise", **where(target)).size == 399
    with pytest.raises(ValueError, match="leaves nothing of the row"):
        gpuport.softmax(x, mask=np.zeros(400, bool), nonfinite="raise", **where(target))


@pytest.mark.parametrize(
    "call", [gpuport.segmented_sum, gpuport.segmented_max, gpuport.segmented_min]
)
def test_raise_looks_at_what_belongs_to_a_segment(call: Any, target: Target) -> None:
    """The index is that in x, whatever lies before the first offset."""
    for dtype in FLOATS:
        x = np.zeros(400, numpy_dtype(dtype))
        x[77], x[300] = NAN, INF
        for view, first, second in (
            (x, 77, 300),
            (np.repeat(x, 3)[::3], 77, 300),
            (x[::-1], 99, 322),
        ):
            there = place(target, view)
            options = {"nonfinite": "raise", **where(target)}
            for offsets in (
                [0, 3],
                [first + 1, first + 1, second],
                [second + 1, 400],
                [first],
                [400, 400],
            ):
                for ends in (
                    offsets,
                    place(target, np.array(offsets, np.int16)),
                    place(target, np.repeat(offsets, 2)[::-2][::-1]),
                ):
                    for check in (True, False):
                        call(there, ends, check, **options)
            for offsets, at in (
                ([0, first + 1], first),
                ([first, first + 1], first),
                ([first + 1, 390, 399], second),
                ([5, 5, 400, 400], first),
            ):
                for check in (True, False):
                    with pytest.raises(
                        ValueError, match=rf"^{call.__name__}: x is not finite at index {at}$"
                    ):
                        call(there, offsets, check, **options)


# Infinities.


@variants("reduce")
def test_infinities_in_reductions(kernel: Any, target: Target) -> None:
    for dtype in floats_of(kernel):
        x = np.zeros((3, 2600), dtype)
        x[0, 1030], x[1, 64], x[2, [64, 1030]] = INF, -INF, (INF, -INF)
        assert plain(gpuport.sum(x, axis=1, **on(kernel, target)))[:2].tolist() == [INF, -INF]
        assert np.isnan(plain(gpuport.sum(x, axis=1, **on(kernel, target))[2]))
        assert plain(gpuport.max(x, axis=1, **on(kernel, target))).tolist() == [INF, 0, INF]
        assert plain(gpuport.min(x, axis=1, **on(kernel, target))).tolist() == [0, -INF, -INF]


@variants("scan")
def test_infinities_in_scans(kernel: Any, target: Target) -> None:
    for dtype in floats_of(kernel):
        x = np.zeros(2600, dtype)
        x[40], x[1500] = INF, -INF
        got = plain(gpuport.inclusive_scan(x, **on(kernel, target)))
        assert (got[:40] == 0).all()
        assert (got[40:1500] == INF).all()
        assert np.isnan(got[1500:]).all()


def test_infinities_in_segments(target: Target) -> None:
    x = np.array([1, INF, 2, -INF, INF, -INF])
    got = gpuport.segmented_sum(x, [0, 1, 3, 4, 6], **where(target))
    np.testing.assert_array_equal(got, [1, INF, -INF, NAN])
    got = gpuport.segmented_max(x, [0, 3, 4, 6], **where(target))
    assert got.tolist() == [INF, -INF, INF]


@variants("softmax")
def test_rows_that_are_not_finite(kernel: Any, target: Target) -> None:
    rows = ([NAN, 1], [NAN, INF], [INF, 1], [INF, INF], [-INF, -INF], [-INF, 1])
    sums = (NAN, NAN, INF, INF, -INF, 1)
    for dtype in floats_of(kernel):
        for at in (2, 40, 1100):  # where the second of the two stands
            x = np.full((2 * len(rows), at + 1), -INF, dtype)
            x[1::2] = 1  # between them rows that stay what they are
            for row, (first, second) in enumerate(rows):
                x[2 * row, 0], x[2 * row, at] = first, second
            p = plain(gpuport.softmax(x, axis=1, **on(kernel, target)))
            logs = plain(gpuport.log_softmax(x, axis=1, **on(kernel, target)))
            for row in range(5):
                assert np.isnan(p[2 * row]).all()
                assert np.isnan(logs[2 * row]).all()
            assert p[10].tolist() == [0] * at + [1]
            assert logs[10].tolist() == [-INF] * at + [0]
            assert np.isfinite(p[1::2]).all()
            assert np.isfinite(logs[1::2]).all()
            total = plain(gpuport.logsumexp(x, axis=1, **on(kernel, target)))
            np.testing.assert_array_equal(total[::2], sums)


# Masks.


@variants("softmax")
def test_masked_elements_take_no_part(kernel: Any, target: Target) -> None:
    for dtype in floats_of(kernel):
        for width in (5, 70, 1100):
            x = np.ones((3, width), dtype)
            mask = np.ones((3, width), bool)
            mask[0, ::2] = False
            x[0, ::2] = NAN
            x[0, 2] = INF
            mask[1] = False  # nothing of this row
            p = plain(gpuport.softmax(x, mask=mask, **on(kernel, target)))
            logs = plain(gpuport.log_softmax(x, mask=mask, **on(kernel, target)))
            total = plain(gpuport.logsumexp(x, mask=mask, **on(kernel, target)))
            assert (p[~mask] == 0).all()
            assert (logs[~mask] == -INF).all()
            assert np.isfinite(logs[mask]).all()
            near = 2e-2 if dtype.itemsize == 2 else 1e-5
            np.testing.assert_allclose(p.sum(axis=1), [1, 0, 1], atol=near)
            assert total[1] == -INF
            expected = 1 + np.log([width // 2, width])
            np.testing.assert_allclose(total[[0, 2]], expected, rtol=near)


def test_any_bit_of_a_flag_keeps(target: Target) -> None:
    for dtype in INTEGERS:
        bits = np.dtype(dtype).itemsize * 8
        keep = (np.uint64(1) << np.arange(bits, dtype=np.uint64)).astype(dtype)
        flags = np.stack([keep, np.zeros_like(keep)], axis=1).reshape(-1)
        assert gpuport.nonzero(flags, **where(target)).tolist() == list(range(0, 2 * bits, 2))
        kept = gpuport.compact(np.arange(2 * bits), flags, **where(target))
        assert kept.tolist() == list(range(0, 2 * bits, 2))
    odd = np.array([2, 0, 255], np.uint8).view(bool)
    assert gpuport.nonzero(odd, **where(target)).tolist() == [0, 2]
    assert gpuport.compact(np.arange(3), odd, **where(target)).tolist() == [0, 2]


@pytest.mark.parametrize("size", [3, 100, 5000])  # elements alone, packs of a warp, of blocks
def test_a_bool_is_true_whatever_its_byte(size: int, target: Target) -> None:
    odd = np.resize(np.arange(256, dtype=np.uint8)[::-1], size)
    odd[::3] = 0
    plain = odd != 0
    odd = odd.view(bool)
    on = where(target)
    for function in (
        gpuport.sum,
        gpuport.max,
        gpuport.min,
        gpuport.argmax,
        gpuport.argmin,
        gpuport.softmax,
        gpuport.logsumexp,
        gpuport.inclusive_scan,
        gpuport.nonzero,
    ):
        got, expected = np.asarray(function(odd, **on)), np.asarray(function(plain, **on))
        assert got.tobytes() == expected.tobytes(), function
    assert gpuport.sum(odd, **on) == plain.sum()
    assert gpuport.sum(odd, dtype=np.float64, **on) == plain.sum()
    for segmented in (gpuport.segmented_sum, gpuport.segmented_max, gpuport.segmented_min):
        got = segmented(odd, [0, 2, 2, size], **on)
        assert got.tobytes() == segmented(plain, [0, 2, 2, size], **on).tobytes()


def test_kept_elements_stay_in_order(target: Target) -> None:
    x = np.arange(300_000, dtype=np.int32)
    keep = np.random.default_rng(0).integers(0, 2, x.size).astype(bool)
    np.testing.assert_array_equal(gpuport.compact(x, keep, **where(target)), x[keep])
    np.testing.assert_array_equal(gpuport.nonzero(keep, **where(target)), x[keep])
