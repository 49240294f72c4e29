"""Modules without a device to run on."""

from __future__ import annotations

from gpuport._view import Place
from gpuport.errors import BackendUnavailableError


class CompiledOnly:
    """A module for a GPU that is not here: it was compiled, and cannot be launched."""

    warp_size = 0

    def __init__(self, place: Place, reason: str) -> None:
        self.place = place
        self.reason = reason

    def unavailable(self) -> BackendUnavailableError:
        return BackendUnavailableError(f"the module is compiled and cannot run: {self.reason}")
