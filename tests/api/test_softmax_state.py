"""softmax_state and merge_softmax_states: exact values, rules at the edges, errors."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gpuport
from fake_gpu import FakeModule
from gpuport import DeviceArray

X = np.array([3, -1, 4, 1, 5, -9, 2, 6], np.float64)
EMPTY = (np.array(-math.inf), np.array(0.0))


def numbers(state: Any) -> tuple[float, float]:
    m, d = state
    return float(m), float(d)


def test_the_running_example(warp_size: int) -> None:
    left = gpuport.softmax_state(X[:4], warp_size=warp_size)
    right = gpuport.softmax_state(X[4:], warp_size=warp_size)
    assert numbers(left) == (4, pytest.approx(1.424404, abs=5e-7))
    assert numbers(right) == (6, pytest.approx(1.386195, abs=5e-7))
    merged = gpuport.merge_softmax_states(left, right, warp_size=warp_size)
    assert numbers(merged) == (6, pytest.approx(1.578968, abs=5e-7))
    assert numbers(merged) == pytest.approx(numbers(gpuport.softmax_state(X)), rel=1e-15)


@pytest.mark.parametrize(
    ("dtype", "carried"),
    [
        (np.float16, np.float32),
        (ml_dtypes.bfloat16, np.float32),
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.int8, np.float64),
        (np.uint64, np.float64),
        (np.bool_, np.float64),
    ],
)
def test_dtypes(dtype: Any, carried: Any) -> None:
    x = np.array([[1, 0, 1], [0, 0, 0]], dtype)
    m, d = gpuport.softmax_state(x)
    assert (m.dtype, d.dtype, m.shape) == (carried, carried, (2,))
    assert m.tolist() == [1, 0]
    np.testing.assert_allclose(d, [2 + math.exp(-1), 3], rtol=1e-6)


@pytest.mark.parametrize("cols", [0, 1, 5, 33, 1025, 9001])
def test_rows_that_leave_nothing(cols: int, warp_size: int) -> None:
    x = np.full((3, cols), -math.inf, np.float32)
    for mask in (None, np.zeros(cols, bool)):
        m, d = gpuport.softmax_state(x, mask=mask, warp_size=warp_size)
        assert m.tolist() == [-math.inf] * 3
        assert d.tolist() == [0] * 3
    m, d = gpuport.softmax_state(np.ones((3, cols)), mask=np.zeros(cols, bool))
    assert (m.tolist(), d.tolist()) == ([-math.inf] * 3, [0] * 3)


def test_infinities_and_nans(warp_size: int) -> None:
    inf, nan = math.inf, math.nan
    rows = [[inf, inf, 1], [-inf, 5, -inf], [1, nan, inf], [nan, -inf, -inf], [nan, nan, nan]]
    m, d = gpuport.softmax_state(np.array(rows), warp_size=warp_size)
    np.testing.assert_array_equal(m, [inf, 5, inf, -inf, -inf])
    np.testing.assert_array_equal(d, [2, 1, nan, nan, nan])


def test_axes_and_masks() -> None:
    rng = np.random.default_rng(0)
    x, mask = rng.normal(size=(3, 40, 5)), rng.random((40, 1)) < 0.5
    for axis in (0, 1, -1, (0, 2), None):
        m, d = gpuport.softmax_state(x, axis=axis, mask=mask)
        kept = np.where(mask, x, -math.inf)
        top = kept.max(axis=axis)
        np.testing.assert_array_equal(m, top, strict=axis is not None)
        over = kept.max(axis=axis, keepdims=True)
        shift = np.where(np.isinf(over), 0, over)
        np.testing.assert_allclose(d, np.exp(kept - shift).sum(axis=axis), rtol=1e-13)


def test_what_a_state_is_for() -> None:
    x = np.random.default_rng(1).normal(size=(7, 3000))
    m, d = gpuport.softmax_state(x)
    np.testing.assert_allclose(m + np.log(d), gpuport.logsumexp(x), rtol=1e-14)
    np.testing.assert_allclose(np.exp(x - m[:, None]) / d[:, None], gpuport.softmax(x), rtol=1e-12)
    assert m.flags.writeable
    assert d.flags.c_contiguous


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_empty_state_changes_no_bit(dtype: Any, warp_size: int) -> None:
    bits = np.uint32 if dtype is np.float32 else np.uint64
    payload = np.array([0x7FC12345 if dtype is np.float32 else 0x7FF8000012345678], bits)
    odd = [*payload.view(dtype), math.inf, -math.inf, -0.0, 0.0, 1e-40, 3.5, -7.25]
    a = (np.array(odd, dtype), np.array([1, 2, 3, 4, *payload.view(dtype), 1e-40, 5, 6], dtype))
    empty = (np.full(8, -math.inf, dtype), np.zeros(8, dtype))
    for merged in (
        gpuport.merge_softmax_states(a, empty, warp_size=warp_size),
        gpuport.merge_softmax_states(empty, a, warp_size=warp_size),
    ):
        for got, expected in zip(merged, a, strict=True):
            assert got.view(bits).tolist() == expected.view(bits).tolist()
    both = gpuport.merge_softmax_states(empty, empty, warp_size=warp_size)
    assert (both[0].tolist(), both[1].tolist()) == ([-math.inf] * 8, [0] * 8)


def test_merging_by_parts_in_any_layout(warp_size: int) -> None:
    x = np.random.default_rng(2).normal(size=(40, 30, 9)) * 20
    whole = gpuport.softmax_state(x)
    state = (np.full((30, 40), -math.inf).T, np.zeros((40, 60))[:, ::-2])
    for part in np.array_split(x, 4, axis=2):
        state = gpuport.merge_softmax_states(
            state, gpuport.softmax_state(part), warp_size=warp_size
        )
    np.testing.assert_array_equal(state[0], whole[0], strict=True)
    np.testing.assert_allclose(state[1], whole[1], rtol=1e-14)


@pytest.mark.parametrize("warp_size", [32, 64])
def test_a_maximum_that_is_a_nan_is_none(warp_size: int) -> None:
    nan, two = (np.float64(math.nan), np.float64(1)), (np.float64(2), np.float64(3))
    for first, second in ((nan, two), (two, nan)):
        m, d = gpuport.merge_softmax_states(first, second, warp_size=warp_size)
        assert m == 2
        assert np.isnan(d)
    m, d = gpuport.merge_softmax_states(nan, nan, warp_size=warp_size)
    assert m == -math.inf
    assert np.isnan(d)


def test_no_states_at_all() -> None:
    none = (np.empty((3, 0)), np.empty((3, 0)))
    merged = gpuport.merge_softmax_states(none, none)
    assert [part.shape for part in merged] == [(3, 0), (3, 0)]
    m, d = gpuport.softmax_state(np.empty((0, 5)))
    assert m.shape == d.shape == (0,)


def test_errors() -> None:
    one = (np.zeros(3), np.ones(3))
    refused: list[tuple[Any, type[Exception], str]] = [
        ((np.zeros(3),), TypeError, r"b must be a pair \(m, d\)"),
        (np.zeros((2, 3)), TypeError, r"b must be a pair"),
        ((np.zeros(3, np.float32), np.ones(3)), TypeError, r"b\[0\] is float32, a\[0\] float64"),
        ((np.zeros(3, int), np.ones(3)), TypeError, r"b\[0\] must be float32 or float64, not int"),
        ((np.zeros(3), np.ones(4)), ValueError, r"b\[1\] has shape \(4,\), a\[0\] has \(3,\)"),
    ]
    for state, error, message in refused:
        with pytest.raises(error, match=f"merge_softmax_states: {message}"):
            gpuport.merge_softmax_states(one, state)
    with pytest.raises(ValueError, match=r"computes softmax_state, not merge_softmax_states"):
        gpuport.merge_softmax_states(one, one, variant="row_state")
    with pytest.raises(ValueError, match=r"softmax\.warp_row computes softmax, .*\.row_state does"):
        gpuport.softmax_state(X, variant="warp_row")
    with pytest.raises(TypeError, match="mask must be boolean"):
        gpuport.softmax_state(X, mask=np.ones(8, int))


def test_nonfinite_is_refused_on_request() -> None:
    with pytest.raises(ValueError, match="x is not finite at index 2"):
        gpuport.softmax_state(np.array([1, 2, math.nan]), nonfinite="raise")
    with pytest.raises(ValueError, match=r"leaves nothing of the row at index \(1, 0\)"):
        gpuport.softmax_state(np.ones((2, 2)), mask=np.array([[True], [False]]), nonfinite="raise")
    empty, fine = (np.full(2, -math.inf), np.zeros(2)), (np.zeros(2), np.ones(2))
    got = gpuport.merge_softmax_states(empty, fine, nonfinite="raise")
    assert got[1].tolist() == [1, 1]
    with pytest.raises(ValueError, match="b is not finite at index 1"):
        gpuport.merge_softmax_states(
            fine, (np.zeros(2), np.array([1, math.nan])), nonfinite="raise"
        )


def test_places_do_not_mix(fake_cuda: FakeModule) -> None:
    def device(ordinal: int) -> DeviceArray:
        return DeviceArray.from_numpy(np.ones(3), backend="cuda", device=ordinal)

    with pytest.raises(ValueError, match=r"b\[1\] is on cuda device 1, a\[0\] on cuda device 0"):
        gpuport.merge_softmax_states((device(0), device(0)), (device(0), device(1)))
