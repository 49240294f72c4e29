"""sum, max and min over NumPy arrays, against NumPy in exact integers or float64."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

import gpuport

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
EVERY = ["bool", *SIGNED, *UNSIGNED, *FLOATS]
RUNNING = np.array([3, -1, 4, 1, 5, -9, 2, 6], np.int32)


def numpy_dtype(name: str) -> np.dtype:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def sample(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    """Integers in [-9, 9] (from 0 where there is no sign): every partial sum is exact."""
    low = 0 if dtype == "bool" or dtype in UNSIGNED else -9
    values = np.random.default_rng(seed).integers(low, 2 if dtype == "bool" else 10, shape)
    return values.astype(numpy_dtype(dtype))


def test_running_example(warp_size: int) -> None:
    assert gpuport.sum(RUNNING, warp_size=warp_size) == 11
    assert gpuport.max(RUNNING, warp_size=warp_size) == 6
    assert gpuport.min(RUNNING, warp_size=warp_size) == -9


@pytest.mark.parametrize("dtype", EVERY)
@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1, (0, 2), ()])
def test_every_dtype_along_every_axis(dtype: str, axis, warp_size: int) -> None:
    x = sample((3, 5, 7), dtype)
    exact = x.astype(np.int64)
    total = gpuport.sum(x, axis=axis, warp_size=warp_size)
    result = {"b": "int64", "i": "int64", "u": "uint64"}.get(numpy_dtype(dtype).kind, dtype)
    if dtype == "bfloat16":
        result = dtype
    assert total.dtype == numpy_dtype(result)
    np.testing.assert_array_equal(total.astype(np.int64), exact.sum(axis=axis))
    for ours, theirs in ((gpuport.max, np.max), (gpuport.min, np.min)):
        extreme = ours(x, axis=axis, warp_size=warp_size)
        assert extreme.dtype == x.dtype
        np.testing.assert_array_equal(extreme.astype(np.int64), theirs(exact, axis=axis))


ALLOWED = {
    "bool": ["int64", "uint64", "float64"],
    **{name: ["int64", "float64"] for name in SIGNED},
    **{name: ["uint64", "int64", "float64"] for name in UNSIGNED[:3]},
    "uint64": ["uint64", "float64"],
    "float16": ["float16", "float32", "float64"],
    "bfloat16": ["bfloat16", "float32", "float64"],
    "float32": ["float32", "float64"],
    "float64": ["float64"],
}


@pytest.mark.parametrize("dtype", EVERY)
@pytest.mark.parametrize("result", [*EVERY, "complex128"])
def test_sum_dtype_is_an_allowed_one_or_refused(dtype: str, result: str) -> None:
    x = sample((40,), dtype)
    if result in ALLOWED[dtype]:
        total = gpuport.sum(x, dtype=result)
        assert total.dtype == numpy_dtype(result)
        assert int(total) == int(x.astype(np.int64).sum())
    else:
        with pytest.raises(TypeError, match=", ".join(ALLOWED[dtype])):
            gpuport.sum(x, dtype=result)


@pytest.mark.parametrize("form", [np.float64, "float64", "f8", float, np.dtype("float64")])
def test_dtype_is_written_as_numpy_takes_it(form: object) -> None:
    assert gpuport.sum(RUNNING, dtype=form).dtype == np.float64


def test_widening_before_adding() -> None:
    assert gpuport.sum(np.full(3, 2**31 - 1, np.int32)) == 6442450941
    assert gpuport.sum(np.ones(300, np.uint8)) == 300
    assert gpuport.sum(np.ones(4096, np.float16)) == 4096
    ones = np.ones(70_000, ml_dtypes.bfloat16)
    assert float(gpuport.sum(ones)) == 70_144  # 70,000 rounded once
    assert gpuport.sum(ones, dtype="float32") == 70_000
    assert gpuport.sum(np.array([2**63 - 1, 1], np.int64)) == -(2**63)  # wraps as NumPy's


LAYOUTS = {
    "reversed": lambda a: a[::-1],
    "reversed columns": lambda a: a[:, ::-1],
    "every second": lambda a: a[::2, ::3],
    "transposed": lambda a: a.T,
    "fortran": np.asfortranarray,
    "broadcast rows": lambda a: np.broadcast_to(a[0], (6, a.shape[1])),
    "broadcast columns": lambda a: np.broadcast_to(a[:, :1], (a.shape[0], 70)),
    "one row": lambda a: a[:1],
    "one column": lambda a: a[:, :1],
    "added axes": lambda a: a[:, None, ::2, None],
    "big endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
def test_layouts(layout: str, axis: int | None, dtype: str) -> None:
    x = LAYOUTS[layout](sample((37, 50), dtype))
    np.testing.assert_array_equal(gpuport.sum(x, axis=axis), x.astype(np.int64).sum(axis=axis))
    np.testing.assert_array_equal(gpuport.max(x, axis=axis), x.max(axis=axis))
    np.testing.assert_array_equal(gpuport.min(x, axis=axis), x.min(axis=axis))


def test_a_view_sums_to_the_bits_of_its_copy() -> None:
    x = np.random.default_rng(1).normal(size=(70, 90)).astype(np.float32)
    for view in (x.T, x[::-1, ::2], np.asfortranarray(x), x.reshape(7, 10, 90)[:, ::3]):
        assert gpuport.sum(view).tobytes() == gpuport.sum(view.copy()).tobytes()


def test_packed_fields_and_frozen_inputs() -> None:
    record = np.zeros(10, np.dtype([("a", "u1"), ("b", "<f4")]))
    record["b"] = 1.5
    assert gpuport.sum(record["b"]) == 15
    assert gpuport.sum(np.frombuffer(b"\x01\x02\x03", np.uint8)) == 6
    assert gpuport.sum(np.broadcast_to(np.float64(2), (5, 5))) == 50


def test_misaligned_input() -> None:
    raw = np.zeros(4 * 8 + 1, np.uint8)
    x = raw[1:].view(np.float64)
    x[:] = [1, 2, 3, 4]
    assert not x.flags.aligned
    assert gpuport.sum(x) == 10


@pytest.mark.parametrize("length", [0, 1, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1023, 1025, 4099])
def test_lengths(length: int, warp_size: int) -> None:
    x = sample((length,), "int32", seed=length)
    assert gpuport.sum(x, warp_size=warp_size) == int(x.sum())
    rows = sample((length, 3), "int32", seed=length)
    np.testing.assert_array_equal(gpuport.sum(rows, 1, warp_size=warp_size), rows.sum(1))


def test_zero_and_one_dimensional_results_are_writable_arrays() -> None:
    for result in (gpuport.sum(RUNNING), gpuport.max(np.float32(3)), gpuport.sum(RUNNING, axis=())):
        assert isinstance(result, np.ndarray)
        assert result.flags.writeable
        assert result.flags.c_contiguous
    assert gpuport.sum(np.float32(3), axis=-1).shape == ()


@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0), (4, 0, 0), (0, 0)])
def test_empty(shape: tuple[int, ...]) -> None:
    x = np.empty(shape, np.float32)
    for axis in (None, *range(len(shape))):
        total = gpuport.sum(x, axis=axis)
        np.testing.assert_array_equal(total, x.sum(axis=axis), strict=True)
        for ours, theirs in ((gpuport.max, np.max), (gpuport.min, np.min)):
            try:
                expected = theirs(x, axis=axis)
            except ValueError:
                with pytest.raises(ValueError, match="no elements"):
                    ours(x, axis=axis)
            else:
                np.testing.assert_array_equal(ours(x, axis=axis), expected, strict=True)


@pytest.mark.parametrize("at", [0, 31, 32, 63, 64, 199])
@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_propagates_and_stays_in_its_row(at: int, dtype: str, warp_size: int) -> None:
    x = sample((3, 200), dtype)
    x[1, at] = math.nan
    for function in (gpuport.sum, gpuport.max, gpuport.min):
        result = function(x, axis=1, warp_size=warp_size).astype(np.float64)
        assert np.isnan(result).tolist() == [False, True, False]
        assert np.isnan(function(x, warp_size=warp_size).astype(np.float64))


def test_extremes_of_the_type_and_infinities() -> None:
    assert gpuport.max(np.full(70, -(2**31), np.int32)) == -(2**31)
    assert gpuport.min(np.full(70, 2**64 - 1, np.uint64)) == 2**64 - 1
    assert gpuport.max(np.full(70, -math.inf, np.float32)) == -math.inf
    assert gpuport.min(np.full(70, math.inf)) == math.inf
    assert np.isnan(gpuport.sum(np.array([math.inf, -math.inf])))
    assert gpuport.max(np.full(70, np.finfo(np.float64).min)) == np.finfo(np.float64).min


def test_float_sums_within_their_bound() -> None:
    rng = np.random.default_rng(7)
    for dtype in (np.float32, np.float64):
        x = (rng.normal(size=20_000) * 10.0 ** rng.integers(-3, 4, 20_000)).astype(dtype)
        exact = math.fsum(x.astype(np.float64))
        bound = x.size * np.finfo(dtype).eps * math.fsum(np.abs(x).astype(np.float64))
        assert abs(float(gpuport.sum(x)) - exact) <= bound


@pytest.mark.slow
def test_more_elements_than_32_bits_count() -> None:
    size = 2**31 + 7
    x = np.broadcast_to(np.uint8(1), (size,))
    assert gpuport.sum(x) == size
    assert gpuport.max(x) == 1


def test_more_rows_than_a_grid_dimension() -> None:
    x = sample((70_000, 3), "int16")
    np.testing.assert_array_equal(gpuport.sum(x, axis=1), x.sum(axis=1))


@pytest.mark.parametrize("variant", ["serial", "shared_tree", "warp_shuffle", "hierarchical"])
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_teaching_variants(variant: str, dtype: str, warp_size: int) -> None:
    x = sample((9, 1000), dtype)
    for axis in (None, 0, 1):
        got = gpuport.sum(x, axis=axis, variant=variant, warp_size=warp_size)
        np.testing.assert_array_equal(got, x.sum(axis=axis, dtype=got.dtype))
    assert gpuport.max(x, variant=f"reduce.{variant}") == x.max()


@pytest.mark.skipif(np.__version__ < "2", reason="NumPy 1 has 32 dimensions at most")
def test_many_dimensions() -> None:
    x = sample((2, 3, 4), "float32").reshape((1,) * 20 + (2,) + (1,) * 20 + (3, 4) + (1,) * 20)
    assert gpuport.sum(x) == x.sum()
    for view in (x, x.T, np.flip(x, 41)):
        np.testing.assert_array_equal(gpuport.sum(view, axis=20), view.sum(axis=20))
        np.testing.assert_array_equal(gpuport.softmax(view, axis=None).sum().round(6), 1)
        gpuport.max(view, nonfinite="raise")
