"""softmax, log_softmax and logsumexp over NumPy arrays, against SciPy in float64."""

from __future__ import annotations

import math
import warnings

import ml_dtypes
import numpy as np
import pytest
import scipy.special

import gpuport

FUNCTIONS = ["softmax", "log_softmax", "logsumexp"]
TOLERANCE = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 2e-6, "float64": 1e-14}
KINDS = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float32": np.float32,
    "float64": np.float64,
}


def sample(shape: tuple[int, ...], dtype: str = "float32", seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(scale=3, size=shape).astype(KINDS[dtype])


def reference(name: str, x: np.ndarray, axis, mask: np.ndarray | None = None) -> np.ndarray:
    """SciPy's answer in float64: a masked element is one of -inf, an empty row is ours."""
    x = x.astype(np.float64)
    if mask is not None:
        x = np.where(mask, x, -math.inf)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = getattr(scipy.special, name)(x, axis=axis)
    if mask is not None and name != "logsumexp":
        result = np.where(mask, result, 0 if name == "softmax" else -math.inf)
    return np.asarray(result)


def check(name: str, x: np.ndarray, axis=-1, mask=None, **options) -> np.ndarray:
    got = getattr(gpuport, name)(x, axis=axis, mask=mask, **options)
    kind = x.dtype.name if x.dtype.name in TOLERANCE else "float64"
    assert got.dtype == KINDS[kind]
    assert got.flags.c_contiguous
    assert got.flags.writeable
    full = None if mask is None else np.broadcast_to(mask, x.shape)
    tolerance = TOLERANCE[kind]
    np.testing.assert_allclose(
        got.astype(np.float64), reference(name, x, axis, full), rtol=tolerance, atol=tolerance
    )
    return got


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("axis", [0, 1, 2, -1, None])
def test_every_dtype_along_every_axis(name: str, dtype: str, axis, warp_size: int) -> None:
    check(name, sample((3, 5, 7), dtype), axis, warp_size=warp_size)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("cols", [1, 2, 31, 32, 33, 63, 64, 65, 1023, 1024, 1025, 2050])
def test_row_lengths(name: str, cols: int, warp_size: int) -> None:
    check(name, sample((5, cols)), warp_size=warp_size)


@pytest.mark.parametrize("variant", ["serial", "three_pass", "online_shuffle", "warp_row"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_variants(variant: str, name: str, warp_size: int) -> None:
    x = sample((4, 300))
    mask = np.random.default_rng(3).random((4, 300)) > 0.3
    check(name, x, variant=variant, warp_size=warp_size)
    check(name, x, mask=mask, variant=variant, warp_size=warp_size)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    "layout",
    [
        lambda a: a.transpose(2, 0, 1),
        lambda a: a[::-1, :, ::-2],
        np.asfortranarray,
        lambda a: np.broadcast_to(a[:, :1], (4, 50, 6)),
        lambda a: a.astype(">f4"),
        lambda a: a[:, None],
    ],
)
def test_layouts(name: str, layout) -> None:
    x = layout(sample((4, 50, 6)))
    x.flags.writeable = False
    for axis in range(x.ndim):
        check(name, x, axis)


def test_integers_are_computed_in_float64() -> None:
    for dtype in (np.int32, np.uint8, bool, np.int64):
        x = np.random.default_rng(2).integers(0, 2, (3, 40)).astype(dtype)
        check("softmax", x)
        check("logsumexp", x[:, ::-2], axis=0)


def test_masks_broadcast() -> None:
    x = sample((2, 3, 40, 50))
    rng = np.random.default_rng(5)
    for shape in ((50,), (40, 1), (40, 50), (2, 1, 1, 50), (2, 3, 40, 50), ()):
        mask = rng.random(shape) > 0.2 if shape else np.array(True)
        for axis in (-1, 1):
            for name in FUNCTIONS:
                got = getattr(gpuport, name)(x, axis=axis, mask=mask)
                full = np.broadcast_to(mask, x.shape)
                expected = reference(name, x, axis, full)
                empty = ~full.any(axis=axis, keepdims=True)
                if name == "softmax":
                    expected = np.where(empty, 0, expected)
                np.testing.assert_allclose(got, expected, rtol=2e-6, atol=2e-6)


def test_masked_elements_are_exact() -> None:
    x = sample((4, 70))
    mask = np.ones((4, 70), bool)
    mask[1] = False
    mask[2, 5] = False
    x[2, 5] = math.nan  # takes no part
    p = gpuport.softmax(x, mask=mask)
    assert p[1].tolist() == [0.0] * 70
    assert p[2, 5] == 0
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p[[0, 2, 3]].sum(axis=1), 1, rtol=1e-6)
    log = gpuport.log_softmax(x, mask=mask)
    assert (log[1] == -math.inf).all()
    assert log[2, 5] == -math.inf
    assert gpuport.logsumexp(x, mask=mask)[1] == -math.inf


def test_extreme_rows() -> None:
    wide = np.linspace(-50, 99.5, 300, dtype=np.float32)
    check("softmax", wide)
    check("log_softmax", wide)
    assert gpuport.softmax(np.array([-10000.0, 0, 10000])).tolist() == [0, 0, 1]
    low = np.array([-245000, -245001, -245002], np.float32)
    np.testing.assert_allclose(gpuport.softmax(low), [0.66524, 0.24473, 0.09003], atol=1e-5)
    check("log_softmax", (np.random.default_rng(0).random((4, 3)) - 1e7).astype(np.float32))
    assert (gpuport.softmax(np.zeros(512, ml_dtypes.bfloat16)) == 1 / 512).all()


def test_nan_and_infinity_stay_in_their_row() -> None:
    x = sample((4, 70))
    x[0, 69] = math.nan
    x[1, 3] = math.inf
    x[2] = -math.inf
    for name in ("softmax", "log_softmax"):
        got = getattr(gpuport, name)(x)
        assert np.isnan(got[:3]).all()
        assert np.isfinite(got[3]).all()
    total = gpuport.logsumexp(x)
    assert np.isnan(total[0])
    assert total[1] == math.inf
    assert total[2] == -math.inf


def test_a_row_with_some_minus_infinity() -> None:
    x = np.array([[0, -math.inf, 0, -math.inf]], np.float32)
    assert gpuport.softmax(x).tolist() == [[0.5, 0, 0.5, 0]]


@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0), (4, 0, 0)])
def test_empty(shape: tuple[int, ...]) -> None:
    x = np.empty(shape, np.float32)
    for axis in range(len(shape)):
        assert gpuport.softmax(x, axis=axis).shape == shape
        assert gpuport.log_softmax(x, axis=axis, mask=np.empty(shape, bool)).shape == shape
        total = gpuport.logsumexp(x, axis=axis)
        assert total.shape == x.sum(axis=axis).shape
        assert (total == -math.inf).all()


def test_zero_dimensional() -> None:
    assert gpuport.softmax(np.float32(3)) == 1
    assert gpuport.logsumexp(np.float64(3), axis=None) == 3
    assert gpuport.softmax(np.float32(3), mask=np.array(False)) == 0


def test_logsumexp_over_several_axes() -> None:
    check("logsumexp", sample((3, 4, 5)), axis=(0, 2))
    check("logsumexp", sample((3, 4, 5)), axis=None)
    with pytest.raises(TypeError, match="axis"):
        gpuport.softmax(sample((3, 4)), axis=(0, 1))


def test_shifting_a_row_changes_nothing() -> None:
    x = sample((5, 100), "float64").round(3)
    np.testing.assert_allclose(gpuport.softmax(x + 1000), gpuport.softmax(x), rtol=1e-12)
