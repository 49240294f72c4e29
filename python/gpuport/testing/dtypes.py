"""Element types as the specs see them: names, storage, rounding, accumulators.

A value of type bfloat16 is held as a float32 that bfloat16 can represent, so that references and
comparisons work in NumPy's own types; only `encode` and `decode` know the 16 bits behind it.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

INTEGERS: Final = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS: Final = ("float16", "bfloat16", "float32", "float64")
ALL: Final = INTEGERS + FLOATS
WIDE: Final = ("int32", "int64", "uint32", "uint64", "float32", "float64")
TEACHING: Final = ("int32", "float32", "float64")

_UNIT_ROUNDOFF: Final = {
    "float16": 2.0**-11,
    "bfloat16": 2.0**-8,
    "float32": 2.0**-24,
    "float64": 2.0**-53,
}
_SMALLEST_SUBNORMAL: Final = {
    "float16": 2.0**-24,
    "bfloat16": 2.0**-133,
    "float32": 2.0**-149,
    "float64": 5e-324,
}


def is_float(dtype: str) -> bool:
    return dtype in FLOATS


def storage(dtype: str) -> np.dtype[Any]:
    """The NumPy type of the bytes in memory."""
    return np.dtype(np.uint16 if dtype == "bfloat16" else dtype)


def values(dtype: str) -> np.dtype[Any]:
    """The NumPy type in which the specs hold values of this type."""
    return np.dtype(np.float32 if dtype == "bfloat16" else dtype)


def unit_roundoff(dtype: str) -> float:
    """Half an ulp of 1: one rounded operation is off by at most this, relative."""
    return _UNIT_ROUNDOFF[dtype]


def smallest(dtype: str) -> float:
    """The smallest positive value: what a relative bound cannot go below."""
    return _SMALLEST_SUBNORMAL[dtype]


def accumulator(dtype: str) -> str:
    """The type in which a sum over this type is formed (contracts: "Reduction")."""
    if dtype in ("float16", "bfloat16"):
        return "float32"
    if is_float(dtype):
        return dtype
    return "uint64" if dtype.startswith("uint") else "int64"


def sum_dtype(dtype: str) -> str:
    """The type of the result of a sum: floats keep theirs, integers widen to 64 bits."""
    return dtype if is_float(dtype) else accumulator(dtype)


def softmax_dtype(dtype: str) -> str:
    return dtype if is_float(dtype) else "float64"


def round_to(array: Array, dtype: str) -> Array:
    """`array` rounded once to `dtype`, nearest even, in the form in which the specs hold it."""
    if dtype != "bfloat16":
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(array).astype(dtype)
    return decode(_bfloat16_bits(np.asarray(array)), "bfloat16")


def _bfloat16_bits(array: Array) -> Array:
    exact = np.atleast_1d(np.asarray(array, dtype=np.float64))
    with np.errstate(over="ignore", invalid="ignore"):
        single = exact.astype(np.float32)
    # Rounding twice is wrong where the first one lands on a tie, so the first one rounds to odd
    # instead.
    moved = (single != exact) & np.isfinite(single)
    bits = single.view(np.uint32)
    away_from_zero = np.abs(single) > np.abs(exact)
    odd = np.where(moved, (bits - away_from_zero.astype(np.uint32)) | 1, bits)
    rounded = (odd.astype(np.uint64) + 0x7FFF + ((odd >> 16) & 1)) >> 16
    result = np.where(np.isnan(single), 0x7FC0, rounded).astype(np.uint16)
    return result.reshape(np.shape(array))


def encode(array: Array, dtype: str) -> Array:
    """Values as they lie in memory."""
    return _bfloat16_bits(array) if dtype == "bfloat16" else np.asarray(array, dtype=dtype)


def decode(array: Array, dtype: str) -> Array:
    """The values of what lies in memory."""
    if dtype != "bfloat16":
        return array
    bits = np.ascontiguousarray(array).view(np.uint16).astype(np.uint32) << np.uint32(16)
    return bits.view(np.float32).reshape(array.shape)
