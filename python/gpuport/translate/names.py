"""The table of CUDA names and what HIP calls them, read from `hipify.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from .naming import regular_name

TABLE_NAME = "hipify.toml"


class NameTable:
    """What is known about CUDA names; later files add to earlier ones and win over them."""

    def __init__(self) -> None:
        self._hip: dict[str, str] = {}
        self._regular: set[str] = set()
        self._unsupported: set[str] = set()
        self.hints: dict[str, str] = {}
        self.headers: dict[str, str] = {}
        self.warnings: dict[str, str] = {}

    def add(self, table: dict[str, Any]) -> None:
        """Add the content of one table file."""
        for group in table.get("names", {}).values():
            for name in group.get("unsupported", "").split():
                self._forget(name)
                self._unsupported.add(name)
            for name in group.get("regular", "").split():
                self._forget(name)
                self._regular.add(name)
            words = group.get("renamed", "").split()
            for name, hip in zip(words[::2], words[1::2], strict=True):
                self._forget(name)
                self._hip[name] = hip
        self.headers.update(table.get("headers", {}))
        self.hints.update(table.get("hints", {}))
        self.warnings.update(table.get("warnings", {}))

    def _forget(self, name: str) -> None:
        self._hip.pop(name, None)
        self._regular.discard(name)
        self._unsupported.discard(name)

    def hip_name(self, name: str) -> str | None:
        """What HIP calls `name`; None if the table knows no HIP name for it."""
        known = self._hip.get(name)
        if known is not None:
            return known
        return regular_name(name) if name in self._regular else None

    def is_unsupported(self, name: str) -> bool:
        """Whether CUDA has `name` and HIP has nothing for it."""
        return name in self._unsupported

    def cuda_names(self) -> Iterable[str]:
        """Every CUDA name that the table knows."""
        return [*self._hip, *self._regular, *self._unsupported]


def table_path() -> Path:
    """Where `hipify.toml` is: beside the package once installed, in `kernels/hip` in the source tree."""
    here = Path(__file__).resolve().parent
    candidates = [here / TABLE_NAME, here.parent / "kernels" / "hip" / TABLE_NAME]
    candidates.append(here.parents[2] / "kernels" / "hip" / TABLE_NAME)
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise FileNotFoundError(f"no {TABLE_NAME}; looked at {', '.join(map(str, candidates))}")


@cache
def load_names(*extra: Path) -> NameTable:
    """The table that comes with gpuport, then `extra` files on top."""
    names = NameTable()
    for path in (table_path(), *extra):
        with path.open("rb") as file:
            names.add(tomllib.load(file))
    return names
