"""What an architecture is called, by backend."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NAMES = {
    "cuda": (re.compile(r"(sm|compute)_\d{2,3}[af]?"), "CUDA", "sm_90 or compute_90"),
    "hip": (re.compile(r"gfx[0-9a-f]{3,4}(?::(?:xnack|sramecc)[+-])*"), "AMD", "gfx90a"),
}


def check_archs(backend: str, archs: Iterable[str]) -> tuple[str, ...]:
    """Each once, in their order; ValueError for what is none of the backend's architectures."""
    pattern, vendor, example = _NAMES[backend]
    for arch in archs:
        if not pattern.fullmatch(arch):
            raise ValueError(f"{arch!r} is no {vendor} architecture such as {example}")
    return tuple(dict.fromkeys(archs))


def backend_of(arch: str) -> str:
    """The backend that an architecture belongs to; ValueError where it is none's."""
    for backend, (pattern, _, _) in _NAMES.items():
        if pattern.fullmatch(arch):
            return backend
    raise ValueError(f"{arch!r} is no architecture such as sm_90, compute_90 or gfx90a")
