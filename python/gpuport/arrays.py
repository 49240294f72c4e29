"""Which kind an array is, told by its type: no array library is imported from here."""

from __future__ import annotations

from typing import Any

import array_api_compat as compat  # looks at sys.modules only

from gpuport._kinds import Kind
from gpuport._kinds.cupy_kind import CupyKind
from gpuport._kinds.interchange_kind import InterchangeKind
from gpuport._kinds.jax_kind import JaxKind
from gpuport._kinds.numpy_kind import NumpyKind
from gpuport._kinds.torch_kind import TorchKind
from gpuport._view import Place
from gpuport.device_array import DeviceArray

__all__ = ["DeviceArray", "kind_of", "resolve_stream"]

_NUMPY, _TORCH, _CUPY, _JAX, _OTHER = (
    NumpyKind(), TorchKind(), CupyKind(), JaxKind(), InterchangeKind(),
)  # fmt: skip


_LEGACY = 1  # cudaStreamLegacy: another name of the default stream 0, which libraries know


def kind_of(array: Any, argument: str) -> Kind:
    """The kind of an array; TypeError for what is none."""
    if isinstance(array, type):  # which has the attributes of its arrays
        raise TypeError(f"{argument} must be an array, not the class {array.__name__}")
    if compat.is_numpy_array(array):
        return _NUMPY
    if compat.is_torch_array(array):
        return _TORCH
    if compat.is_cupy_array(array):
        return _CUPY
    if compat.is_jax_array(array):
        return _JAX
    if isinstance(array, DeviceArray) or hasattr(array, "__dlpack__"):
        return _OTHER
    if hasattr(array, "__cuda_array_interface__"):
        return _OTHER
    raise TypeError(
        f"{argument} must be an array (NumPy, PyTorch, CuPy, JAX, or an object with __dlpack__ or "
        f"__cuda_array_interface__), not {type(array).__name__}"
    )


def resolve_stream(stream: Any, kind: Kind, array: Any, place: Place) -> int:
    """The raw handle of the stream that a call works on; `place` is where the kernels run.

    None is the array library's current stream. A stream may be an int (0 is the default stream), an
    object with `__cuda_stream__`, or a PyTorch or CuPy stream.
    """
    if stream is None:
        return kind.current_stream(array)
    handle = _handle(stream)
    if place.backend == "cpu" and handle != 0:
        raise ValueError("an array on the host has no stream; leave stream=None")
    device = _device_of_stream(stream)
    if device is not None and place.backend != "cpu" and device != place.device:
        raise ValueError(f"the stream belongs to device {device}, the array is on {place}")
    return handle


def _handle(stream: Any) -> int:
    if isinstance(stream, int) and not isinstance(stream, bool):
        if stream < 0:
            raise ValueError(f"a stream handle is not negative: {stream}")
        return 0 if stream == _LEGACY else stream
    for attribute in ("cuda_stream", "ptr"):  # PyTorch, CuPy
        value = getattr(stream, attribute, None)
        if isinstance(value, int):
            return value
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        version, handle = protocol() if callable(protocol) else protocol
        if version != 0:
            raise ValueError(f"__cuda_stream__ version {version} is not known here, only 0")
        return int(handle)
    raise TypeError(
        "stream must be an int, a PyTorch or CuPy stream or an object with __cuda_stream__, "
        f"not {type(stream).__name__}"
    )


def _device_of_stream(stream: Any) -> int | None:
    """The ordinal that PyTorch's and CuPy's streams name; CuPy's -1 means the current device."""
    device = getattr(getattr(stream, "device", None), "index", None)
    if device is None:
        device = getattr(stream, "device_id", None)
    return device if isinstance(device, int) and device >= 0 else None
