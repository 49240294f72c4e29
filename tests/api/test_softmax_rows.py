"""Rows that stay on the chip: every alignment, places that decide, results in place of the input.

On the CPU a row of split_row has tiles of 1,024 float32: 3,001 columns are three of them, and
70,001 are more than the blocks of one launch can stream.
"""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

import gpuport

VARIANTS = [
    ("warp_row", 37),
    ("warp_row", 1021),
    ("online_registers", 3001),
    ("split_row", 3001),
    ("split_row", 70001),
]
DTYPES = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16]
# Of relative error, at up to 40 from the maximum: the distance is rounded, in float32 twice.
UNITS = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-18, "float64": 2.0**-46}


def rows_at(offset: int, rows: int, cols: int, dtype: type) -> np.ndarray:
    """Rows of which the first begins `offset` elements past an alignment of 64 bytes."""
    size = rows * (cols + 3) + 64
    whole = np.zeros(size + 64, dtype)
    start = -whole.ctypes.data // whole.itemsize % (64 // whole.itemsize) + offset
    return whole[start : start + rows * (cols + 3)].reshape(rows, cols + 3)[:, :cols]


def expected(x: np.ndarray) -> np.ndarray:
    x = x.astype(np.longdouble)
    with np.errstate(invalid="ignore"):
        weights = np.exp(x - x.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("variant", "cols"), VARIANTS)
def test_every_alignment(variant: str, cols: int, dtype: type, warp_size: int) -> None:
    per_pack = 16 // np.dtype(dtype).itemsize
    for offset in range(per_pack):
        x = rows_at(offset, 2, cols, dtype)
        x[...] = np.random.default_rng(offset).normal(scale=4, size=x.shape)
        out = rows_at((offset * 3 + 1) % per_pack, 2, cols, dtype)
        options = {"variant": variant, "warp_size": warp_size}
        got = gpuport.softmax(x, **options)
        wide, right = got.astype(np.longdouble), expected(x)
        unit = UNITS[np.dtype(dtype).name]
        tiny = 6e-8 if np.dtype(dtype) == np.float16 else 1e-37
        assert np.all(np.abs(wide - right) <= unit * right + tiny), offset
        gpuport.softmax(x, out=out, **options)
        assert got.tobytes() == out.tobytes(), f"out= of another alignment, offset {offset}"
        strided = np.zeros((cols, 2), dtype).T
        gpuport.softmax(x, out=strided, **options)
        assert got.tobytes() == strided.tobytes(), f"out= transposed, offset {offset}"
        gpuport.softmax(x, out=x, **options)
        assert got.tobytes() == x.tobytes(), f"in place, offset {offset}"


# Whole numbers of packs, for which 16-bit elements have kernels of their own.
WHOLE = [
    ("warp_row", 128),
    ("warp_row", 1024),
    ("online_registers", 2048),
    ("online_registers", 6144),
    ("split_row", 6144),
    ("split_row", 69632),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("variant", "cols"), WHOLE)
def test_whole_packs(variant: str, cols: int, dtype: type, warp_size: int) -> None:
    x = np.random.default_rng(cols).normal(scale=4, size=(2, cols)).astype(dtype)
    options = {"variant": variant, "warp_size": warp_size}
    got = gpuport.softmax(x, **options)
    unit = UNITS[np.dtype(dtype).name]
    tiny = 6e-8 if np.dtype(dtype) == np.float16 else 1e-37
    right = expected(x)
    assert np.all(np.abs(got.astype(np.longdouble) - right) <= unit * right + tiny)
    out = rows_at(1, 2, cols, dtype)
    gpuport.softmax(x, out=out, **options)
    assert got.tobytes() == out.tobytes(), "out= that is not aligned"
    gpuport.softmax(x, out=x, **options)
    assert got.tobytes() == x.tobytes(), "in place"


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize(
    ("variant", "cols"), [("warp_row", 320), *VARIANTS[2:4], WHOLE[2], WHOLE[4]]
)
def test_maxima_of_any_size(variant: str, cols: int, dtype: type, warp_size: int) -> None:
    """Of 16-bit elements maximum and scale are multiplied before they are subtracted."""
    largest = float(ml_dtypes.finfo(dtype).max)
    powers = [2.0**e for e in (-20, 0, 3, 8, 11, 15, 19.99, 20, 20.01, 24, 60, 127)]
    spread = np.linspace(-12, 0, cols, dtype=np.float32)
    for size in [p for p in powers if p <= largest] + [largest]:
        # The nearest neighbours of a large number are far away.
        near = np.concatenate([size + spread, size * (1 + spread / 64), -size + spread])
        near = np.clip(near, -largest, largest).astype(dtype).reshape(3, cols)
        for x in (near, -near):
            got = gpuport.softmax(x, variant=variant, warp_size=warp_size)
            right = expected(x)
            tiny = 6e-8 if np.dtype(dtype) == np.float16 else 1e-37
            error = np.abs(got.astype(np.longdouble) - right)
            assert np.all(error <= UNITS[np.dtype(dtype).name] * right + tiny), size


@pytest.mark.parametrize(("variant", "cols"), VARIANTS)
def test_one_element_decides(variant: str, cols: int, warp_size: int) -> None:
    """Wherever it is: in the head before the first pack, in the tail, at the ends of tiles."""
    x = rows_at(1, 2, cols, np.float32)
    places = {0, 1, 2, 3, 4, 255, 256, 1023, 1024, 1026, 1027, 1028, 2047, cols - 2, cols - 1}
    options = {"variant": variant, "warp_size": warp_size}
    for place in sorted(p for p in places if p < cols):
        x[...] = -40
        x[0, place] = 60
        p = gpuport.softmax(x, **options)
        assert p[0, place] == 1
        assert p[0].sum() == 1
        np.testing.assert_allclose(p[1], 1 / cols, rtol=1e-6)
        assert gpuport.logsumexp(x, **options)[0] == 60
        x[0, place] = math.nan
        assert np.isnan(gpuport.softmax(x, **options)[0]).all()
        assert np.isnan(gpuport.logsumexp(x, **options)[0])
        x[0, place] = math.inf
        assert np.isnan(gpuport.log_softmax(x, **options)[0]).all()
        assert gpuport.logsumexp(x, **options)[0] == math.inf
