"""Inputs by regime. Each regime is there for a fault that it shows, and says which."""

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from gpuport.testing.dtypes import Array, is_float, round_to, values

Shape = tuple[int, ...]
Make = Callable[[np.random.Generator, Shape, str, int], Array]


@dataclass(frozen=True, slots=True)
class Regime:
    reason: str
    make: Make


def make(name: str, shape: Shape, dtype: str) -> Array:
    """The input called `name`, which may end in `@index`: the same numbers on every machine."""
    base, _, index = name.partition("@")
    seed = zlib.crc32(f"{name} {shape} {dtype}".encode())
    return REGIMES[base].make(np.random.default_rng(seed), shape, dtype, int(index or 0))


def reason(name: str) -> str:
    return REGIMES[name.partition("@")[0]].reason


def _limits(dtype: str) -> tuple[float, float]:
    if dtype == "bool":
        return 0, 1
    if dtype == "bfloat16":
        return -(2.0**127) * (2 - 2.0**-7), 2.0**127 * (2 - 2.0**-7)
    if is_float(dtype):
        return float(np.finfo(dtype).min), float(np.finfo(dtype).max)
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def _greatest(dtype: str) -> float:
    return _limits(dtype)[1]


def _small(rng: np.random.Generator, shape: Shape, dtype: str, _: int) -> Array:
    low, high = (-9, 9) if _limits(dtype)[0] < 0 else (0, min(9, int(_limits(dtype)[1])))
    return rng.integers(low, high, shape, endpoint=True).astype(values(dtype))


def _normal(rng: np.random.Generator, shape: Shape, dtype: str, _: int) -> Array:
    return round_to(rng.standard_normal(shape) * 3, dtype)


def _wide(rng: np.random.Generator, shape: Shape, dtype: str, _: int) -> Array:
    if dtype == "bool":
        return rng.integers(0, 1, shape, endpoint=True).astype(bool)
    if is_float(dtype):
        return round_to(rng.standard_normal(shape) * np.exp2(rng.integers(-14, 10, shape)), dtype)
    low, high = _limits(dtype)
    return rng.integers(int(low), int(high), shape, dtype=dtype, endpoint=True)


def _spread(rng: np.random.Generator, shape: Shape, dtype: str, _: int) -> Array:
    return round_to(rng.uniform(-50, 99.5, shape), dtype)


def _constant(value: Callable[[str], float]) -> Make:
    def make_constant(_: np.random.Generator, shape: Shape, dtype: str, __: int) -> Array:
        return np.full(shape, value(dtype), dtype=values(dtype))

    return make_constant


def _ties(rng: np.random.Generator, shape: Shape, dtype: str, _: int) -> Array:
    return rng.integers(1, 3, shape).astype(values(dtype))


def _below_zero(rng: np.random.Generator, shape: Shape, dtype: str, _: int) -> Array:
    low = max(_limits(dtype)[0], -1000)
    return round_to(rng.integers(int(low), -3, shape, endpoint=True), dtype)


def _above_zero(rng: np.random.Generator, shape: Shape, dtype: str, _: int) -> Array:
    high = min(_limits(dtype)[1], 1000)
    return round_to(rng.integers(min(3, int(high)), int(high), shape, endpoint=True), dtype)


def _onehot(_: np.random.Generator, shape: Shape, dtype: str, index: int) -> Array:
    array = np.zeros(shape, dtype=values(dtype))
    array.reshape(-1)[index] = 1
    return array


def _diagonal(_: np.random.Generator, shape: Shape, dtype: str, __: int) -> Array:
    return np.eye(*shape, dtype=values(dtype))


def _alternating(_: np.random.Generator, shape: Shape, dtype: str, __: int) -> Array:
    sign = np.where(np.arange(math.prod(shape)) % 2, -1.0, 1.0).reshape(shape)
    return round_to(sign * 3e4 + (np.abs(sign) * 0.25), dtype)


def _with(value: float, others: Make = _normal) -> Make:
    """`others`, but for one element at `index`."""

    def make_with(rng: np.random.Generator, shape: Shape, dtype: str, index: int) -> Array:
        array = others(rng, shape, dtype, 0)
        array.reshape(-1)[index] = value
        return array

    return make_with


def _both_infinities(rng: np.random.Generator, shape: Shape, dtype: str, index: int) -> Array:
    array = _with(math.inf)(rng, shape, dtype, index)
    array.reshape(-1)[0] = -math.inf
    return array


def _signed_zeros(rng: np.random.Generator, shape: Shape, dtype: str, _: int) -> Array:
    return np.where(rng.integers(0, 2, shape) == 1, 0.0, -0.0).astype(values(dtype))


def _far_below(_: np.random.Generator, shape: Shape, dtype: str, __: int) -> Array:
    low = max(-245000.0, _limits(dtype)[0] / 2)
    steps = np.arange(math.prod(shape)).reshape(shape) % 3
    return round_to(low - steps, dtype)


