"""What the host gives for the elements of a variable, converted as kernel arguments are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

_SHOWN_BITS = 128  # a longer int is not written out


def as_elements(
    name: str, value: Any, dtype: np.dtype[Any], *others: np.dtype[Any]
) -> npt.NDArray[Any]:
    """A contiguous array of `dtype` or of one of `others`, whose bytes mean the same; it has no
    dimensions for a single number.

    Raises:
        TypeError: an array or a scalar of NumPy's of another dtype, or no number of that kind.
        OverflowError: a Python number out of the range of `dtype`.
    """
    if dtype.kind == "V":  # a struct: bytes, whatever the host calls its members
        if hasattr(value, "dtype"):
            return np.asarray(value, order="C")
        try:
            return np.frombuffer(value, np.uint8)
        except (TypeError, BufferError):
            raise TypeError(
                f"{name} holds structs of {dtype.itemsize} bytes: {type(value).__name__} given, "
                "an array or a buffer of them wanted"
            ) from None
    if isinstance(value, int | float) and not isinstance(value, np.generic):
        return np.asarray(_element(name, value, dtype))
    if isinstance(value, list | tuple | range):
        return np.array([_element(name, one, dtype) for one in _flat(value)], dtype)
    given = np.asarray(value)
    if given.dtype not in (dtype, *others):
        raise TypeError(f"{name} holds {dtype}, not {given.dtype}")
    return given.copy(order="C")


def _flat(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list | tuple | range):
            yield from _flat(value)
        elif isinstance(value, np.ndarray):
            yield from value.reshape(-1)
        else:
            yield value


def _element(name: str, value: Any, dtype: np.dtype[Any]) -> Any:
    if isinstance(value, np.generic):
        if value.dtype != dtype:
            raise TypeError(f"{name} holds {dtype}, not {value.dtype}")
        return value
    wanted: Any = int | float if dtype.kind == "f" else int
    if not isinstance(value, wanted):
        what = "a number" if dtype.kind == "f" else "an integer"
        raise TypeError(f"{name} holds {dtype}: {type(value).__name__} given, {what} wanted")
    if not _fits(value, dtype):
        raise OverflowError(f"{name} holds {dtype}: {_shown(value)} does not fit")
    return dtype.type(value)


def _fits(value: Any, dtype: np.dtype[Any]) -> bool:
    if dtype.kind == "b":
        return value in (0, 1)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return bool(limits.min <= value <= limits.max)
    try:
        wide = float(value)
    except OverflowError:
        return False
    with np.errstate(over="ignore"):
        return not np.isinf(dtype.type(wide)) or math.isinf(wide)


def _shown(value: Any) -> str:
    # Python itself writes no number of more than 4300 digits.
    if isinstance(value, int) and value.bit_length() > _SHOWN_BITS:
        return f"an int of {value.bit_length()} bits"
    return repr(value)
