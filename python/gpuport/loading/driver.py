"""The drivers of CUDA and HIP through ctypes, as far as loading and launching modules needs them.

Both have the same functions under different names. A driver that cannot be loaded, or has no
device, is a BackendUnavailableError with the reason.
"""

from __future__ import annotations

import ctypes
import re
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gpuport.errors import BackendUnavailableError, Error, UnsupportedArchError

_FUNCTION_ATTRIBUTES = (
    "max_threads_per_block", "shared_size_bytes", "const_size_bytes", "local_size_bytes",
    "num_regs", "ptx_version", "binary_version", "cache_mode_ca",
    "max_dynamic_shared_size_bytes", "preferred_shared_memory_carveout",
)  # fmt: skip
_MAX_DYNAMIC_SHARED = 8
_NO_CODE = {209, 218}  # no image for the device; PTX that it does not take


class Names(NamedTuple):
    """What one driver calls its functions."""

    libraries: tuple[str, ...]
    init: str
    devices: str
    load: str
    function: str
    variable: str
    attribute: str
    set_attribute: str
    occupancy: str
    launch: str
    cooperative: str
    get_current: str
    set_current: str
    to_host: str
    to_device: str
    synchronize: str


NAMES = {
    "cuda": Names(
        ("libcuda.so.1",),
        "cuInit", "cuDeviceGetCount", "cuModuleLoadData", "cuModuleGetFunction",
        "cuModuleGetGlobal_v2", "cuFuncGetAttribute", "cuFuncSetAttribute",
        "cuOccupancyMaxActiveBlocksPerMultiprocessor", "cuLaunchKernel",
        "cuLaunchCooperativeKernel", "cuCtxGetCurrent", "cuCtxSetCurrent",
        "cuMemcpyDtoHAsync_v2", "cuMemcpyHtoDAsync_v2", "cuStreamSynchronize",
    ),
    "hip": Names(
        ("libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"),
        "hipInit", "hipGetDeviceCount", "hipModuleLoadData", "hipModuleGetFunction",
        "hipModuleGetGlobal", "hipFuncGetAttribute", "hipFuncSetAttribute",
        "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", "hipModuleLaunchKernel",
        "hipModuleLaunchCooperativeKernel", "hipGetDevice", "hipSetDevice",
        "hipMemcpyDtoHAsync", "hipMemcpyHtoDAsync", "hipStreamSynchronize",
    ),
}  # fmt: skip


