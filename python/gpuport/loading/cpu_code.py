"""A compiled module of the CPU backend in this process, as kernels with addresses."""

from __future__ import annotations

import ctypes
import os
from functools import cache, partial
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from gpuport import _launcher
from gpuport._backends import native_module, ordinals
from gpuport._view import HOST
from gpuport.errors import Error, LaunchError
from gpuport.loading.arrays import resolve_array, resolve_call_stream
from gpuport.loading.cpu_toolchain import LIBRARY, runtime_folder
from gpuport.loading.records import GlobalRecord, KernelRecord

_open_files: set[tuple[int, int]] = set()


@cache
def runtime() -> ctypes.CDLL:
    """The SIMT machine, which the native module has loaded already."""
    library = ctypes.CDLL(f"{runtime_folder()}/{LIBRARY}")
    library.gpuport_simt_cudaGetErrorString.restype = ctypes.c_char_p
    library.gpuport_simt_last_error_detail.restype = ctypes.c_char_p
    return library


def _address(name: str) -> int:
    return ctypes.cast(getattr(runtime(), name), ctypes.c_void_p).value or 0


def _raise_launch_error(
    name: str, code: int, grid: tuple[int, ...], block: tuple[int, ...]
) -> NoReturn:
    library = runtime()
    detail = library.gpuport_simt_last_error_detail().decode(errors="replace")
    text = library.gpuport_simt_cudaGetErrorString(code).decode(errors="replace")
    library.gpuport_simt_cudaGetLastError()  # it has been read: this error tells it
    raise LaunchError(detail or f"kernel {name} <<<{grid}, {block}>>>: {text}")


@cache
def _target(warp_size: int) -> _launcher.Target:
    return _launcher.Target(
        launch=_address("gpuport_simt_launch"),
        launch_cooperative=_address("gpuport_simt_launch_cooperative"),
        get_current=_address("gpuport_simt_cudaGetDevice"),
        set_current=_address("gpuport_simt_cudaSetDevice"),
        current=ordinals("cpu", 0)[warp_size],
        is_context=False,
        backend="cpu",
        device=0,
        resolve=partial(resolve_array, place=HOST),
        stream=partial(resolve_call_stream, place=HOST),
        on_error=_raise_launch_error,
    )


def _open(path: str) -> ctypes.CDLL:
    """The shared object, with variables of its own even where the same file is loaded already."""
    status = os.stat(path)
    identity = (status.st_dev, status.st_ino)
    if identity not in _open_files:
        _open_files.add(identity)
        return ctypes.CDLL(path)
    import shutil  # not for the first of its kind
    import tempfile

    handle, copy = tempfile.mkstemp(prefix="gpuport-", suffix=".so", dir=os.path.dirname(path))
    os.close(handle)
    try:
        shutil.copyfile(path, copy)
        os.chmod(copy, 0o700)
        return ctypes.CDLL(copy)
    finally:
        os.unlink(copy)


class CpuCode:
    """A module on the CPU with warps of one width. It stays loaded until the process ends."""

    place = HOST

    def __init__(self, path: str, warp_size: int) -> None:
        self.warp_size = warp_size
        try:
            self._library = _open(path)
        except OSError as error:
            if not os.path.exists(path):
                raise FileNotFoundError(path) from error
            raise Error(f"the compiled module cannot be loaded: {error}") from None

    def target(self) -> _launcher.Target:
        return _target(self.warp_size)

    def function(self, kernel: KernelRecord) -> int:
        return ctypes.addressof(ctypes.c_char.in_dll(self._library, kernel.symbol))

    def variable(self, record: GlobalRecord) -> tuple[int, int]:
        pair = (ctypes.c_size_t * 2).in_dll(self._library, record.symbol)
        return pair[0], pair[1]

    def read(self, address: int, data: npt.NDArray[np.uint8], stream: int) -> None:
        native_module("cpu").download(address, data, stream)

    def write(self, address: int, data: npt.NDArray[np.uint8], stream: int) -> None:
        native_module("cpu").upload(address, data, stream)

    def attributes(self, function: int) -> dict[str, int]:
        threads, shared = ctypes.c_int(), ctypes.c_int()
        self._ask("limits", function, ctypes.byref(threads), ctypes.byref(shared))
        return {
            "max_threads_per_block": threads.value,
            "max_dynamic_shared_size_bytes": shared.value,
        }

    def set_dynamic_shared(self, function: int, nbytes: int) -> None:
        if self._ask("allow_shared", function, nbytes) != 0:
            raise ValueError(f"no block can have {nbytes} bytes of dynamic shared memory")

    def occupancy(self, function: int, threads: int, shared_mem: int) -> int:
        blocks = ctypes.c_int()
        size = ctypes.c_size_t(shared_mem)
        if self._ask("occupancy", function, ctypes.byref(blocks), threads, size) != 0:
            raise ValueError(f"no block has {threads} threads")
        return blocks.value

    @staticmethod
    def _ask(what: str, function: int, *arguments: Any) -> int:
        library = runtime()
        ask = getattr(library, f"gpuport_simt_entry_{what}")
        code = int(ask(ctypes.c_void_p(function), *arguments))
        if code != 0:
            library.gpuport_simt_cudaGetLastError()
        return code
