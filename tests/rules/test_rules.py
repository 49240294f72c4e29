"""The rules of docs/rules.md, each by a test that runs on every backend and for every variant."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gpuport
from gpuport._dtypes import ALL, EXACT, FLOATS, INTEGERS, numpy_dtype
from gpuport.testing import Target
from places import Array, where

KERNELS = {
    family: [k for k in gpuport.kernels() if k.name.startswith(f"{family}.")]
    for family in ("reduce", "scan", "softmax")
}
NAN, INF = math.nan, math.inf
# The edges of warps of either width and of blocks, and an end far into a second block.
EDGES = (0, 31, 32, 63, 64, 255, 256, 1023, 1024, 2599)


def variants(family: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("kernel", KERNELS[family], ids=lambda k: k.name)


def on(kernel: Any, target: Target) -> dict[str, Any]:
    return where(target, variant=kernel.name.partition(".")[2])


def floats_of(kernel: Any) -> list[Any]:
    return [numpy_dtype(name) for name in kernel.dtypes if name in FLOATS]


def plain(array: Any) -> Array:
    return np.asarray(array).astype(np.float64)


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


def test_zeros_of_both_signs_are_equal(target: Target) -> None:
    for dtype in FLOATS:
        for values in ([-0.0, 0.0], [0.0, -0.0]):
            x = np.array(values, numpy_dtype(dtype))
            assert gpuport.argmax(x, **where(target)) == 0
            assert gpuport.argmin(x, **where(target)) == 0
            assert gpuport.max(x, **where(target)) == 0
            assert gpuport.min(x, **where(target)) == 0


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
    with pytest.raises(ValueError, match="not finite at index 77"):
        gpuport.segmented_max(x, [0, 3], nonfinite="raise", **where(target))


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


def test_kept_elements_stay_in_order(target: Target) -> None:
    x = np.arange(300_000, dtype=np.int32)
    keep = np.random.default_rng(0).integers(0, 2, x.size).astype(bool)
    np.testing.assert_array_equal(gpuport.compact(x, keep, **where(target)), x[keep])
    np.testing.assert_array_equal(gpuport.nonzero(keep, **where(target)), x[keep])


# Empty input.


@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0), (4, 0, 0), (0, 1)])
def test_empty_input(shape: tuple[int, ...], target: Target) -> None:
    at = where(target)
    for dtype in ("float32", "int16"):
        x = np.empty(shape, dtype)
        for axis in (None, *range(len(shape))):
            total = gpuport.sum(x, axis=axis, **at)
            assert (total.shape, total.any()) == (x.sum(axis=axis).shape, False)
            for name in ("inclusive_scan", "exclusive_scan", "softmax", "log_softmax"):
                assert getattr(gpuport, name)(x, axis=axis, **at).shape == shape
            lse = gpuport.logsumexp(x, axis=axis, **at)
            assert lse.shape == total.shape
            assert (lse == -INF).all()
            for name in ("max", "min", "argmax", "argmin"):
                length = x.size if axis is None else shape[axis]
                if length == 0:
                    with pytest.raises(ValueError, match=f"{name} of no elements"):
                        getattr(gpuport, name)(x, axis=axis, **at)
                else:
                    got = getattr(gpuport, name)(x, axis=axis, **at)
                    assert got.shape == total.shape
        assert gpuport.compact(x, np.zeros(shape, bool), **at).shape == (0,)
        assert gpuport.nonzero(x.astype(bool), **at).shape == (0,)


def test_empty_segments(target: Target) -> None:
    at = where(target)
    for dtype in ALL:
        x = np.ones(10, numpy_dtype(dtype))
        least, most = (-INF, INF) if dtype in FLOATS else (0, 1) if dtype == "bool" else (
            np.iinfo(dtype).min, np.iinfo(dtype).max)  # fmt: skip
        ends = [0, 1, 1, 6, 10, 10]
        assert gpuport.segmented_sum(x, ends, **at).tolist() == [1, 0, 5, 4, 0]
        assert gpuport.segmented_max(x, ends, **at).tolist() == [1, least, 1, 1, least]
        assert gpuport.segmented_min(x, ends, **at).tolist() == [1, most, 1, 1, most]
        for name, value in (("sum", 0), ("max", least), ("min", most)):
            call = getattr(gpuport, f"segmented_{name}")
            assert call(x[:0], [0, 0, 0], **at).tolist() == [value, value]
            assert call(x, [4], **at).shape == (0,)
            with pytest.raises(ValueError, match="offsets is empty"):
                call(x, [], **at)


# Overflow.


@variants("reduce")
def test_integer_sums_wrap_in_64_bits(kernel: Any, target: Target) -> None:
    three = np.full(3, 2**31 - 1, np.int32)
    assert gpuport.sum(three, **on(kernel, target)) == 6442450941
    if "int64" in kernel.dtypes:
        at = on(kernel, target)
        assert gpuport.sum(np.array([2**63 - 1, 1]), **at) == -(2**63)
        assert gpuport.sum(np.array([2**64 - 1, 2], np.uint64), **at) == 1
        assert gpuport.sum(np.array([2**63 - 1, 1, -1]), **at) == 2**63 - 1


@variants("scan")
def test_integer_scans_wrap_in_64_bits(kernel: Any, target: Target) -> None:
    got = gpuport.inclusive_scan(np.full(3, 2**31 - 1, np.int32), **on(kernel, target))
    assert got.tolist() == [2147483647, 4294967294, 6442450941]
    if "int64" in kernel.dtypes:
        x = np.array([2**63 - 1, 1, 1])
        got = gpuport.inclusive_scan(x, **on(kernel, target))
        assert got.tolist() == [2**63 - 1, -(2**63), -(2**63) + 1]
        got = gpuport.exclusive_scan(x.astype(np.uint64) * 2, **on(kernel, target))
        assert got.tolist() == [0, 2**64 - 2, 0]


def test_integer_segments_wrap_in_64_bits(target: Target) -> None:
    x = np.array([2**63 - 1, 1, 2**63 - 1])
    got = gpuport.segmented_sum(x, [0, 2, 3], **where(target))
    assert got.tolist() == [-(2**63), 2**63 - 1]
    got = gpuport.segmented_sum(np.full(600, 255, np.uint8), [0, 600], **where(target))
    assert (got.tolist(), got.dtype) == ([153000], np.uint64)


def test_narrow_floats_are_added_in_float32(target: Target) -> None:
    at = where(target)
    assert gpuport.sum(np.ones(4096, np.float16), **at) == 4096
    assert gpuport.inclusive_scan(np.ones(4096, np.float16), **at)[-1] == 4096
    assert gpuport.segmented_sum(np.ones(4096, np.float16), [0, 4096], **at)[0] == 4096
    ones = np.ones(70_000, ml_dtypes.bfloat16)
    assert gpuport.sum(ones, dtype="float32", **at) == 70_000
    assert float(gpuport.sum(ones, **at)) == 70_144  # rounded once
    assert float(gpuport.inclusive_scan(ones, **at)[-1]) == 70_144
    assert (gpuport.softmax(np.zeros(512, ml_dtypes.bfloat16), **at) == 1 / 512).all()
    # Past the end of the narrow type on the way, not at the end of it.
    there_and_back = np.array([65504, 65504, -65504], np.float16)
    assert gpuport.sum(there_and_back, **at) == 65504


def test_float_results_past_the_end_are_infinite(target: Target) -> None:
    at = where(target)
    most = np.full(4, 65504, np.float16)
    assert gpuport.sum(most, **at) == INF
    assert gpuport.sum(-most, **at) == -INF
    assert gpuport.sum(most, dtype="float32", **at) == 4 * 65504
    assert gpuport.inclusive_scan(most, **at).tolist() == [65504, INF, INF, INF]
    assert gpuport.segmented_sum(most, [0, 1, 4], **at).tolist() == [65504, INF]
    assert gpuport.sum(np.full(4, np.finfo(np.float64).max), **at) == INF


# Determinism.


@variants("reduce")
def test_float_sums_repeat(kernel: Any, target: Target) -> None:
    repeat(kernel, target, gpuport.sum, 70_001)


@variants("scan")
def test_float_scans_repeat(kernel: Any, target: Target) -> None:
    repeat(kernel, target, gpuport.inclusive_scan, 9001)


@variants("softmax")
def test_softmax_repeats(kernel: Any, target: Target) -> None:
    repeat(kernel, target, gpuport.softmax, 2001)


def test_float_segments_repeat(target: Target) -> None:
    x = np.random.default_rng(0).normal(size=50_000).astype(np.float32)
    call = lambda **more: gpuport.segmented_sum(x, [0, 7, 40_000, 50_000], **where(target), **more)  # noqa: E731
    first = call(deterministic=True).tobytes()
    assert {call().tobytes() for _ in range(20)} == {first}


def repeat(kernel: Any, target: Target, function: Any, size: int) -> None:
    """Honoured, with twenty calls of the same bits, or refused."""
    x = np.random.default_rng(0).normal(size=size).astype(np.float32)
    if "float32" not in kernel.repeatable:
        with pytest.raises(ValueError, match=f"{kernel.name} is not deterministic for float32"):
            function(x, deterministic=True, **on(kernel, target))
        assert np.isfinite(function(x, **on(kernel, target))).all()
        return
    first = function(x, deterministic=True, **on(kernel, target)).tobytes()
    assert {function(x, **on(kernel, target)).tobytes() for _ in range(20)} == {first}


def test_the_default_is_deterministic_where_asked(target: Target) -> None:
    x = np.random.default_rng(1).normal(size=70_001).astype(np.float32)
    for name in ("sum", "inclusive_scan", "exclusive_scan", "softmax", "log_softmax", "logsumexp"):
        call = getattr(gpuport, name)
        first = call(x, deterministic=True, **where(target)).tobytes()
        assert {call(x, deterministic=True, **where(target)).tobytes() for _ in range(5)} == {first}
        for value in (False, 0, "yes"):
            with pytest.raises(ValueError, match="deterministic must be None or True"):
                call(x, deterministic=value, **where(target))


@variants("scan")
def test_integer_scans_repeat_whatever_the_kernel(kernel: Any, target: Target) -> None:
    x = np.random.default_rng(2).integers(-9, 10, 40_000).astype(np.int32)
    expected = np.cumsum(x, dtype=np.int64)
    for deterministic in [None, True] * 5:
        got = gpuport.inclusive_scan(x, deterministic=deterministic, **on(kernel, target))
        np.testing.assert_array_equal(got, expected)


@variants("softmax")
def test_rows_do_not_know_of_each_other(kernel: Any, target: Target) -> None:
    """NaN in every second row leaves the bits of the others as they are without it."""
    for width in (33, 700, 1500):
        x = np.random.default_rng(width).normal(size=(4, width)).astype(np.float32)
        spoiled = x.copy()
        spoiled[::2] = NAN
        got = gpuport.softmax(spoiled, axis=1, **on(kernel, target))
        clean = gpuport.softmax(x, axis=1, **on(kernel, target))
        assert got[1::2].tobytes() == clean[1::2].tobytes()


def test_exact_types_have_no_rounding(target: Target) -> None:
    """Sums of integers in any order have the same bits, whatever the variant or the warp width."""
    x = np.random.default_rng(3).integers(-(2**62), 2**62, 9001)
    expected = int(np.sum(x))
    for name in EXACT[1:]:
        narrow = x.astype(name)
        total = np.sum(narrow, dtype="uint64" if name.startswith("u") else "int64")
        assert gpuport.sum(narrow, **where(target)) == total
    assert gpuport.sum(x, **where(target)) == expected
