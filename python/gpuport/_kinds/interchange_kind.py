"""Arrays of any other library, through `__dlpack__` or `__cuda_array_interface__`, and DeviceArray.

Results: a library with an array API namespace makes them from ours; otherwise they are NumPy arrays
on the host and DeviceArrays on a GPU.
"""

from __future__ import annotations

import math
from typing import Any

from gpuport import _cuda_interface, _dlpack
from gpuport._backends import first_gpu, gpu_of_address, native_module
from gpuport._dtypes import ITEMSIZE, dtype_name
from gpuport._kinds.numpy_kind import NumpyKind
from gpuport._layout import Ints, contiguous_strides
from gpuport._view import HOST, Output, Place, View, require_address
from gpuport.device_array import DeviceArray

_numpy = NumpyKind()


class InterchangeKind:
    name = "DLPack or __cuda_array_interface__"
    has_pool = False

    def place(self, array: Any, argument: str = "x") -> Place:
        if isinstance(array, DeviceArray):
            return array.view.place
        if hasattr(array, "__dlpack__"):
            return _dlpack.place_of(array, argument)
        interface = _cuda_interface.read(array, argument)
        if 0 in interface.shape:
            found = first_gpu()
            if found is None:
                raise ValueError(f"{argument} is on a GPU, and no GPU backend can be used here")
            return Place(*found)
        require_address(interface.address, math.prod(interface.shape), argument)
        found = gpu_of_address(interface.address)
        if found is None:
            raise ValueError(f"{argument}: no GPU backend knows the address {interface.address:#x}")
        return Place(*found)

    def current_stream(self, array: Any) -> int:
        if hasattr(array, "__dlpack__") or isinstance(array, DeviceArray):
            return 0  # what orders the work is the handshake, or the caller
        return _cuda_interface.read(array, "x").stream or 0

    def view(self, array: Any, argument: str, stream: int) -> View:
        if isinstance(array, DeviceArray):
            return array.view
        if hasattr(array, "__dlpack__"):
            place = self.place(array, argument)
            if place == HOST:
                return _dlpack.read(_dlpack.request(array), array, argument)
            number = _dlpack.stream_number(place.backend, stream)
            return _dlpack.read(_dlpack.request(array, stream=number), array, argument)
        return self._from_cuda_interface(array, argument, stream)

    def output(self, array: Any, argument: str, stream: int) -> Output:
        view = self.view(array, argument, stream)
        if view.readonly:
            raise ValueError(f"{argument} is read-only, or its library cannot say that it is not")
        return Output(view)

    def empty(self, like: Any, shape: Ints, dtype: str, stream: int) -> tuple[Any, View]:
        place = self.place(like)
        if place == HOST and not isinstance(like, DeviceArray):
            return _numpy.empty(like, shape, dtype, stream)
        made = DeviceArray.empty(shape, dtype, backend=place.backend, device=place.device)
        return made, made.view

    def finish(self, like: Any, made: Any, stream: int) -> Any:
        if isinstance(like, DeviceArray) or not hasattr(like, "__array_namespace__"):
            return made
        library = like.__array_namespace__()
        if isinstance(made, DeviceArray):
            made.synchronize(stream)  # the library is not told of our stream
        return library.asarray(made)

    def _from_cuda_interface(self, array: Any, argument: str, stream: int) -> View:
        place = self.place(array, argument)
        interface = _cuda_interface.read(array, argument)
        shape, steps, dtype = interface.shape, interface.strides, interface.dtype
        if dtype.name not in ITEMSIZE:
            return View(0, dtype_name(dtype), shape, (0,) * len(shape), place, array)
        if not dtype.isnative or (steps and any(s % dtype.itemsize for s in steps)):
            raise ValueError(f"{argument} has strides or a byte order that no kernel can read")
        strides = tuple(s // dtype.itemsize for s in steps) if steps else contiguous_strides(shape)
        producer = interface.stream
        if producer is not None and producer != stream:
            native_module(place.backend).synchronize(place.device, producer)
        return View(interface.address, dtype.name, shape, strides, place, array, interface.readonly)
