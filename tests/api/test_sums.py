"""sum(overflow="raise") and sum(compensated=True), on the CPU backend and around a GPU's launch."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gpuport
from fake_gpu import FakeModule
from gpuport import DeviceArray

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
LENGTHS = (1, 2, 31, 32, 33, 63, 64, 65, 255, 257, 511, 513, 1023, 1024, 1025, 4095, 4097, 70_001)
TOP = 2**63 - 1


def overflows(x: Any, **keywords: Any) -> bool:
    try:
        gpuport.sum(x, overflow="raise", **keywords)
    except OverflowError:
        return True
    return False


# Overflow.


@pytest.mark.parametrize(
    ("values", "dtype", "leaves"),
    [
        ([TOP, 1, -1, 0], "int64", True),
        ([TOP, -1, 1, 0], "int64", False),
        ([-(2**63), -1, 1], "int64", True),
        ([-(2**63), 1, -1], "int64", False),
        ([1, -(2**63), -1], "int64", False),
        ([TOP, TOP, -TOP, -TOP], "int64", True),
        ([2**64 - 1, 0], "uint64", False),
        ([2**64 - 1, 1], "uint64", True),
        ([2**63, 2**63 - 1], "uint64", False),
        ([], "int64", False),
    ],
)
def test_a_running_sum_decides(values: list[int], dtype: str, leaves: bool, warp_size: int) -> None:
    x = np.array(values, dtype)
    assert overflows(x, warp_size=warp_size) == leaves
    if not leaves:
        got = gpuport.sum(x, overflow="raise", warp_size=warp_size)
        assert (int(got), got.dtype) == (sum(values), dtype)


@pytest.mark.parametrize("length", LENGTHS)
def test_it_raises_exactly_where_a_loop_does(length: int, warp_size: int) -> None:
    rng = np.random.default_rng(length)
    for scale in (2**62, 2**61, TOP // max(int(length**0.5), 1)):
        x = rng.integers(-scale, scale, length)
        running = np.cumsum(x.astype(object))
        leaves = bool((running > TOP).any() or (running < -(2**63)).any())
        assert overflows(x, warp_size=warp_size) == leaves
        if not leaves:
            assert int(gpuport.sum(x, overflow="raise", warp_size=warp_size)) == running[-1]


def test_the_accumulator_is_the_results(warp_size: int) -> None:
    ones, large = np.ones(300, np.uint8), np.full(2, 2**63 - 1, np.uint64)
    for dtype in (None, "uint64", "int64"):
        assert gpuport.sum(ones, dtype=dtype, overflow="raise", warp_size=warp_size) == 300
    assert gpuport.sum(large, overflow="raise") == 2**64 - 2
    assert gpuport.sum(np.ones(9, bool), dtype="uint64", overflow="raise") == 9
    assert gpuport.sum(np.full(3, 2**32 - 1, np.uint32), dtype="int64", overflow="raise") > 2**33


@pytest.mark.parametrize("axis", [0, 1, (0, 2), 2])
def test_the_row_is_named(axis: Any, warp_size: int) -> None:
    x = np.zeros((3, 40, 5), np.int64)
    x[1, 7, 2], x[1, 9, 4], x[2, 7, 2] = TOP, 0, 1
    x[1, 7, 3], x[1, 8, 2] = 1, 1
    running = np.cumsum(np.moveaxis(x, axis, 0).astype(object), axis=0) if axis != (0, 2) else None
    if running is None:
        rows = np.moveaxis(x, 1, 0).reshape(40, 15).astype(object)
        running = np.cumsum(rows, axis=1).T
    first = np.argwhere((running > TOP).any(axis=0))[0].tolist()
    name = str(first[0]) if len(first) == 1 else str(tuple(first)).replace("(", r"\(")
    with pytest.raises(OverflowError, match=f"of the row at index {name.rstrip(')')}.* int64"):
        gpuport.sum(x, axis=axis, overflow="raise", warp_size=warp_size)


def test_the_order_is_that_of_the_axes_not_of_the_memory() -> None:
    x = np.array([[TOP, 1], [-1, 0]])  # row by row it overflows, column by column it does not
    assert overflows(x)
    assert overflows(np.asfortranarray(x))
    assert not overflows(x.T)
    assert not overflows(x.T.copy())
    assert overflows(x[::-1][::-1])


def test_out_is_not_written_where_it_overflows() -> None:
    x = np.array([[TOP, 1], [5, 6]])
    out = np.full(2, 7)
    with pytest.raises(OverflowError, match="row at index 0"):
        gpuport.sum(x, axis=1, out=out, overflow="raise")
    assert out.tolist() == [7, 7]
    strided = np.full(4, 7)[::-2]
    assert gpuport.sum(x[1:], axis=0, out=strided, overflow="raise") is strided
    assert strided.tolist() == [5, 6]


def test_what_cannot_check_is_refused() -> None:
    with pytest.raises(TypeError, match="for integer sums, not for float32"):
        gpuport.sum(np.ones(3, np.float32), overflow="raise")
    with pytest.raises(TypeError, match="not for float64"):
        gpuport.sum(np.ones(3, np.int32), dtype=float, overflow="raise")
    for variant in ("serial", "single_pass", "compensated", "atomic"):
        with pytest.raises(ValueError, match=rf"reduce\.{variant} computes .*; reduce\.checked"):
            gpuport.sum(np.ones(3, np.int32), overflow="raise", variant=variant)
    with pytest.raises(ValueError, match=r"reduce\.checked computes checked_sum, not sum"):
        gpuport.sum(np.ones(3, np.int32), variant="checked")
    with pytest.raises(ValueError, match="overflow must be 'wrap' or 'raise'"):
        gpuport.sum(np.ones(3, np.int32), overflow="saturate")
    x = np.ones(9, np.int32)
    assert gpuport.sum(x, overflow="raise", variant="checked", deterministic=True) == 9
    assert gpuport.sum(x, overflow="raise", compensated=True) == 9


def test_around_a_launch(fake_cuda: FakeModule) -> None:
    x = DeviceArray.from_numpy(np.array([[TOP, 1], [2, 3]]), backend="cuda")
    fake_cuda.calls.clear()
    with pytest.raises(OverflowError, match="row at index 0"):
        gpuport.sum(x, axis=1, overflow="raise")
    assert fake_cuda.names().count("download") == 1
    with pytest.raises(OverflowError, match="row at index 0"):
        gpuport.sum(x, axis=0, overflow="raise")
    assert gpuport.sum(x, axis=0, overflow="wrap").to_numpy().tolist() == [-(2**63) + 1, 4]
    fake_cuda.capturing.add(9)
    fake_cuda.calls.clear()
    with pytest.raises(gpuport.Error, match="overflow='raise' waits for the GPU"):
        gpuport.sum(x, overflow="raise", stream=9)
    assert "run" not in fake_cuda.names()


# Compensation: how close first, then how repeatable.


def nearest(x: np.ndarray[Any, Any]) -> Any:
    """The exact sum, rounded once."""
    exact = sum((Fraction(float(v)) for v in x), Fraction(0))
    if x.dtype == np.float64:
        return np.float64(exact.numerator / exact.denominator)
    # Through a double that is odd where it is not exact, so that there is one rounding only.
    double = np.float64(exact.numerator / exact.denominator)
    rest = exact - Fraction(float(double))
    if rest != 0 and not int(double.view(np.int64)) & 1:
        double = np.nextafter(double, math.inf if rest > 0 else -math.inf)
    if x.dtype == np.float32:
        return np.float32(double)
    single = np.float32(double)
    rest = Fraction(float(double)) - Fraction(float(single))
    if rest != 0 and not int(single.view(np.int32)) & 1:
        single = np.nextafter(single, np.float32(math.inf if rest > 0 else -math.inf))
    return x.dtype.type(single)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("length", LENGTHS)
def test_close_to_the_exact_sum(dtype: Any, length: int, warp_size: int) -> None:
    """The bound of the docstring; here it is the exact sum, rounded once."""
    rng = np.random.default_rng(length)
    big = 30_000 if dtype is np.float16 else 1e8
    swamped = np.resize([big, 1, -big, 0.25, 0.125], length)
    series = np.resize([1, -1], length) / np.arange(1, length + 1)
    mixed = rng.standard_normal(length) * np.exp2(rng.integers(-12, 10, length))
    for values in (swamped, series, mixed):
        x = values.astype(dtype)
        got = gpuport.sum(x, compensated=True, warp_size=warp_size)
        assert got.dtype == dtype
        assert got == nearest(x)


def test_the_pattern_that_a_plain_sum_loses() -> None:
    x = np.array([1e8, 1, -1e8], np.float32)
    assert gpuport.sum(x, variant="serial") == 0
    assert gpuport.sum(x, compensated=True) == 1
    assert gpuport.sum(np.array([1e16, 1, -1e16]), compensated=True) == 1
    assert gpuport.sum(np.array([1e300, 1, -1e300]), compensated=True) == 1
    tenths = np.full(1_000_000, 0.1, np.float32)
    assert gpuport.sum(tenths, compensated=True) == np.float32(1_000_000 * float(tenths[0]))


def test_the_error_does_not_grow_with_the_length() -> None:
    """Units in the last place against math.fsum, at sizes a thousand times apart."""
    for length in (1_000, 30_000, 1_000_000):
        x = np.random.default_rng(length).standard_normal(length) * 1e3
        got, exact = float(gpuport.sum(x, compensated=True)), math.fsum(x)
        assert abs(got - exact) <= math.ulp(exact) / 2


def test_wider_results() -> None:
    x = np.resize([2.0**100, 1, -(2.0**100)], 3000).astype(np.float32)
    assert gpuport.sum(x, dtype=float, compensated=True) == 1000
    assert gpuport.sum(x.astype(ml_dtypes.bfloat16), dtype="float32", compensated=True) == 1000
    whole = np.array([2**63 - 1, -(2**63), 2**62 + 1, 3])
    assert gpuport.sum(whole, dtype=float, compensated=True) == float(2**62 + 3)
    assert gpuport.sum(np.full(3, 2**64 - 1, np.uint64), dtype=float, compensated=True) == float(
        3 * 2**64 - 3
    )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([math.inf, 1, 2], math.inf),
        ([1, -math.inf, 2], -math.inf),
        ([math.inf, -math.inf, 1], math.nan),
        ([math.nan, 1], math.nan),
        ([math.nan, math.inf], math.nan),
        ([], 0),
    ],
)
@pytest.mark.parametrize("zeros", [0, 40, 2000])
def test_what_is_not_finite_propagates(
    dtype: Any, values: list[float], expected: float, zeros: int, warp_size: int
) -> None:
    x = np.array([*values, *[0] * zeros], dtype)
    got = gpuport.sum(x, compensated=True, warp_size=warp_size)
    np.testing.assert_array_equal(float(got), expected)


def test_results_that_leave_the_type_are_infinite() -> None:
    assert gpuport.sum(np.full(2, 3e38, np.float32), compensated=True) == math.inf
    assert gpuport.sum(np.full(2, -6e4, np.float16), compensated=True) == -math.inf
    assert gpuport.sum(np.full(2, 1.7e308), compensated=True) == math.inf
    # Where only a partial sum leaves it, double still holds it.
    assert gpuport.sum(np.array([3e38, 3e38, -3e38], np.float32), compensated=True) == np.float32(
        3e38
    )


@pytest.mark.parametrize("shape", [(9001,), (5, 3001), (70_001,)])
def test_two_hundred_runs_have_the_same_bits(shape: tuple[int, ...], warp_size: int) -> None:
    x = np.random.default_rng(3).standard_normal(shape).astype(np.float32) * 1e4
    keywords: dict[str, Any] = {"axis": len(shape) - 1, "warp_size": warp_size}
    first = gpuport.sum(x, compensated=True, deterministic=True, **keywords).tobytes()
    runs = {gpuport.sum(x, compensated=True, **keywords).tobytes() for _ in range(200)}
    assert runs == {first}


def test_keywords_of_compensation() -> None:
    x = np.ones(9)
    assert gpuport.sum(x, compensated=True, variant="compensated") == 9
    exact = gpuport.sum(np.ones(9, np.int32), compensated=True, variant="serial")
    assert exact == 9  # a sum of integers needs no compensation
    for variant in ("compensated", "reduce.compensated"):
        for dtype in ("bool", "int32", "uint64"):
            integers = np.ones(9, dtype)
            message = r"^sum: reduce\.compensated is for sums of floats; this one of u?int64 is"
            with pytest.raises(ValueError, match=message):
                gpuport.sum(integers, compensated=True, variant=variant)
            with pytest.raises(ValueError, match=message):
                gpuport.sum(integers, variant=variant)
            assert gpuport.sum(integers, dtype=float, compensated=True, variant=variant) == 9
    with pytest.raises(ValueError, match=r"reduce\.single_pass computes sum, max, min, not comp"):
        gpuport.sum(x, compensated=True, variant="single_pass")
    with pytest.raises(TypeError, match="compensated must be True or False, not 1"):
        gpuport.sum(x, compensated=1)  # type: ignore[arg-type]


# Atomics.


def test_atomics_promise_what_they_keep(warp_size: int) -> None:
    x = np.random.default_rng(0).integers(-9, 10, (3, 70_001)).astype(np.int32)
    on: dict[str, Any] = {"variant": "atomic", "warp_size": warp_size, "axis": 1}
    np.testing.assert_array_equal(gpuport.sum(x, deterministic=True, **on), x.sum(axis=1))
    np.testing.assert_array_equal(gpuport.max(x, **on), x.max(axis=1))
    np.testing.assert_array_equal(gpuport.min(x.astype(float), **on), x.min(axis=1))
    with pytest.raises(ValueError, match=r"reduce\.atomic is not deterministic for float32"):
        gpuport.sum(x.astype(np.float32), deterministic=True, **on)
    record = next(k for k in gpuport.kernels() if k.name == "reduce.atomic")
    assert not record.deterministic
    assert record.repeatable == ("int32",)