class Driver:
    """One vendor's driver, with at least one device."""

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self.names = NAMES[backend]
        self.library = self._open()
        self._check(getattr(self.library, self.names.init)(0), "starting the driver")
        count = ctypes.c_int()
        self._check(getattr(self.library, self.names.devices)(ctypes.byref(count)), "counting")
        self.count = count.value
        if self.count == 0:
            raise BackendUnavailableError(f"backend {backend} has no device")
        self._contexts: dict[int, int] = {}

    def _open(self) -> ctypes.CDLL:
        reasons = []
        for name in self.names.libraries:
            try:
                return ctypes.CDLL(name)
            except OSError as error:
                reasons.append(str(error))
        raise BackendUnavailableError(f"backend {self.backend} has no driver here: {reasons[0]}")

    def _check(self, code: int, doing: str) -> None:
        if code != 0:
            text = self.error_text(code)
            raise BackendUnavailableError(f"backend {self.backend}: {doing} failed: {text}")

    def error_text(self, code: int) -> str:
        """ "CUDA_ERROR_INVALID_VALUE: invalid argument"."""
        if self.backend == "hip":
            return self._hip_text(code)
        words = []
        for function in ("cuGetErrorName", "cuGetErrorString"):
            text = ctypes.c_char_p()
            getattr(self.library, function)(code, ctypes.byref(text))
            words.append((text.value or b"unknown").decode(errors="replace"))
        return ": ".join(words)

    def _hip_text(self, code: int) -> str:
        words = []
        for function in ("hipGetErrorName", "hipGetErrorString"):
            ask = getattr(self.library, function)
            ask.restype = ctypes.c_char_p
            words.append((ask(code) or b"unknown").decode(errors="replace"))
        return ": ".join(dict.fromkeys(words))

    def version(self) -> tuple[int, int]:
        """Of CUDA or HIP that the driver is made for."""
        number = ctypes.c_int()
        name = "cuDriverGetVersion" if self.backend == "cuda" else "hipDriverGetVersion"
        getattr(self.library, name)(ctypes.byref(number))
        return number.value // 1000, number.value % 1000 // 10

    def address(self, name: str) -> int:
        return ctypes.cast(getattr(self.library, name), ctypes.c_void_p).value or 0

    def architecture(self, device: int) -> str:
        """ "sm_90", "gfx90a:sramecc+:xnack-"; ValueError if there is no such device."""
        if not 0 <= device < self.count:
            raise ValueError(f"backend {self.backend} has {self.count} devices, no device {device}")
        if self.backend == "cuda":
            return f"sm_{self._attribute(75, device)}{self._attribute(76, device)}"
        # The record has grown with the releases; the name of the architecture is easily told.
        properties = ctypes.create_string_buffer(1 << 14)
        self._check(self.library.hipGetDeviceProperties(properties, device), "asking the device")
        found = re.search(rb"gfx[0-9a-f]+(?:(?::\w+[+-])*)", properties.raw)
        return found.group().decode() if found else "gfx000"

    def warp_size(self, device: int) -> int:
        if self.backend == "cuda":
            return self._attribute(10, device)
        from gpuport._backends import ordinals  # HIP numbers its attributes anew now and then

        return next(iter(ordinals("hip", device)))

    def _attribute(self, number: int, device: int) -> int:
        value = ctypes.c_int()
        code = self.library.cuDeviceGetAttribute(ctypes.byref(value), number, device)
        self._check(code, "asking the device")
        return value.value

    def current(self, device: int) -> int:
        """What makes a device current: CUDA's primary context, HIP's ordinal."""
        if self.backend == "hip":
            return device
        if device not in self._contexts:
            context = ctypes.c_void_p()
            code = self.library.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
            self._check(code, "using the device")
            self._contexts[device] = context.value or 0
        return self._contexts[device]

    def call(self, device: int, function: str, *arguments: Any) -> int:
        """Call a function with the device current, and put back what was."""
        get = getattr(self.library, self.names.get_current)
        set_ = getattr(self.library, self.names.set_current)
        before = ctypes.c_void_p(0) if self.backend == "cuda" else ctypes.c_int(0)
        get(ctypes.byref(before))
        kind = type(before)
        code = int(set_(kind(self.current(device))))
        if code == 0:
            code = int(getattr(self.library, function)(*arguments))
        set_(before)
        return code

    def load_module(self, device: int, code: bytes, archs: str) -> int:
        module = ctypes.c_void_p()
        result = self.call(device, self.names.load, ctypes.byref(module), code)
        if result in _NO_CODE:
            raise UnsupportedArchError(
                f"device {device} is {self.architecture(device)}, the module has code for {archs}"
            )
        if result != 0:
            raise Error(f"the compiled module cannot be loaded: {self.error_text(result)}")
        return module.value or 0

    def function(self, device: int, module: int, symbol: str) -> int:
        found = ctypes.c_void_p()
        code = self.call(
            device, self.names.function, ctypes.byref(found), ctypes.c_void_p(module),
            symbol.encode(),
        )  # fmt: skip
        if code != 0:
            raise Error(f"the module has no {symbol}: {self.error_text(code)}")
        return found.value or 0

    def variable(self, device: int, module: int, symbol: str) -> tuple[int, int]:
        address, nbytes = ctypes.c_void_p(), ctypes.c_size_t()
        code = self.call(
            device, self.names.variable, ctypes.byref(address), ctypes.byref(nbytes),
            ctypes.c_void_p(module), symbol.encode(),
        )  # fmt: skip
        if code != 0:
            raise AttributeError(f"the module has no {symbol}: {self.error_text(code)}")
        return address.value or 0, nbytes.value

    def attributes(self, device: int, function: int) -> dict[str, int]:
        found = {}
        for number, name in enumerate(_FUNCTION_ATTRIBUTES):
            value = ctypes.c_int()
            code = self.call(
                device, self.names.attribute, ctypes.byref(value), number,
                ctypes.c_void_p(function),
            )  # fmt: skip
            if code == 0:
                found[name] = value.value
        return found

    def set_dynamic_shared(self, device: int, function: int, nbytes: int) -> None:
        code = self.call(
            device, self.names.set_attribute, ctypes.c_void_p(function), _MAX_DYNAMIC_SHARED, nbytes
        )
        if code != 0:
            text = self.error_text(code)
            raise ValueError(f"no block can have {nbytes} bytes of dynamic shared memory: {text}")

    def occupancy(self, device: int, function: int, threads: int, shared_mem: int) -> int:
        blocks = ctypes.c_int()
        code = self.call(
            device, self.names.occupancy, ctypes.byref(blocks), ctypes.c_void_p(function), threads,
            ctypes.c_size_t(shared_mem),
        )  # fmt: skip
        if code != 0:
            raise ValueError(f"blocks of {threads} threads: {self.error_text(code)}")
        return blocks.value

    def read(self, device: int, address: int, data: npt.NDArray[np.uint8], stream: int) -> None:
        self._copy(device, self.names.to_host, data.ctypes.data, address, data.nbytes, stream)

    def write(self, device: int, address: int, data: npt.NDArray[np.uint8], stream: int) -> None:
        self._copy(device, self.names.to_device, address, data.ctypes.data, data.nbytes, stream)

    def _copy(self, device: int, how: str, to: int, of: int, nbytes: int, stream: int) -> None:
        handle = ctypes.c_void_p(stream)
        code = self.call(
            device, how, ctypes.c_void_p(to), ctypes.c_void_p(of), ctypes.c_size_t(nbytes), handle
        )
        code = code or self.call(device, self.names.synchronize, handle)
        if code != 0:
            raise Error(f"copying a variable failed: {self.error_text(code)}")


@cache
def driver(backend: str) -> Driver:
    """The driver of a backend; BackendUnavailableError with the reason where it cannot be used."""
    return Driver(backend)
