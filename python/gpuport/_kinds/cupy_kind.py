"""CuPy arrays, on CUDA and on ROCm."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import Any

from gpuport._dtypes import dtype_name, numpy_dtype
from gpuport._layout import Ints
from gpuport._view import Output, Place, View, packed


def _cupy() -> Any:
    return sys.modules["cupy"]


def stream_function() -> Any:
    """The C function that CuPy's own launches ask for the current stream of a device, or None."""
    module = sys.modules.get("cupy_backends.cuda.stream")
    return getattr(module, "__pyx_capi__", {}).get("get_stream_ptr")


class CupyKind:
    name = "CuPy"
    has_pool = True

    def place(self, array: Any, argument: str = "x") -> Place:
        return Place("hip" if _cupy().cuda.runtime.is_hip else "cuda", array.device.id)

    def current_stream(self, array: Any) -> int:
        return int(_cupy().cuda.get_current_stream(array.device.id).ptr)

    def view(self, array: Any, argument: str, stream: int) -> View:
        name = dtype_name(array.dtype)
        if any(s % array.itemsize for s in array.strides) or not array.dtype.isnative:
            raise ValueError(
                f"{argument} has strides or a byte order that no kernel can read; copy it first"
            )
        strides = tuple(s // array.itemsize for s in array.strides)
        return View(array.data.ptr, name, array.shape, strides, self.place(array, argument), array)

    def output(self, array: Any, argument: str, stream: int) -> Output:
        return Output(self.view(array, argument, stream))

    def empty(self, like: Any, shape: Ints, dtype: str, stream: int) -> tuple[Any, View]:
        with self._on(like, stream):
            made = _cupy().empty(shape, numpy_dtype(dtype))
        return made, packed(made.data.ptr, dtype, shape, self.place(like), made)

    def finish(self, like: Any, made: Any, stream: int) -> Any:
        return made

    def _on(self, like: Any, stream: int) -> ExitStack:
        """CuPy's pool hands memory out in the order of the stream that is current on the device."""
        cuda = _cupy().cuda
        stack = ExitStack()
        stack.enter_context(cuda.Device(like.device.id))
        if stream != self.current_stream(like):
            null = cuda.Stream.null
            stack.enter_context(cuda.ExternalStream(stream, like.device.id) if stream else null)
        return stack
