"""Reading `__cuda_array_interface__`: what a producer wrote there is checked before it is used."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, NamedTuple

from gpuport._layout import Ints
from gpuport._numpy import np


class CudaInterface(NamedTuple):
    """`strides` are in bytes, None in C order. `stream` is a raw handle, None if none is named."""

    address: int
    readonly: bool
    shape: Ints
    strides: Ints | None
    dtype: np.dtype[Any]
    stream: int | None


def read(array: Any, argument: str) -> CudaInterface:
    """The interface of an array; TypeError naming the argument for what the protocol rules out."""
    interface = array.__cuda_array_interface__
    try:
        shape = _ints(interface["shape"])
        steps = interface.get("strides")
        strides = None if steps is None else _ints(steps)
        address, readonly = interface["data"]
        address = 0 if address is None else index(address)
        dtype = np.dtype(interface["typestr"])
        stream, mask = interface.get("stream"), interface.get("mask")
        stream = None if stream is None else index(stream)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise TypeError(
            f"{argument} has a malformed __cuda_array_interface__ "
            f"({type(error).__name__}: {error}): {interface!r:.200}"
        ) from None
    if any(n < 0 for n in shape) or (strides is not None and len(strides) != len(shape)):
        raise TypeError(
            f"{argument} has a malformed __cuda_array_interface__: "
            f"shape {shape} and strides {strides} do not describe an array"
        )
    if mask is not None:
        raise TypeError(f"{argument} has a __cuda_array_interface__ mask, which would be lost")
    if stream == 0:
        raise ValueError(
            f"{argument}: __cuda_array_interface__ must not name stream 0: it is ambiguous"
        )
    # Its 1 is the legacy default stream, our 0.
    return CudaInterface(
        address, bool(readonly), shape, strides, dtype, 0 if stream == 1 else stream
    )


def _ints(values: Sequence[Any]) -> Ints:
    return tuple(index(value) for value in values)
