"""A minimal array on a backend's device, for those who have no array library for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpuport._backends import native_module, usable_module
from gpuport._dtypes import ITEMSIZE, dtype_name, numpy_dtype, require_supported
from gpuport._layout import Ints, contiguous_strides
from gpuport._native import Buffer
from gpuport._numpy import np
from gpuport._view import Place, View

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["DeviceArray"]


class DeviceArray:
    """Elements in a native buffer: memory, dtype, shape and strides, and no arithmetic.

    Every gpuport function takes one and gives one back. On a GPU it has `__cuda_array_interface__`,
    so PyTorch, CuPy and Numba read it without a copy. Its work is ordered by streams that the
    caller names; the default is stream 0.

    Args:
        buffer: what `allocate` of the backend's native module gave.
        shape: the extents.
        dtype: a dtype or its NumPy name; "bfloat16" too.
        strides: in elements; C order if None.
        offset: of the first element from the start of the buffer, in elements.
        backend, device: where the buffer lives.

    Raises:
        TypeError: a dtype that gpuport does not take.
        ValueError: an element would lie outside the buffer.
    """

    def __init__(
        self,
        buffer: Buffer,
        shape: Sequence[int],
        dtype: Any,
        *,
        strides: Sequence[int] | None = None,
        offset: int = 0,
        backend: str,
        device: int = 0,
    ) -> None:
        name = dtype_name(dtype)
        require_supported(name, "DeviceArray: dtype")
        extents: Ints = tuple(int(n) for n in shape)
        steps: Ints = contiguous_strides(extents) if strides is None else tuple(strides)
        if len(steps) != len(extents) or any(n < 0 for n in extents):
            raise ValueError(f"shape {extents} and strides {steps} do not describe an array")
        if 0 not in extents:
            reach = [(n - 1) * s for n, s in zip(extents, steps, strict=True)]
            first = offset + sum(r for r in reach if r < 0)
            last = offset + sum(r for r in reach if r > 0)
            if first < 0 or (last + 1) * ITEMSIZE[name] > buffer.nbytes:
                raise ValueError(
                    f"elements {first} to {last} of {name} do not fit {buffer.nbytes} bytes"
                )
        self._buffer = buffer
        address = buffer.address + offset * ITEMSIZE[name]
        place = Place(
            backend, 0 if backend == "cpu" else device
        )  # ordinals of the CPU share memory
        self.view = View(address, name, extents, steps, place, buffer)

    @classmethod
    def empty(
        cls, shape: Sequence[int], dtype: Any, *, backend: str, device: int = 0
    ) -> DeviceArray:
        """A new C-contiguous array; its elements are whatever the memory holds."""
        name = dtype_name(dtype)
        require_supported(name, "DeviceArray: dtype")
        nbytes = math.prod(shape) * ITEMSIZE[name]
        buffer = usable_module(backend).allocate(nbytes, device)
        return cls(buffer, shape, name, backend=backend, device=device)

    @classmethod
    def from_numpy(
        cls, array: npt.NDArray[Any], *, backend: str, device: int = 0, stream: int = 0
    ) -> DeviceArray:
        """A C-contiguous copy on the device; waits until it is there."""
        made = cls.empty(array.shape, array.dtype, backend=backend, device=device)
        data = np.ascontiguousarray(array, numpy_dtype(made.dtype)).reshape(-1).view(np.uint8)
        if data.size:
            native_module(backend).upload(made.view.address, data, stream)
        return made

    def to_numpy(self, stream: int = 0) -> npt.NDArray[Any]:
        """A C-contiguous copy on the host; waits for the stream."""
        native, packed = native_module(self.backend), self
        made = np.empty(self.shape, numpy_dtype(self.dtype))
        if made.size == 0:
            return made
        if not self._is_packed:
            packed = DeviceArray.empty(
                self.shape, self.dtype, backend=self.backend, device=self.device
            )
            native.copy(self.shape, self.view.strided, packed.view.strided, self.device, stream)
        native.download(packed.view.address, made.reshape(-1).view(np.uint8), stream)
        return made

    def reinterpret(self, dtype: Any) -> DeviceArray:
        """The same memory as elements of another dtype of the same size."""
        name = dtype_name(dtype)
        if ITEMSIZE.get(name) != self.view.itemsize:
            raise TypeError(f"{name} elements are not as large as {self.dtype} elements")
        offset = (self.view.address - self._buffer.address) // self.view.itemsize
        return DeviceArray(
            self._buffer,
            self.shape,
            name,
            strides=self.strides,
            offset=offset,
            backend=self.backend,
            device=self.device,
        )

    @property
    def shape(self) -> Ints:
        return self.view.shape

    @property
    def strides(self) -> Ints:
        """In elements."""
        return self.view.strides

    @property
    def dtype(self) -> str:
        """The NumPy name."""
        return self.view.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return self.view.size

    @property
    def backend(self) -> str:
        return self.view.place.backend

    @property
    def device(self) -> int:
        return self.view.place.device

    @property
    def _is_packed(self) -> bool:
        return self.strides == contiguous_strides(self.shape)

    @property
    def _byte_strides(self) -> Ints:
        return tuple(s * self.view.itemsize for s in self.strides)

    def synchronize(self, stream: int = 0) -> None:
        """Wait for the work on a stream of this array's device."""
        native_module(self.backend).synchronize(self.device, stream)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.backend == "cpu":
            raise AttributeError("this DeviceArray is in host memory; use to_numpy()")
        if self.dtype == "bfloat16":
            raise AttributeError("__cuda_array_interface__ has no bfloat16")
        return {
            "shape": self.shape,
            "strides": None if self._is_packed else self._byte_strides,
            "typestr": numpy_dtype(self.dtype).str,
            "data": (self.view.address if self.size else 0, False),
            "version": 3,
            "stream": 1,
        }

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype}, {self.view.place})"
