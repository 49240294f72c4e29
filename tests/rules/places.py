"""Arrays of any layout where a target can reach them: NumPy on the host, DeviceArrays on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuport import DeviceArray
from gpuport._backends import native_module
from gpuport._dtypes import numpy_dtype
from gpuport.testing import Target

Array = NDArray[Any]


def where(target: Target, **more: Any) -> dict[str, Any]:
    """The keywords that make a call run on the target."""
    return {"backend": target.backend, "warp_size": target.warp_size, **more}


class Block:
    """Bytes that the target can reach; operands name parts of them."""

    def __init__(self, target: Target, data: Array) -> None:
        self._target = target
        self._data = np.ascontiguousarray(data).reshape(-1).view(np.uint8).copy()
        if target.is_gpu:
            self._native = native_module(target.backend)
            self._buffer = self._native.allocate(self._data.nbytes, target.device)
            self.fill(self._data)

    def fill(self, data: Array) -> None:
        """New bytes in place of the old ones."""
        if self._target.is_gpu:
            self._native.upload(self._buffer.address, data.reshape(-1).view(np.uint8), 0)
        else:
            self._data[...] = data.reshape(-1).view(np.uint8)

    def array(self, shape: tuple[int, ...], dtype: str, strides: tuple[int, ...], at: int) -> Any:
        """An operand; the strides and the place of its first element count elements."""
        kind = numpy_dtype(dtype)
        if self._target.is_gpu:
            return DeviceArray(
                self._buffer,
                shape,
                dtype,
                strides=strides,
                offset=at,
                backend=self._target.backend,
                device=self._target.device,
            )
        steps = [stride * kind.itemsize for stride in strides]
        return np.ndarray(shape, kind, self._data, at * kind.itemsize, steps)

    def fetch(self) -> Array:
        """The bytes as they are after all calls on the default stream."""
        if self._target.is_gpu:
            self._native.download(self._buffer.address, self._data, 0)
        return self._data


def place(target: Target, array: Array) -> Any:
    """The same elements in the same layout on the target; on the host the array itself."""
    if not target.is_gpu:
        return array
    kind = array.dtype
    strides = [s // kind.itemsize for s in array.strides]
    if array.size == 0:
        strides = [0] * array.ndim
    reach = [(n - 1) * s for n, s in zip(array.shape, strides, strict=True)] if array.size else []
    low, high = sum(r for r in reach if r < 0), sum(r for r in reach if r > 0)
    memory = np.zeros(high - low + 1, kind)
    if array.size:
        span = np.lib.stride_tricks.as_strided(memory[-low:], array.shape, array.strides)
        span[...] = array  # broadcast elements are written more than once, always the same value
    return Block(target, memory).array(array.shape, str(kind.name), tuple(strides), -low)


def read(result: Any) -> Array:
    """A result as a NumPy array."""
    return result.to_numpy() if isinstance(result, DeviceArray) else np.asarray(result)
