"""A variable of a loaded module, read and written from the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from gpuport.loading.loaded_code import Memory

# kind of reflect.h and size -> dtype
_DTYPES = {
    (1, 1): "bool",
    **{(2, n): f"i{n}" for n in (1, 2, 4, 8)},
    **{(3, n): f"u{n}" for n in (1, 2, 4, 8)},
    (4, 4): "f4",
    (4, 8): "f8",
    (5, 2): "f2",
}


class GlobalVariable:
    """`__device__`, `__constant__` or `__managed__` memory of a module.

    `address` and `nbytes` say where it lies. As an argument of a kernel pass
    `numpy.uintp(variable.address)`.
    """

    def __init__(
        self, name: str, address: int, nbytes: int, kind: int, element_size: int, memory: Memory
    ) -> None:
        self.name = name
        self.address = address
        self.nbytes = nbytes
        self._memory = memory
        self._dtype = _DTYPES.get((kind, element_size), f"V{element_size}")

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of one element; raw bytes for a struct."""
        return np.dtype(self._dtype)

    def get(self, dtype: npt.DTypeLike | None = None, stream: int = 0) -> npt.NDArray[Any]:
        """A copy on the host, one-dimensional, of elements of `dtype`; waits for the stream."""
        made = np.empty(self.nbytes, np.uint8)
        if self.nbytes:
            self._memory.read(self.address, made, stream)
        return made.view(self.dtype if dtype is None else dtype)

    def set(self, value: npt.ArrayLike, stream: int = 0) -> None:
        """Copy an array, or a number for each element, to the device; waits for the stream.

        Raises:
            ValueError: it is larger or smaller than the variable.
            TypeError: it cannot be converted to the variable's elements without loss of kind.
        """
        if isinstance(value, np.ndarray) and self.dtype.kind == "V":
            data = np.ascontiguousarray(value)
        else:
            given = np.asarray(value)
            if not np.can_cast(given.dtype, self.dtype, "same_kind"):
                raise TypeError(f"{self.name} holds {self.dtype}, not {given.dtype}")
            data = np.ascontiguousarray(given, self.dtype)
        if data.ndim == 0:
            data = np.full(self.nbytes // self.dtype.itemsize, data, self.dtype)
        if data.nbytes != self.nbytes:
            raise ValueError(f"{self.name} takes {self.nbytes} bytes, {data.nbytes} given")
        if self.nbytes:
            self._memory.write(self.address, data.reshape(-1).view(np.uint8), stream)

    def __repr__(self) -> str:
        return (
            f"<variable {self.name}: {self.nbytes} bytes of {self.dtype} on {self._memory.place}>"
        )
