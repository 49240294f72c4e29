"""JAX arrays on the CPU."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import gpuport

jax = pytest.importorskip("jax", reason="JAX is not installed")


@pytest.fixture(autouse=True)
def on_the_cpu():
    with jax.default_device(jax.devices("cpu")[0]):
        yield


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint16", "bool"])
def test_sums_are_64_bits_wide_even_with_x64_disabled(dtype: str) -> None:
    x = jax.numpy.ones((3, 4), dtype=dtype)
    total = gpuport.sum(x, axis=0)
    assert isinstance(total, jax.Array)
    assert total.dtype == ("uint64" if dtype == "uint16" else "int64")
    assert total.tolist() == [3, 3, 3, 3]
    assert gpuport.sum(jax.numpy.full(3, 2**31 - 1, "int32")).item() == 6442450941
    assert gpuport.sum(x, dtype="float64").dtype == np.float64


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_softmax(dtype: str) -> None:
    x = jax.random.normal(jax.random.key(0), (5, 70)).astype(dtype)
    for axis in (0, 1, None):
        got = gpuport.softmax(x, axis=axis, mask=None)
        assert got.dtype == x.dtype
        assert got.shape == x.shape
        expected = gpuport.softmax(np.asarray(x), axis=axis)
        assert np.asarray(got).tobytes() == expected.tobytes()
    assert gpuport.max(x).dtype == x.dtype
    assert np.asarray(gpuport.max(x)) == np.asarray(x).max()


def test_results_stay_on_the_device_of_the_input() -> None:
    device = jax.devices("cpu")[-1]
    x = jax.device_put(jax.numpy.ones(4), device)
    assert gpuport.softmax(x).devices() == {device}


def test_empty_and_zero_dimensional() -> None:
    assert gpuport.sum(jax.numpy.zeros((0, 5)), axis=0).tolist() == [0] * 5
    assert gpuport.softmax(jax.numpy.zeros((0, 5))).shape == (0, 5)
    assert gpuport.sum(jax.numpy.float32(3)).shape == ()


def test_out_is_refused_since_arrays_are_immutable() -> None:
    x = jax.numpy.ones(4)
    with pytest.raises(TypeError, match="immutable"):
        gpuport.softmax(x, out=x)
    out = np.zeros(4, np.float32)
    assert gpuport.softmax(x, out=out) is out
    assert out.tolist() == [0.25] * 4


def test_tracers_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match="pure_callback"):
        jax.jit(gpuport.sum)(jax.numpy.ones(4))


def test_masks_and_kinds_mix_on_the_host() -> None:
    x = jax.numpy.arange(4.0)
    mask = jax.numpy.array([True, False, True, True])
    got = gpuport.softmax(x, mask=mask)
    assert got[1] == 0
    np.testing.assert_array_equal(got, gpuport.softmax(np.asarray(x), mask=np.asarray(mask)))


def test_bfloat16_of_jax_is_that_of_ml_dtypes() -> None:
    x = jax.numpy.ones(300, "bfloat16")
    assert gpuport.sum(np.asarray(x)).dtype == ml_dtypes.bfloat16
    assert gpuport.sum(x, dtype="float32").item() == 300


def test_scans_and_selections() -> None:
    x = jax.numpy.array([[3, -1, 4, 1], [5, -9, 2, 6]])
    sums = gpuport.inclusive_scan(x, axis=None)
    assert isinstance(sums, jax.Array)
    assert (sums.tolist(), sums.dtype) == ([[3, 2, 6, 7], [12, 3, 5, 11]], np.int64)
    assert gpuport.argmax(x, axis=1).tolist() == [2, 3]
    assert gpuport.compact(x, x > 3).tolist() == [4, 5, 6]
    assert gpuport.compact(x, x > 99).shape == (0,)
    assert gpuport.nonzero(x < 0).tolist() == [1, 5]
    assert gpuport.segmented_sum(x[0], jax.numpy.array([0, 2, 2, 4])).tolist() == [2, 0, 5]
