"""What the specs compare with, compared in turn with NumPy, SciPy and ml_dtypes."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
import scipy.special

from gpuport import specs
from gpuport.testing import Answer, Case, Operand, Problem, memory
from gpuport.testing.compare import bits_differ, compare
from gpuport.testing.dtypes import Array, decode, encode, round_to
from gpuport.testing.regimes import REGIMES, make


def problem(kernel: str, case: Case) -> tuple[Problem, Array]:
    spec = specs.find(kernel)
    assert spec is not None
    found = spec.problem(case)
    x = found.operands["x"]
    assert isinstance(x, Operand)
    return found, x.values


@pytest.mark.parametrize("op", ["softmax", "log_softmax", "logsumexp"])
@pytest.mark.parametrize("regime", ["normal", "spread", "near_1e7", "extremes", "ramp"])
@pytest.mark.parametrize("axis", [0, 1])
def test_softmax_reference_is_scipys(op: str, regime: str, axis: int) -> None:
    found, x = problem("softmax.serial", Case(op, "float64", (5, 129), regime, axis=axis))
    expected = getattr(scipy.special, op)(x, axis=axis)
    np.testing.assert_allclose(
        found.answer.values.astype(np.float64), expected, rtol=1e-12, atol=1e-15
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_bound_of_softmax_is_small_but_not_zero(dtype: str) -> None:
    found, _ = problem("softmax.warp_row", Case("softmax", dtype, (5, 129), "normal", axis=1))
    assert found.answer.bound is not None
    relative = np.max(found.answer.bound / found.answer.values)
    assert 10 * np.finfo(dtype).eps < relative < 200 * np.finfo(dtype).eps


@pytest.mark.parametrize("size", [65, 4099])
def test_float_sum_reference_is_the_exact_sum(size: int) -> None:
    found, x = problem("reduce.serial", Case("sum", "float64", (size,), "normal"))
    assert float(found.answer.values) == pytest.approx(math.fsum(x), rel=1e-16)
    assert found.answer.bound is not None
    assert 0 < float(found.answer.bound) < size * 2**-53 * np.abs(x).sum() * 1.01


def test_sums_of_small_integers_allow_no_error() -> None:
    for dtype in ("float16", "bfloat16", "float32"):
        found, _ = problem("reduce.single_pass", Case("sum", dtype, (1025,), "uniform"))
        assert found.answer.bound is None


def test_bfloat16_is_rounded_as_ml_dtypes_does() -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate(
        [
            rng.standard_normal(10000) * np.exp2(rng.integers(-140, 125, 10000)),
            [
                0.0,
                -0.0,
                np.inf,
                -np.inf,
                np.nan,
                3.3895e38,
                3.4e38,
                1.5e-45,
                1 + 2**-8,
                1 + 3 * 2**-8,
            ],
        ]
    ).astype(np.float32)
    with np.errstate(over="ignore"):
        expected = x.astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(round_to(x, "bfloat16"), expected.astype(np.float32))
    kept = ~np.isnan(x)
    np.testing.assert_array_equal(encode(x, "bfloat16")[kept], expected.view(np.uint16)[kept])
    np.testing.assert_array_equal(
        decode(expected.view(np.uint16), "bfloat16"), expected.astype("f4")
    )


def test_bfloat16_is_rounded_once() -> None:
    """Just above the middle of 1 and the next bfloat16: by way of float32 it would be a tie."""
    assert float(round_to(np.array(1 + 2**-8 + 2**-40), "bfloat16")) == 1 + 2**-7
    assert float(round_to(np.array(1 + 2**-8), "bfloat16")) == 1


@pytest.mark.parametrize("layout", memory.LAYOUTS)
@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 5), (4, 0), (2, 3, 4)])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "bfloat16", "float64"])
def test_a_guarded_buffer_holds_its_elements(
    layout: str, shape: tuple[int, ...], dtype: str
) -> None:
    values = make("uniform", shape, dtype)
    image = memory.input_image(values, dtype, layout)
    np.testing.assert_array_equal(decode(image.elements(), dtype), values)
    buffer = memory.HostBuffer(image)
    np.testing.assert_array_equal(np.asarray(buffer.array, values.dtype), values)
    assert image.guards_changed(buffer.fetch()) is None
    at = buffer.array.__array_interface__["data"][0]
    if layout in ("packed", "odd", "padded", "transposed"):
        assert at % memory.ALIGNMENT == (buffer.array.itemsize if layout == "odd" else 0)


@pytest.mark.parametrize("layout", memory.LAYOUTS)
def test_every_byte_that_is_no_element_is_guarded(layout: str) -> None:
    image = memory.output_image((3, 5), "int16", layout)
    own = np.zeros(image.data.size, bool)
    for address in np.ndindex(3, 5):
        start = image.offset + sum(i * s for i, s in zip(address, image.strides, strict=True))
        own[start : start + 2] = True
    assert own.sum() == 3 * 5 * 2
    for byte in range(image.data.size):
        data = image.data.copy()
        data[byte] ^= 1
        expected = None if own[byte] else byte - image.offset
        assert image.guards_changed(data) == expected


def test_comparison() -> None:
    nan, inf = math.nan, math.inf
    answer = Answer(np.array([1.0, nan, inf, 0.0]), "float64", bound=np.array([0.1, 0.1, 0.1, 0.1]))
    assert compare(answer, np.array([1.05, nan, inf, -0.0])) is None
    for wrong in ([1.2, nan, inf, 0], [1, 0, inf, 0], [1, nan, -inf, 0], [1, nan, inf, nan]):
        assert compare(answer, np.array(wrong)) is not None
    assert compare(answer, np.array([1.0])) is not None


def test_bitwise_comparison() -> None:
    zero, nan = np.array([0.0]), np.array([math.nan])
    assert bits_differ(zero, zero) is None
    assert bits_differ(nan, -nan) is None
    assert bits_differ(zero, -zero) is not None
    assert bits_differ(zero, zero.astype(np.float32)) is not None
    assert bits_differ(np.array([1]), np.array([2])) is not None


@pytest.mark.parametrize("name", REGIMES)
def test_inputs_are_the_same_each_time(name: str) -> None:
    shape = (33, 33) if name == "diagonal" else (65,)
    np.testing.assert_array_equal(make(name, shape, "float32"), make(name, shape, "float32"))
