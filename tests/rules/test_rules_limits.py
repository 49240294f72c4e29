"""The rules of docs/rules.md, on every backend: empty input, overflow, determinism."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gpuport
from gpuport._dtypes import ALL, EXACT, FLOATS, numpy_dtype
from gpuport.testing import Target
from places import where
from variants import INF, NAN, on, variants

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
