"""gpuport's own kernels as the engine calls them: by the public API, in host or device memory."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

import gpuport
from gpuport._backends import native_module
from gpuport._native import Buffer
from gpuport.device_array import DeviceArray
from gpuport.testing import dtypes, memory
from gpuport.testing.case import Sparse, Target
from gpuport.testing.dtypes import Array
from gpuport.testing.engine import Call, Machine

CHUNK_BYTES: Final = 1 << 26


def machine(kernel: str, target: Target) -> Machine:
    """In host memory for the CPU backend, in the device's own for a GPU."""
    return (device_machine if target.is_gpu else host_machine)(kernel, target)


def place_on(target: Target) -> Callable[[memory.Image], memory.Buffer]:
    """How guarded arrays get into the memory of a target."""
    return _DeviceMemory(target).place if target.is_gpu else memory.HostBuffer


def host_machine(kernel: str, target: Target) -> Machine:
    return Machine(_call(kernel, target), read=_read)


def device_machine(kernel: str, target: Target) -> Machine:
    """With memory from gpuport's native module, so that a check needs no array library."""
    memory_of = _DeviceMemory(target)
    return Machine(_call(kernel, target), memory_of.place, memory_of.place_sparse, read=_read)


def _call(kernel: str, target: Target) -> Call:
    _, _, variant = kernel.partition(".")

    def call(op: str, arrays: Mapping[str, Any], options: Mapping[str, Any], out: Any) -> Any:
        keywords: dict[str, Any] = {}
        for name, array in arrays.items():
            argument, dot, _ = name.partition(".")
            keywords[argument] = (*keywords.get(argument, ()), array) if dot else array
        if out is not None:
            keywords["out"] = out
        return getattr(gpuport, op)(
            **keywords,
            **options,
            backend=target.backend,
            variant=variant,
            warp_size=target.warp_size,
        )

    return call


def _read(result: Any) -> tuple[Array, str]:
    """What lies in a returned array, and its dtype; of several, in all of them."""
    if isinstance(result, tuple):
        parts = [_read(part) for part in result]
        return np.stack([stored for stored, _ in parts]), parts[0][1]
    if isinstance(result, DeviceArray):
        stored = np.empty(result.shape, dtypes.storage(result.dtype))
        if stored.size:
            native = native_module(result.backend)
            native.download(result.view.address, stored.reshape(-1).view(np.uint8), 0)
        return stored, result.dtype
    return result.view(dtypes.storage(result.dtype.name)), result.dtype.name


def _device_array(buffer: Buffer, image: memory.Image, backend: str, device: int) -> DeviceArray:
    width = dtypes.storage(image.dtype).itemsize
    return DeviceArray(
        buffer,
        image.shape,
        image.dtype,
        strides=[stride // width for stride in image.strides],
        offset=image.offset // width,
        backend=backend,
        device=device,
    )


class _DeviceBuffer:
    def __init__(self, image: memory.Image, target: Target) -> None:
        self._native = native_module(target.backend)
        self._block = self._native.allocate(image.data.nbytes, target.device)
        self._native.upload(self._block.address, image.data, 0)
        self.array = _device_array(self._block, image, target.backend, target.device)

    def fetch(self) -> memory.Bytes:
        """Waits for the default stream, in which the calls are made."""
        data = np.empty(self._block.nbytes, np.uint8)
        self._native.download(self._block.address, data, 0)
        return data


class _DeviceMemory:
    def __init__(self, target: Target) -> None:
        self._target = target

    def place(self, image: memory.Image) -> memory.Buffer:
        return _DeviceBuffer(image, self._target)

    def place_sparse(self, operand: Sparse) -> Any:
        """Written by the piece, because the host need not hold it."""
        target, storage = self._target, dtypes.storage(operand.dtype)
        native = native_module(target.backend)
        array = DeviceArray.empty(
            operand.shape, operand.dtype, backend=target.backend, device=target.device
        )
        start, nbytes = array.view.address, array.size * storage.itemsize
        zeros = np.zeros(CHUNK_BYTES, np.uint8)
        for at in range(0, nbytes, CHUNK_BYTES):
            native.upload(start + at, zeros[: nbytes - at], 0)
        for index, value in operand.elements.items():
            one = dtypes.encode(np.array([value]), operand.dtype).view(np.uint8)
            native.upload(start + index * storage.itemsize, one, 0)
        return array
