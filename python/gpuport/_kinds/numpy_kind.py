"""NumPy arrays and scalars."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from gpuport._dtypes import ITEMSIZE, numpy_dtype
from gpuport._layout import Ints
from gpuport._numpy import np
from gpuport._view import HOST, Memory, Output, Place, View, packed

if TYPE_CHECKING:
    import numpy.typing as npt


def _is_masked(array: Any) -> bool:
    # NumPy loads numpy.ma when it is first named; a masked array has brought it along.
    return isinstance(array, getattr(sys.modules.get("numpy.ma"), "MaskedArray", ()))


def _is_plain(array: npt.NDArray[Any]) -> bool:
    """Native byte order, aligned, and strides that count whole elements."""
    return (
        array.dtype.isnative
        and array.flags.aligned
        and not any(
            s % array.itemsize for n, s in zip(array.shape, array.strides, strict=True) if n > 1
        )
    )


def view_of(array: npt.NDArray[Any], owner: Any = None) -> View:
    """A plain array as it is."""
    return View(
        array.ctypes.data,
        str(array.dtype.name),
        array.shape,
        tuple(s // array.itemsize for s in array.strides),
        HOST,
        array if owner is None else owner,
        not array.flags.writeable,
    )


def _aside(copy: npt.NDArray[Any], array: npt.NDArray[Any]) -> View:
    """A plain copy that stands for an array which no kernel can read or write."""
    form = copy.dtype.name if array.dtype.isnative else f"{copy.dtype.name}, bytes swapped"
    origin = Memory(array.ctypes.data, form, array.itemsize, array.shape, array.strides)
    return view_of(copy)._replace(origin=origin)


class NumpyKind:
    name = "NumPy"
    has_pool = True

    def place(self, array: Any, argument: str = "x") -> Place:
        return HOST

    def current_stream(self, array: Any) -> int:
        return 0

    def view(self, array: Any, argument: str, stream: int) -> View:
        if _is_masked(array):
            raise TypeError(
                f"{argument} is a masked array, whose mask would be lost; pass .filled(...)"
            )
        plain = np.asarray(array)
        # A dtype that gpuport does not take is refused by name before the memory is looked at.
        if plain.dtype.name not in ITEMSIZE:
            return View(0, str(plain.dtype.name), plain.shape, (0,) * plain.ndim, HOST, plain)
        if _is_plain(plain):
            return view_of(plain)
        return _aside(np.array(plain, dtype=plain.dtype.newbyteorder("="), order="C"), plain)

    def output(self, array: Any, argument: str, stream: int) -> Output:
        if not isinstance(array, np.ndarray) or _is_masked(array):
            raise TypeError(f"{argument} must be a plain NumPy array, not {type(array).__name__}")
        target = np.asarray(array)
        if not target.flags.writeable:
            raise ValueError(f"{argument} is read-only")
        if target.dtype.name not in ITEMSIZE or _is_plain(target):
            return Output(view_of(target))
        # Its layout cannot be written by a kernel: fill a packed array, then let NumPy convert.
        aside = np.empty(target.shape, target.dtype.newbyteorder("="))
        return Output(_aside(aside, target), lambda: np.copyto(target, aside))

    def empty(self, like: Any, shape: Ints, dtype: str, stream: int) -> tuple[Any, View]:
        made = np.empty(shape, numpy_dtype(dtype))
        return made, packed(made.ctypes.data, dtype, shape, HOST, made)

    def finish(self, like: Any, made: Any, stream: int) -> Any:
        return made
