"""Array arguments that the native launcher does not read by itself."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from gpuport import _launcher
from gpuport._dtypes import ALL, FLOATS, ITEMSIZE
from gpuport._kinds.cupy_kind import stream_function
from gpuport._kinds.numpy_kind import NumpyKind
from gpuport._layout import contiguous_strides
from gpuport._view import Place, require_address
from gpuport.arrays import kind_of, resolve_stream

# The numbers of reflect.h.
OTHER, BOOL, SIGNED, UNSIGNED, FLOAT, HALF, BFLOAT16, POINTER, VOID, CHAR = range(10)

_KIND_OF_LETTER = {"b": BOOL, "i": SIGNED, "u": UNSIGNED, "f": FLOAT}

SCALARS: dict[type[Any], tuple[int, int]] = {
    np.bool_: (BOOL, 1),
    **{np.dtype(f"i{n}").type: (SIGNED, n) for n in (1, 2, 4, 8)},
    **{np.dtype(f"u{n}").type: (UNSIGNED, n) for n in (1, 2, 4, 8)},
    np.longlong: (SIGNED, 8),
    np.ulonglong: (UNSIGNED, 8),
    np.float16: (HALF, 2),
    np.float32: (FLOAT, 4),
    np.float64: (FLOAT, 8),
}

# Floats first: the launcher looks from the front.
NUMPY_DTYPES = {np.dtype(scalar): element for scalar, element in reversed(SCALARS.items())}


def element_of(dtype: str) -> tuple[int, int]:
    """Kind and size of a dtype by its NumPy name."""
    if dtype == "float16":
        return HALF, 2
    if dtype == "bfloat16":
        return BFLOAT16, 2
    plain = np.dtype(dtype)
    return _KIND_OF_LETTER.get(plain.kind, OTHER), plain.itemsize


Resolved = tuple[int, int, int, int, bool]


def resolve_array(value: Any, where: str, place: Place) -> Resolved:
    """Address, kind, item size, bytes and read-only of an array that a kernel at `place` can read.

    Raises:
        TypeError: it is no array, lies elsewhere, or is not C-contiguous; names the parameter.
    """
    try:
        kind = kind_of(value, "the argument")
        home = kind.place(value, "the argument")
    except (TypeError, ValueError) as error:
        raise TypeError(f"{where}: {error}") from None
    _let_the_launcher_know(value)
    if home != place:
        raise TypeError(f"{where}: the array is on {home}, the kernel runs on {place}")
    if isinstance(value, np.ndarray):
        return _resolve_numpy(value, where)
    if getattr(value, "is_neg", bool)():
        raise TypeError(f"{where}: the tensor is a negated view; .resolve_neg() makes a plain one")
    try:
        view = kind.view(value, "the argument", 0)
        require_address(view.address, view.size, "the argument")
    except (TypeError, ValueError, BufferError) as error:
        raise TypeError(f"{where}: {error}") from None
    if view.dtype not in ITEMSIZE:
        raise TypeError(f"{where}: an array of {view.dtype} has no counterpart in a kernel")
    if 0 not in view.shape and any(
        n > 1 and s != c
        for n, s, c in zip(view.shape, view.strides, contiguous_strides(view.shape), strict=True)
    ):
        raise TypeError(f"{where}: the array is not C-contiguous")
    return view.address, *element_of(view.dtype), view.nbytes, view.readonly


def _let_the_launcher_know(value: Any) -> None:
    """From the next call on it reads arrays of this type itself, where it knows how."""
    library = type(value).__module__.partition(".")[0]
    if library == "torch" and type(value).__name__ == "Tensor":
        import torch

        plain = ("bool", "uint8", "int8", "int16", "int32", "int64", *FLOATS)
        dtypes = {getattr(torch, name): element_of(name) for name in plain}
        backend = "hip" if torch.version.hip else "cuda"
        current = getattr(torch._C, "_cuda_getCurrentRawStream", lambda device: 0)
        _launcher.register_library(type(value), "torch", backend, dtypes, current)
    elif library == "cupy" and type(value).__name__ == "ndarray":
        import cupy

        # Floats first: the launcher looks from the front.
        names = [name for name in reversed(ALL) if name != "bfloat16"]
        dtypes = {np.dtype(name): element_of(name) for name in names}
        backend = "hip" if cupy.cuda.runtime.is_hip else "cuda"
        stream = cupy.cuda.get_current_stream
        _launcher.register_library(
            type(value),
            "cupy",
            backend,
            dtypes,
            lambda device: int(stream(device).ptr),
            stream_function(),
        )


def _resolve_numpy(value: np.ndarray[Any, Any], where: str) -> Resolved:
    """A subclass, or a dtype without a buffer format."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{where}: a kernel knows nothing of masks; pass .data and .mask apart")
    if value.dtype.hasobject:
        raise TypeError(f"{where}: an array of Python objects has no counterpart in a kernel")
    if not value.dtype.isnative:
        raise TypeError(f"{where}: the array is of the other byte order")
    if not value.flags.c_contiguous:
        raise TypeError(
            f"{where}: the array is not C-contiguous; numpy.ascontiguousarray makes a copy that is"
        )
    name = value.dtype.name
    kind = BFLOAT16 if name == "bfloat16" else _KIND_OF_LETTER.get(value.dtype.kind, OTHER)
    readonly = not value.flags.writeable
    return value.ctypes.data, kind, value.dtype.itemsize, value.nbytes, readonly


def resolve_call_stream(stream: Any, arguments: tuple[Any, ...], place: Place) -> int:
    """The raw handle of the stream of a launch: of None, that of the first array's library."""
    if stream is not None:
        return resolve_stream(stream, NumpyKind(), None, place)
    for value in arguments:
        with suppress(TypeError):
            return kind_of(value, "the argument").current_stream(value)
    return 0
