"""What a backend gives a module: its code on one device, and the device's memory."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from gpuport import _launcher
from gpuport._view import Place
from gpuport.loading.records import GlobalRecord, KernelRecord


class Memory(Protocol):
    """The device that a variable is on."""

    place: Place

    def read(self, address: int, data: npt.NDArray[np.uint8], stream: int) -> None: ...

    def write(self, address: int, data: npt.NDArray[np.uint8], stream: int) -> None: ...


class LoadedCode(Memory, Protocol):
    """What a backend made of a module's file on one device."""

    warp_size: int

    def target(self) -> _launcher.Target:
        """The native launcher's idea of the device; BackendUnavailableError without one."""

    def function(self, kernel: KernelRecord) -> int: ...

    def attributes(self, function: int) -> dict[str, int]: ...

    def set_dynamic_shared(self, function: int, nbytes: int) -> None: ...

    def occupancy(self, function: int, threads: int, shared_mem: int) -> int: ...

    def variable(self, record: GlobalRecord) -> tuple[int, int]:
        """Address and bytes."""