def _near(centre: float, width: float = 1.0) -> Make:
    def make_near(rng: np.random.Generator, shape: Shape, dtype: str, _: int) -> Array:
        low, high = _limits(dtype)
        return round_to(min(max(centre, low / 2), high / 2) + rng.uniform(0, width, shape), dtype)

    return make_near


def _steps(rng: np.random.Generator, shape: Shape, dtype: str, _: int) -> Array:
    return round_to(rng.integers(-512, 512, shape) / 64, dtype)


def _ramp(_: np.random.Generator, shape: Shape, dtype: str, __: int) -> Array:
    return round_to(np.broadcast_to(np.linspace(-60, 60, max(shape[-1], 1)), shape), dtype)


def _extremes(_: np.random.Generator, shape: Shape, dtype: str, __: int) -> Array:
    array = np.zeros(shape, dtype=values(dtype))
    flat = array.reshape(-1)
    flat[::3], flat[1::3] = 10000, -10000
    return round_to(array, dtype)


def _prefix(at_first: Callable[[str], float], step: int) -> Make:
    """Zeros, but for a first element, `step` at `index` and its opposite one place later."""

    def make_prefix(_: np.random.Generator, shape: Shape, dtype: str, index: int) -> Array:
        array = np.zeros(shape, dtype=values(dtype))
        rows = array.reshape(-1, shape[-1])
        rows[:, 0] = at_first(dtype)
        rows[:, index] += array.dtype.type(step)
        if _limits(dtype)[0] < 0:
            rows[:, index + 1] -= array.dtype.type(step)
        return array

    return make_prefix


def _swamped(_: np.random.Generator, shape: Shape, dtype: str, __: int) -> Array:
    big = min(1e8, _limits(dtype)[1] / 2)
    pattern = np.array([big, 1, -big, 0.25])
    return round_to(np.resize(pattern, shape), dtype)


def _harmonic(_: np.random.Generator, shape: Shape, dtype: str, __: int) -> Array:
    place = np.arange(1, math.prod(shape) + 1, dtype=np.float64).reshape(shape)
    return round_to(np.where(place % 2 == 1, 1, -1) / place, dtype)


REGIMES: Final[dict[str, Regime]] = {
    "uniform": Regime("small integers: a lost, doubled or foreign element shows", _small),
    "normal": Regime("ordinary floats: rounding within the stated bound", _normal),
    "wide": Regime("the whole range of the type: wrap-around, mixed magnitudes", _wide),
    "spread": Regime("-50 to 99.5: overflows f32 unless the maximum is subtracted", _spread),
    "ones": Regime("narrow accumulators stall: bf16 at 256, f16 at 2048", _constant(lambda _: 1)),
    "zeros": Regime("nothing is kept, everything ties", _constant(lambda _: 0)),
    "greatest": Regime("the sum leaves the input type", _constant(_greatest)),
    "least": Regime("data equal to the identity of max", _constant(lambda t: _limits(t)[0])),
    "ties": Regime("few distinct values", _ties),
    "below_zero": Regime("a maximum that starts at 0 is wrong", _below_zero),
    "above_zero": Regime("a minimum that starts at 0 is wrong", _above_zero),
    "onehot": Regime("one element decides: a wrong first shuffle loses it", _onehot),
    "diagonal": Regime("one element a row, at every position in turn", _diagonal),
    "alternating": Regime("cancellation: the bound follows the sum of magnitudes", _alternating),
    "nan": Regime("a NaN comes through from any lane", _with(math.nan)),
    "all_nan": Regime("nothing but NaN", _constant(lambda _: math.nan)),
    "inf": Regime("one +inf", _with(math.inf)),
    "minus_inf": Regime("one -inf", _with(-math.inf)),
    "both_inf": Regime("+inf and -inf: the sum is NaN", _both_infinities),
    "all_minus_inf": Regime("data equal to the identity of max", _constant(lambda _: -math.inf)),
    "all_inf": Regime("data equal to the identity of min", _constant(lambda _: math.inf)),
    "signed_zeros": Regime("-0.0 and 0.0 are equal", _signed_zeros),
    "far_below": Regime("rows below any finite start value of the maximum", _far_below),
    "near_1e7": Regime("max + log(sum) in f32 rounds to integers", _near(-1e7)),
    "near_1e38": Regime("near the end of f32", _near(-1e38, 8.0)),
    "steps": Regime("multiples of 1/64: a shift by 1024 is exact", _steps),
    "ramp": Regime("the maximum moves with every element", _ramp),
    "extremes": Regime("[10000, -10000, 0]: exp overflows or underflows outright", _extremes),
    "brim": Regime("a running sum that just fits", _prefix(lambda t: _limits(t)[1] - 1, 1)),
    "over": Regime("a running sum that leaves the type and comes back", _prefix(_greatest, 1)),
    "under": Regime("the same at the lower end", _prefix(lambda t: _limits(t)[0], -1)),
    "swamped": Regime("large terms that cancel: small ones between them are lost", _swamped),
    "harmonic": Regime("an alternating series: rounding errors add up", _harmonic),
    "sparse": Regime("past 2^31 elements: an index of 32 bits wraps", _small),
}
