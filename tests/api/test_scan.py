"""inclusive_scan and exclusive_scan over NumPy arrays, against NumPy's cumsum."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpuport
from test_random import FLOATS, INTEGERS, arrays
from test_reduce import EVERY, LAYOUTS, RUNNING, SIGNED, UNSIGNED, numpy_dtype, sample

VARIANTS = [k.name.partition(".")[2] for k in gpuport.kernels() if k.name.startswith("scan.")]
TAKEN = {kernel.name: kernel.dtypes for kernel in gpuport.kernels()}
SCANS = [gpuport.inclusive_scan, gpuport.exclusive_scan]


def reference(function: Any, x: np.ndarray, axis: int | None, dtype: Any) -> np.ndarray:
    """cumsum in x's shape; for the exclusive scan shifted by one place."""
    if axis is None or x.ndim == 0:
        return reference(function, x.reshape(-1), 0, dtype).reshape(x.shape)
    sums = np.cumsum(x, axis=axis, dtype=dtype)
    if function is gpuport.inclusive_scan:
        return sums
    return np.insert(sums, 0, 0, axis).take(range(x.shape[axis]), axis)


def default_dtype(name: str) -> str:
    if name in FLOATS:
        return name
    return "uint64" if name in UNSIGNED else "int64"


def test_running_example(warp_size: int) -> None:
    got = gpuport.exclusive_scan(RUNNING, warp_size=warp_size)
    assert (got.tolist(), got.dtype) == ([0, 3, 2, 6, 7, 12, 3, 5], np.int64)
    got = gpuport.inclusive_scan(RUNNING, warp_size=warp_size)
    assert (got.tolist(), got.dtype) == ([3, 2, 6, 7, 12, 3, 5, 11], np.int64)


@pytest.mark.parametrize("function", SCANS)
@pytest.mark.parametrize("dtype", EVERY)
@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1])
def test_every_dtype_along_every_axis(function, dtype: str, axis, warp_size: int) -> None:
    x = sample((3, 5, 70), dtype)
    got = function(x, axis=axis, warp_size=warp_size)
    assert got.dtype == numpy_dtype(default_dtype(dtype))
    assert got.shape == x.shape
    assert got.flags.c_contiguous
    assert got.flags.writeable
    expected = reference(function, x.astype(np.int64), axis, np.int64)
    # bfloat16 holds whole numbers up to 256; each result is rounded once.
    np.testing.assert_array_equal(got, expected.astype(got.dtype))


ALLOWED = {
    "bool": ["int64", "uint64", "float64"],
    **{name: ["int64", "float64"] for name in SIGNED},
    **{name: ["uint64", "int64", "float64"] for name in UNSIGNED[:3]},
    "uint64": ["uint64", "float64"],
    **{name: [name] for name in FLOATS},
}


@pytest.mark.parametrize("dtype", EVERY)
@pytest.mark.parametrize("result", [*EVERY, "complex128"])
def test_dtype_is_an_allowed_one_or_refused(dtype: str, result: str) -> None:
    x = sample((5, 33), dtype)
    if result in ALLOWED[dtype]:
        got = gpuport.inclusive_scan(x, dtype=result)
        assert got.dtype == numpy_dtype(result)
        np.testing.assert_array_equal(got, np.cumsum(x.astype(np.int64), axis=1).astype(got.dtype))
        got = gpuport.exclusive_scan(x.T, axis=0, dtype=result)
        np.testing.assert_array_equal(
            got, reference(gpuport.exclusive_scan, x.T.astype(np.int64), 0, np.int64)
        )
    else:
        with pytest.raises(TypeError, match=f"allowed: {', '.join(ALLOWED[dtype])}$"):
            gpuport.inclusive_scan(x, dtype=result)


