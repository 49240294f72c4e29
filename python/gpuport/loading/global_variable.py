"""A variable of a loaded module, read and written from the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpuport.loading.arrays import CHAR
from gpuport.loading.host_numbers import as_elements

if TYPE_CHECKING:
    from gpuport.loading.loaded_code import Memory
    from gpuport.loading.records import GlobalRecord

# kind of reflect.h and size -> dtype
_DTYPES = {
    (1, 1): "bool",
    **{(2, n): f"i{n}" for n in (1, 2, 4, 8)},
    **{(3, n): f"u{n}" for n in (1, 2, 4, 8)},
    (4, 4): "f4",
    (4, 8): "f8",
    (5, 2): "f2",
    (CHAR, 1): "i1",
}


class GlobalVariable:
    """`__device__`, `__constant__` or `__managed__` memory of a module.

    `address` and `nbytes` say where it lies. As an argument of a kernel pass
    `numpy.uintp(variable.address)`.
    """

    def __init__(self, record: GlobalRecord, address: int, nbytes: int, memory: Memory) -> None:
        self.name = record.name
        self.address = address
        self.nbytes = nbytes
        self._memory = memory
        self._dtype = _DTYPES.get((record.kind, record.element_size), f"V{record.element_size}")
        self._also = (np.dtype("u1"),) if record.kind == CHAR else ()  # plain char is bytes
        self._shape = record.shape or (-1,)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of one element; raw bytes for a struct."""
        return np.dtype(self._dtype)

    def get(self, dtype: npt.DTypeLike | None = None, stream: int = 0) -> npt.NDArray[Any]:
        """A copy on the host; waits for the stream.

        It has the extents that the source declares, a variable that is no array has one element.
        With a `dtype` it is one-dimensional, of such elements.
        """
        made = np.empty(self.nbytes, np.uint8)
        if self.nbytes:
            self._memory.read(self.address, made, stream)
        if dtype is not None:
            return made.view(dtype)
        return made.view(self.dtype).reshape(self._shape)

    def set(self, value: npt.ArrayLike, stream: int = 0) -> None:
        """Copy values to the device; waits for the stream.

        Python numbers, and those in a list or a tuple, are converted as for a parameter of a
        kernel; NumPy's arrays and scalars must be of the variable's dtype. One number is for every
        element. A struct takes any array of its bytes.

        Raises:
            ValueError: more or fewer elements than the variable has.
            TypeError: another dtype, or a float for an integer.
            OverflowError: a Python number out of the range of the variable's elements.
        """
        data = as_elements(self.name, value, self.dtype, *self._also)
        if data.ndim == 0:
            data = np.full(self.nbytes // self.dtype.itemsize, data)
        if data.nbytes != self.nbytes:
            raise ValueError(f"{self.name} takes {self.nbytes} bytes, {data.nbytes} given")
        if self.nbytes:
            self._memory.write(self.address, data.reshape(-1).view(np.uint8), stream)

    def __repr__(self) -> str:
        return (
            f"<variable {self.name}: {self.nbytes} bytes of {self.dtype} on {self._memory.place}>"
        )
