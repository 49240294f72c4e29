"""Small cases with exact answers, and inputs that have broken libraries of this kind."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gpuport
from gpuport.testing import Target
from gpuport.testing.dtypes import Array

X = np.array([3, -1, 4, 1, 5, -9, 2, 6], np.int32)
KERNELS = {
    family: [
        k.name for k in gpuport.kernels() if k.name.startswith(f"{family}.") and op in k.operations
    ]
    for family, op in (("reduce", "sum"), ("softmax", "softmax"))
}
every_reduction = pytest.mark.parametrize("kernel", KERNELS["reduce"])
every_softmax = pytest.mark.parametrize("kernel", KERNELS["softmax"])


def where(kernel: str, target: Target) -> dict[str, Any]:
    variant = kernel.partition(".")[2]
    return {"backend": target.backend, "warp_size": target.warp_size, "variant": variant}


@every_reduction
def test_the_running_example(kernel: str, target: Target) -> None:
    on = where(kernel, target)
    total = gpuport.sum(X, **on)
    assert (int(total), total.dtype) == (11, np.int64)
    largest, smallest = gpuport.max(X, **on), gpuport.min(X, **on)
    assert (int(largest), largest.dtype) == (6, np.int32)
    assert (int(smallest), smallest.dtype) == (-9, np.int32)


@every_reduction
def test_elements_are_widened_before_they_are_added(kernel: str, target: Target) -> None:
    x = np.full(3, 2**31 - 1, np.int32)
    assert int(gpuport.sum(x, **where(kernel, target))) == 6442450941


@every_reduction
def test_float_sums_are_repeatable_not_accurate(kernel: str, target: Target) -> None:
    """(1e8 + 1) - 1e8 is 0 in f32, (1e8 - 1e8) + 1 is 1: either order, always the same one."""
    x = np.array([1e8, 1, -1e8], np.float32)
    results = {float(gpuport.sum(x, **where(kernel, target))) for _ in range(20)}
    assert len(results) == 1
    assert results <= {0.0, 1.0}


@pytest.mark.parametrize(
    ("dtype", "count", "total"),
    [
        (np.float16, 4096, 4096),
        (ml_dtypes.bfloat16, 70000, 70144),  # 70,000 rounded to bfloat16
        (np.uint8, 300, 300),
        (np.bool_, 70000, 70000),
    ],
)
def test_narrow_types_have_wide_accumulators(
    dtype: Any, count: int, total: int, target: Target
) -> None:
    x = np.ones(count, dtype)
    assert float(gpuport.sum(x, **where("reduce.single_pass", target))) == total


@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0), (4, 0, 0)])
def test_the_sum_of_nothing(shape: tuple[int, ...], target: Target) -> None:
    x = np.zeros(shape, np.float32)
    on = where("reduce.single_pass", target)
    assert float(gpuport.sum(x, **on)) == 0
    assert gpuport.sum(x, axis=-1, **on).tolist() == np.sum(x, axis=-1).tolist()
    with pytest.raises(ValueError, match="of no elements"):
        gpuport.max(x, **on)


@every_softmax
def test_softmax_at_the_ends_of_exp(kernel: str, target: Target) -> None:
    x = np.array([[-10000, 0, 10000]], np.float32)
    assert gpuport.softmax(x, **where(kernel, target)).tolist() == [[0, 0, 1]]


@every_softmax
def test_softmax_below_any_finite_start_value(kernel: str, target: Target) -> None:
    x = np.array([[-245000, -245001, -245002]], np.float32)
    got = gpuport.softmax(x, **where(kernel, target))
    np.testing.assert_allclose(got, [[0.66524, 0.24473, 0.09003]], atol=5e-6)


@every_softmax
def test_a_shift_by_1000(kernel: str, target: Target) -> None:
    x = np.array([X, X[::-1]], np.float64)
    on = where(kernel, target)
    np.testing.assert_allclose(
        gpuport.softmax(x + 1000, **on), gpuport.softmax(x, **on), rtol=1e-14
    )


@every_softmax
def test_the_state_of_the_running_example(kernel: str, target: Target) -> None:
    """m = 6 and d = 1.578968: logsumexp is m + log d."""
    got = gpuport.logsumexp(X.astype(np.float64)[None], **where(kernel, target))
    np.testing.assert_allclose(np.exp(got - 6), [1.578968], atol=5e-7)


@every_softmax
def test_a_row_that_is_masked_out(kernel: str, target: Target) -> None:
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    mask = np.ones((4, 4), bool)
    mask[1] = False
    on = where(kernel, target)
    probabilities = gpuport.softmax(x, mask=mask, **on)
    assert probabilities[1].tolist() == [0] * 4
    np.testing.assert_allclose(probabilities.sum(axis=1), [1, 0, 1, 1], atol=1e-6)
    assert gpuport.log_softmax(x, mask=mask, **on)[1].tolist() == [-np.inf] * 4
    assert gpuport.logsumexp(x, mask=mask, **on)[1] == -np.inf


@every_softmax
@pytest.mark.parametrize(
    ("row", "logsumexp"),
    [([-np.inf] * 3, -np.inf), ([1, np.inf, 2], np.inf), ([1, np.nan, np.inf], np.nan)],
)
def test_rows_that_have_no_softmax(
    kernel: str, row: list[float], logsumexp: float, target: Target
) -> None:
    x = np.array([[1, 2, 3], row, [4, 5, 6]], np.float32)
    on = where(kernel, target)
    for function in (gpuport.softmax, gpuport.log_softmax):
        got: Array = function(x, **on)
        assert np.isnan(got[1]).all()
        assert np.isfinite(got[[0, 2]]).all()
    np.testing.assert_equal(gpuport.logsumexp(x, **on)[1], np.float32(logsumexp))


@every_softmax
def test_the_empty_row_has_the_neutral_logsumexp(kernel: str, target: Target) -> None:
    x = np.zeros((3, 0), np.float32)
    on = where(kernel, target)
    assert gpuport.softmax(x, **on).shape == (3, 0)
    assert gpuport.logsumexp(x, **on).tolist() == [-np.inf] * 3


@pytest.mark.slow
@pytest.mark.parametrize("length", [2**31 - 1, 2**31 + 7])
def test_lengths_around_2_to_the_31(length: int, cpu: Target) -> None:
    """One byte, seen so many times: no memory, but every index."""
    x = np.broadcast_to(np.int8(1), (length,))
    assert int(gpuport.sum(x, **where("reduce.single_pass", cpu))) == length