def test_widening_before_adding() -> None:
    assert gpuport.inclusive_scan(np.full(3, 2**31 - 1, np.int32))[-1] == 6442450941
    assert gpuport.inclusive_scan(np.ones(300, np.uint8))[-1] == 300
    assert gpuport.inclusive_scan(np.ones(4096, np.float16))[-1] == 4096
    assert gpuport.exclusive_scan(np.full(4, 0.5)).tolist() == [0, 0.5, 1, 1.5]
    half = gpuport.inclusive_scan(np.ones(1000, ml_dtypes.bfloat16))
    np.testing.assert_array_equal(half, np.arange(1, 1001).astype(ml_dtypes.bfloat16))
    wrapped = gpuport.inclusive_scan(np.array([2**63 - 1, 1, 1], np.int64))
    assert wrapped.tolist() == [2**63 - 1, -(2**63), -(2**63) + 1]  # as NumPy's
    large = np.array([2**62, 2**62, 2**62], np.int64)
    assert gpuport.inclusive_scan(large, dtype=float).tolist() == [2.0**62, 2.0**63, 3 * 2.0**62]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["int16", "float64"])
def test_layouts(layout: str, dtype: str) -> None:
    x = LAYOUTS[layout](sample((37, 50), dtype))
    for axis in (None, *range(x.ndim)):
        for function in SCANS:
            wide = x.astype(default_dtype(dtype))
            np.testing.assert_array_equal(
                function(x, axis=axis), reference(function, wide, axis, wide.dtype)
            )


@pytest.mark.parametrize("function", SCANS)
@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0), (4, 0, 0), ()])
def test_empty_and_scalar_keep_their_shape(function, shape: tuple[int, ...]) -> None:
    got = function(np.full(shape, 3, np.int8))
    assert (got.shape, got.dtype) == (shape, np.int64)
    if shape == ():
        assert got == (3 if function is gpuport.inclusive_scan else 0)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("length", [1, 31, 32, 33, 64, 65, 511, 512, 513, 2047, 2049, 9001])
@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_variants(variant: str, length: int, dtype: str, warp_size: int) -> None:
    x = sample((2, length), dtype)
    on = {"variant": variant, "warp_size": warp_size}
    for function in SCANS:
        expected = reference(function, x, 1, default_dtype(dtype))
        np.testing.assert_array_equal(function(x, axis=1, **on), expected)
        np.testing.assert_array_equal(function(x.T, axis=0, **on), expected.T)


@pytest.mark.parametrize(
    ("variant", "dtype"),
    [(v, d) for v in VARIANTS for d in ("int64", "float64") if d in TAKEN[f"scan.{v}"]],
)
def test_in_place(variant: str, dtype: str, warp_size: int) -> None:
    for layout in (lambda a: a, lambda a: a[::-1, ::2], lambda a: a.T):
        for axis in (0, 1):
            x = layout(sample((6, 5000), dtype))
            expected = reference(gpuport.exclusive_scan, x, axis, dtype)
            out = gpuport.exclusive_scan(x, axis, out=x, variant=variant, warp_size=warp_size)
            assert out is x
            np.testing.assert_array_equal(x, expected)


def test_defaults_and_determinism() -> None:
    x = np.random.default_rng(0).normal(size=70_001).astype(np.float32)
    plain = gpuport.inclusive_scan(x)
    assert plain.tobytes() == gpuport.inclusive_scan(x, variant="lookback").tobytes()
    for values in (x, x.astype(np.int16)):
        first = gpuport.inclusive_scan(values, deterministic=True)
        assert first.tobytes() == gpuport.inclusive_scan(values, deterministic=True).tobytes()


def test_a_nan_reaches_what_comes_after_it() -> None:
    for variant in VARIANTS:
        for at in (0, 31, 64, 600, 2999):
            x = np.ones((2, 3000), np.float32)
            x[0, at] = math.nan
            got = np.isnan(gpuport.inclusive_scan(x, variant=variant))
            assert not got[1].any()
            assert np.flatnonzero(got[0]).tolist() == list(range(at, 3000))
            got = np.isnan(gpuport.exclusive_scan(x, variant=variant))
            assert np.flatnonzero(got[0]).tolist() == list(range(at + 1, 3000))


