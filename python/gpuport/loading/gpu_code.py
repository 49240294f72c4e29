"""A compiled module of a GPU backend, on a device or, without one, only as files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from gpuport import _launcher
from gpuport._view import Place
from gpuport.errors import LaunchError, UnsupportedArchError
from gpuport.loading.arrays import resolve_array, resolve_call_stream
from gpuport.loading.driver import driver
from gpuport.loading.records import GlobalRecord, KernelRecord


def choose_arch(device_arch: str, archs: Mapping[str, str]) -> str:
    """The architecture, of those that there is code for, that the device runs best.

    CUDA: the device's own, the highest lower one of the same major version, then PTX. AMD: its own,
    with or without the features behind the name.

    Raises:
        UnsupportedArchError: none of them; names them and the device's.
    """
    if device_arch in archs:
        return device_arch
    if device_arch.startswith("gfx"):
        plain = device_arch.partition(":")[0]
        for arch in archs:
            wanted = arch.split(":")
            if wanted[0] == plain and set(wanted[1:]) <= set(device_arch.split(":")[1:]):
                return arch
    else:
        own = int(device_arch.removeprefix("sm_"))
        real = [(int(a[3:]), a) for a in archs if re.fullmatch(r"sm_\d+", a)]
        family = [(n, a) for n, a in real if n // 10 == own // 10 and n <= own]
        ptx = [(int(a[8:]), a) for a in archs if re.fullmatch(r"compute_\d+", a)]
        for found in (family, [(n, a) for n, a in ptx if n <= own]):
            if found:
                return max(found)[1]
        if f"{device_arch}a" in archs:
            return f"{device_arch}a"
    raise UnsupportedArchError(
        f"the device is {device_arch}, and the module has code for {', '.join(archs)}"
    )


def _raise_launch_error(
    backend: str, name: str, code: int, grid: tuple[int, ...], block: tuple[int, ...]
) -> NoReturn:
    text = driver(backend).error_text(code)
    raise LaunchError(f"kernel {name} <<<{grid}, {block}>>>: {text}")


@cache
def _target(backend: str, device: int) -> _launcher.Target:
    found = driver(backend)
    place = Place(backend, device)
    return _launcher.Target(
        launch=found.address(found.names.launch),
        launch_cooperative=found.address(found.names.cooperative),
        get_current=found.address(found.names.get_current),
        set_current=found.address(found.names.set_current),
        current=found.current(device),
        is_context=backend == "cuda",
        backend=backend,
        device=device,
        resolve=partial(resolve_array, place=place),
        stream=partial(resolve_call_stream, place=place),
        on_error=partial(_raise_launch_error, backend),
    )


class GpuCode:
    """A module on a GPU. It stays loaded until the process ends: work may still be using it."""

    def __init__(self, folder: str, files: Mapping[str, str], place: Place) -> None:
        self.place = place
        self._driver = driver(place.backend)
        self.warp_size = self._driver.warp_size(place.device)
        arch = choose_arch(self._driver.architecture(place.device), files)
        code = Path(folder, files[arch]).read_bytes()
        if arch.startswith("compute"):
            code += b"\0"  # PTX is text, and the driver looks for its end
        self._module = self._driver.load_module(place.device, code, ", ".join(files))

    def target(self) -> _launcher.Target:
        return _target(self.place.backend, self.place.device)

    def function(self, kernel: KernelRecord) -> int:
        return self._driver.function(self.place.device, self._module, kernel.symbol)

    def variable(self, record: GlobalRecord) -> tuple[int, int]:
        return self._driver.variable(self.place.device, self._module, record.symbol)

    def attributes(self, function: int) -> dict[str, int]:
        return self._driver.attributes(self.place.device, function)

    def set_dynamic_shared(self, function: int, nbytes: int) -> None:
        self._driver.set_dynamic_shared(self.place.device, function, nbytes)

    def occupancy(self, function: int, threads: int, shared_mem: int) -> int:
        return self._driver.occupancy(self.place.device, function, threads, shared_mem)

    def read(self, address: int, data: npt.NDArray[np.uint8], stream: int) -> None:
        self._driver.read(self.place.device, address, data, stream)

    def write(self, address: int, data: npt.NDArray[np.uint8], stream: int) -> None:
        self._driver.write(self.place.device, address, data, stream)
