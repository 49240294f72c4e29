"""Arrays of any other library, through `__dlpack__` or `__cuda_array_interface__`, and DeviceArray.

Results: a library with an array API namespace makes them from ours; otherwise they are NumPy arrays
on the host and DeviceArrays on a GPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuport import _dlpack
from gpuport._backends import first_gpu, gpu_of_address, native_module
from gpuport._dtypes import ITEMSIZE, dtype_name
from gpuport._kinds.numpy_kind import NumpyKind
from gpuport._layout import Ints, contiguous_strides
from gpuport._view import HOST, Output, Place, View
from gpuport.device_array import DeviceArray

_numpy = NumpyKind()


class InterchangeKind:
    name = "DLPack or __cuda_array_interface__"
    has_pool = False

    def place(self, array: Any) -> Place:
        if isinstance(array, DeviceArray):
            return array.view.place
        if hasattr(array, "__dlpack_device__"):
            return _dlpack.device_place(*array.__dlpack_device__())
        interface = array.__cuda_array_interface__
        address = interface["data"][0]
        found = first_gpu() if 0 in interface["shape"] else gpu_of_address(address)
        if found is None:
            raise ValueError(f"no GPU backend knows the address {address:#x} of this array")
        return Place(*found)

    def current_stream(self, array: Any) -> int:
        return _producer_stream(array) or 0

    def view(self, array: Any, argument: str, stream: int) -> View:
        if isinstance(array, DeviceArray):
            return array.view
        if hasattr(array, "__dlpack__"):
            place = self.place(array)
            if place == HOST:
                return _dlpack.read(_dlpack.request(array), array)
            number = _dlpack.stream_number(place.backend, stream)
            return _dlpack.read(_dlpack.request(array, stream=number), array)
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
        place = self.place(array)
        interface = array.__cuda_array_interface__
        if interface.get("mask") is not None:
            raise TypeError(f"{argument} has a __cuda_array_interface__ mask, which would be lost")
        dtype = np.dtype(interface["typestr"])
        shape = tuple(interface["shape"])
        steps = interface.get("strides")
        if dtype.name not in ITEMSIZE:
            return View(0, dtype_name(dtype), shape, (0,) * len(shape), place, array)
        if not dtype.isnative or (steps and any(s % dtype.itemsize for s in steps)):
            raise ValueError(f"{argument} has strides or a byte order that no kernel can read")
        strides = tuple(s // dtype.itemsize for s in steps) if steps else contiguous_strides(shape)
        producer = _producer_stream(array)
        if producer is not None and producer != stream:
            native_module(place.backend).synchronize(place.device, producer)
        address, readonly = interface["data"]
        return View(address, dtype.name, shape, strides, place, array, bool(readonly))


def _producer_stream(array: Any) -> int | None:
    """The stream that `__cuda_array_interface__` names; its 1 is the legacy default, our 0."""
    if hasattr(array, "__dlpack__") or isinstance(array, DeviceArray):
        return None
    stream = getattr(array, "__cuda_array_interface__", {}).get("stream")
    if stream is None:
        return None
    if stream == 0:
        raise ValueError("__cuda_array_interface__ must not name stream 0: it is ambiguous")
    return 0 if stream == 1 else int(stream)