def test_errors_before_anything_is_written() -> None:
    out = np.full(8, 7, np.int64)
    refused: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"axis": 1}, ValueError, "axis 1 is out of bounds"),
        ({"axis": (0,)}, TypeError, "axis must be an integer or None"),
        ({"variant": "nonesuch"}, ValueError, "there are serial, hillis_steele"),
        ({"dtype": "float32"}, TypeError, "inclusive_scan: dtype=float32"),
        ({"dtype": "float64"}, TypeError, "out has dtype int64, the result is float64"),
        ({"nonfinite": "no"}, ValueError, "nonfinite"),
    ]
    for keywords, error, message in refused:
        with pytest.raises(error, match=message):
            gpuport.inclusive_scan(RUNNING, out=out, **keywords)
    with pytest.raises(ValueError, match=r"scan\.serial takes int32, float32, float64, not int8"):
        gpuport.inclusive_scan(np.ones(8, np.int8), out=out, variant="serial")
    for wrong in (np.zeros(7, np.int64), np.zeros((8, 1), np.int64)):
        with pytest.raises(ValueError, match="out has shape"):
            gpuport.inclusive_scan(RUNNING, out=wrong)
    assert (out == 7).all()
    memory = np.arange(10)
    with pytest.raises(ValueError, match="overlaps"):
        gpuport.inclusive_scan(memory[:8], out=memory[2:])
    assert memory.tolist() == list(range(10))
    x = np.array([1.0, math.inf])
    with pytest.raises(ValueError, match="not finite at index 1"):
        gpuport.inclusive_scan(x, nonfinite="raise")


@settings(deadline=None)  # a shared machine stalls
@given(
    x=arrays([*INTEGERS, *FLOATS]),
    data=st.data(),
    function=st.sampled_from(SCANS),
    warp_size=st.sampled_from([32, 64]),
)
def test_any_array(x: np.ndarray, data: st.DataObject, function: Any, warp_size: int) -> None:
    axis = data.draw(st.one_of(st.none(), st.integers(-x.ndim, x.ndim - 1))) if x.ndim else None
    got = function(x, axis=axis, warp_size=warp_size)
    expected = reference(function, x.astype(np.int64), axis, np.int64)
    np.testing.assert_array_equal(got, expected.astype(got.dtype))


@settings(deadline=None)
@given(
    lengths=st.tuples(st.integers(1, 3), st.integers(1, 6000)),
    variant=st.sampled_from(VARIANTS),
    seed=st.integers(0, 99),
    warp_size=st.sampled_from([32, 64]),
)
def test_any_length(lengths: tuple[int, int], variant: str, seed: int, warp_size: int) -> None:
    x = sample(lengths, "int32", seed)
    for function in SCANS:
        np.testing.assert_array_equal(
            function(x, variant=variant, warp_size=warp_size), reference(function, x, 1, np.int64)
        )


@pytest.mark.parametrize("cols", [1, 7, 16, 64, 65, 130, 256])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "uint8"])
def test_short_rows_have_the_same_bits_in_any_layout(cols: int, dtype: str, warp_size: int) -> None:
    x = sample((97, cols), dtype) if dtype == "uint8" else np.empty((97, cols), dtype)
    if dtype != "uint8":
        x[...] = np.random.default_rng(cols).normal(size=x.shape)
    on: dict[str, Any] = {"variant": "short_rows", "warp_size": warp_size}
    whole = gpuport.inclusive_scan(x, axis=1, **on)
    beside = gpuport.inclusive_scan(np.ascontiguousarray(x.T), axis=0, **on)
    assert beside.T.tobytes() == whole.tobytes()
    out = np.empty((97, 2 * cols), whole.dtype)[:, ::-2]
    gpuport.inclusive_scan(x[::-1], axis=1, out=out, **on)
    assert out[::-1].tobytes() == whole.tobytes()
    assert gpuport.inclusive_scan(x, axis=1, warp_size=warp_size).tobytes() == whole.tobytes()
