"""Reading DLPack capsules.

A capsule is read, never renamed: it stays its own owner and frees its tensor when it is collected,
so it cannot be consumed twice and nothing leaks where a later step fails.
"""

from __future__ import annotations

import ctypes
from operator import index
from typing import Any

from gpuport._layout import contiguous_strides
from gpuport._view import HOST, Place, View

CPU, CUDA, CUDA_HOST, ROCM, ROCM_HOST, CUDA_MANAGED = 1, 2, 3, 10, 11, 13
_READ_ONLY = 1
_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex"}
_BOOL = 6


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype = ctypes.c_int
_is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]


def stream_number(backend: str, stream: int) -> int:
    """DLPack's own number for a raw handle.

    CUDA calls the legacy default 1 and forbids 0; ROCm calls it 0 and forbids 1 and 2.
    """
    if backend == "cuda":
        return stream or 1
    if stream in (1, 2):
        raise ValueError(f"{stream} is no stream handle on ROCm")
    return stream


def device_place(device_type: int, device_id: int, argument: str) -> Place:
    """A place for a DLPack device. Pinned host memory counts as the host's."""
    kind = int(device_type)
    if kind in (CPU, CUDA_HOST, ROCM_HOST):
        return HOST
    if kind in (CUDA, CUDA_MANAGED):
        return Place("cuda", int(device_id))
    if kind == ROCM:
        return Place("hip", int(device_id))
    raise TypeError(
        f"{argument} is on a DLPack device of type {kind}, which is out of reach: "
        "gpuport works on CPU, CUDA and ROCm"
    )


def place_of(array: Any, argument: str) -> Place:
    """The place that a producer names; TypeError naming the argument for one that names none."""
    if not hasattr(array, "__dlpack_device__"):
        raise TypeError(f"{argument} has __dlpack__ without __dlpack_device__")
    device = array.__dlpack_device__()
    try:
        device_type, device_id = (index(number) for number in device)
    except (TypeError, ValueError):
        raise TypeError(
            f"{argument}: __dlpack_device__() gave {device!r:.100}, not a pair of integers"
        ) from None
    return device_place(device_type, device_id, argument)


def request(array: Any, **options: Any) -> Any:
    """A capsule, versioned where the producer knows how (only that one says what is read-only)."""
    try:
        return array.__dlpack__(max_version=(1, 0), **options)
    except TypeError:
        return array.__dlpack__(**options)


def read(capsule: Any, owner: Any, argument: str = "x") -> View:
    """The tensor of a capsule. One without a version cannot say that it may be written."""
    if type(capsule).__name__ != "PyCapsule":
        raise TypeError(f"{argument}: __dlpack__() gave {capsule!r:.100}, not a capsule")
    if _is_valid(capsule, b"dltensor_versioned"):
        managed = _Versioned.from_address(_pointer(capsule, b"dltensor_versioned"))
        if managed.major != 1:
            raise BufferError(
                f"{argument}: DLPack version {managed.major} is not known here, only 1"
            )
        tensor, readonly = managed.tensor, bool(managed.flags & _READ_ONLY)
    elif _is_valid(capsule, b"dltensor"):
        tensor, readonly = _Tensor.from_address(_pointer(capsule, b"dltensor")), True
    else:
        raise BufferError(
            f"{argument}: __dlpack__() gave no fresh capsule; it may have been consumed before"
        )
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = (
        tuple(tensor.strides[i] for i in range(tensor.ndim))
        if tensor.strides
        else contiguous_strides(shape)
    )
    return View(
        tensor.data + tensor.byte_offset if tensor.data else 0,
        _dtype(tensor),
        shape,
        strides,
        device_place(tensor.device_type, tensor.device_id, argument),
        (capsule, owner),
        readonly,
    )


def _dtype(tensor: _Tensor) -> str:
    name = "bool" if tensor.code == _BOOL else f"{_KINDS.get(tensor.code, 'code')}{tensor.bits}"
    return name if tensor.lanes == 1 else f"{name}x{tensor.lanes}"
