"""Buffers with guards: an array inside a larger block of memory whose other bytes are known.

The guards of an input hold values that spoil the result if they are read (NaN, or the ends of an
integer range). The guards of an output, and the output itself before the call, hold a pattern.
Padding between rows counts as guard. After the call every byte that is no element of an output
must be what it was.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from gpuport.testing import dtypes
from gpuport.testing.dtypes import Array

Bytes = NDArray[np.uint8]

GUARD_BYTES: Final = 8192  # what a block of 1,024 threads writes at once, with 8-byte elements
ALIGNMENT: Final = 256  # what a GPU's allocator gives, so that "odd" is odd everywhere
POISON: Final = 0xA5
LAYOUTS: Final[Mapping[str, str]] = {
    "packed": "C order, aligned",
    "odd": "C order, one element past an aligned address: a vector access would be misaligned",
    "padded": "a gap between rows, or between elements of one row",
    "transposed": "Fortran order",
    "reversed": "every stride negative",
}


def _strides(shape: tuple[int, ...], layout: str) -> list[int]:
    """Strides in elements."""
    pitch = 3 if layout == "padded" and len(shape) == 1 else 1
    order = range(len(shape)) if layout == "transposed" else range(len(shape) - 1, -1, -1)
    strides = [0] * len(shape)
    for number, axis in enumerate(order):
        strides[axis] = pitch
        gap = 5 if layout == "padded" and number == 0 else 0
        pitch *= max(shape[axis], 1) + gap
    return [-stride for stride in strides] if layout == "reversed" else strides


@dataclass(frozen=True, slots=True)
class Image:
    """The bytes of a guarded buffer and where the elements lie in them."""

    data: Bytes
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in bytes
    dtype: str

    def elements(self, data: Bytes | None = None) -> Array:
        return np.ndarray(
            self.shape,
            dtypes.storage(self.dtype),
            buffer=self.data if data is None else data,
            offset=self.offset,
            strides=self.strides,
        )

    def guards_changed(self, data: Bytes) -> int | None:
        """Offset of the first changed byte outside the elements, counted from the first element."""
        changed = self.data != data
        if not changed.any():
            return None
        width = dtypes.storage(self.dtype).itemsize
        own = np.ndarray(
            (*self.shape, width), np.bool_, changed.data, self.offset, (*self.strides, 1)
        )
        own[...] = False
        return int(np.argmax(changed)) - self.offset if changed.any() else None


def _image(shape: tuple[int, ...], dtype: str, layout: str, fill: Array) -> Image:
    width = dtypes.storage(dtype).itemsize
    strides = [stride * width for stride in _strides(shape, layout)]
    reach = [stride * max(extent - 1, 0) for stride, extent in zip(strides, shape, strict=True)]
    below, above = -sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach)
    lead = GUARD_BYTES + (width if layout == "odd" else 0)
    total = -(-(lead + below + above + width + GUARD_BYTES) // ALIGNMENT) * ALIGNMENT
    return Image(np.tile(fill, total // fill.size), lead + below, shape, tuple(strides), dtype)


def input_image(values: Array, dtype: str, layout: str) -> Image:
    if dtypes.is_float(dtype):
        fill = np.full(ALIGNMENT, 0xFF, np.uint8)  # NaN in every format
    else:
        low, high = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        fill = np.array([high, low], dtype).view(np.uint8)
    image = _image(values.shape, dtype, layout, fill)
    image.elements()[...] = dtypes.encode(values, dtype)
    return image


def output_image(shape: tuple[int, ...], dtype: str, layout: str) -> Image:
    return _image(shape, dtype, layout, np.full(ALIGNMENT, POISON, np.uint8))


class Buffer(Protocol):
    """An image that a kernel can be called on."""

    @property
    def array(self) -> Any: ...

    def fetch(self) -> Bytes:
        """The bytes as they are now."""
        ...


class HostBuffer:
    """A NumPy array in host memory."""

    def __init__(self, image: Image) -> None:
        block = np.empty(image.data.size + ALIGNMENT, np.uint8)
        start = -block.ctypes.data % ALIGNMENT
        self.data: Bytes = block[start : start + image.data.size]
        self.data[...] = image.data
        self.image = image

    @property
    def array(self) -> Any:
        elements = self.image.elements(self.data)
        return elements.view(ml_dtypes.bfloat16) if self.image.dtype == "bfloat16" else elements

    def fetch(self) -> Bytes:
        return self.data
