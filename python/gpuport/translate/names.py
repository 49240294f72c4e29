"""The table of CUDA names and what HIP calls them, read from `hipify.toml`."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from .naming import regular_name

TABLE_NAME = "hipify.toml"
COMPAT = (
    "HIP lacks this; gpuport_hip.h, which gpuport.load, gpuport build and gpuport_add_module "
    "include, has it"
)
NVIDIA_ONLY = (
    "HIP has it for NVIDIA only{until}: AMD's runtime refuses it or answers 0; look at the error "
    "that comes back, and have a value of your own for then"
)
DEFAULT_HINT = "put it in a branch of its own, #if defined(GP_TARGET_CUDA), or do without"


class Meaning(NamedTuple):
    """What the table says about a CUDA name: its HIP name, or that HIP has none, and a warning.

    `rule` is what the warning is found under.
    """

    hip: str | None
    unsupported: bool
    warning: str = ""
    rule: str = "warp-mask"


class NameTable:
    """What is known about CUDA names; later tables add to earlier ones and win over them."""

    def __init__(self) -> None:
        self._renamed: dict[str, str] = {}
        self._regular: set[str] = set()
        self._unsupported: set[str] = set()
        self._dropped: set[str] = set()
        self._patterns: list[str] = []
        self._warnings: dict[str, str] = {}
        self._compat: set[str] = set()
        self._nvidia_only: dict[str, str] = {}
        self._hints: dict[str, str] = {}
        self._meanings: dict[str, Meaning | None] = {}
        self._odd: list[str] | None = None
        self.plain: set[str] = set()
        self.headers: dict[str, str] = {}
        self.dropped_headers: set[str] = set()
        self.compat_headers: set[str] = set()
        self.unsupported_headers: set[str] = set()
        self._header_patterns: list[str] = []
        self.unsupported_namespaces: set[str] = set()
        self.unsupported_members: dict[str, set[str]] = {"cub": set(), "cooperative_groups": set()}

    def add(self, table: dict[str, Any]) -> None:
        """Add the content of one table file."""
        self._meanings.clear()
        self._odd = None
        for group in table.get("names", {}).values():
            self._add_names(group)
        for name, hip in table.get("headers", {}).items():
            if isinstance(hip, str):
                self._forget_header(name)
                self.headers[name] = hip
        for kind, known in (
            ("dropped", self.dropped_headers),
            ("compat", self.compat_headers),
            ("unsupported", self.unsupported_headers),
        ):
            group = table.get("headers", {}).get(kind, {})
            for name in group.get("names", "").split():
                self._forget_header(name)
                known.add(name)
            self._header_patterns += group.get("patterns", [])
        self.unsupported_namespaces.update(
            table.get("namespaces", {}).get("unsupported", "").split()
        )
        for namespace, members in self.unsupported_members.items():
            members.update(table.get(namespace, {}).get("unsupported", "").split())
        self._warnings.update(table.get("warnings", {}))
        for name in table.get("compat", {}).get("names", "").split():
            self._forget(name)
            self._compat.add(name)
        self._hints.update(table.get("hints", {}))
        for key, until in (("names", " before HIP 7"), ("in_hip_7", "")):
            for hip in table.get("nvidia_only", {}).get(key, "").split():
                self._nvidia_only[hip] = NVIDIA_ONLY.format(until=until)

    def _add_names(self, group: dict[str, Any]) -> None:
        for key, known in (
            ("regular", self._regular),
            ("unsupported", self._unsupported),
            ("dropped", self._dropped),
            ("plain", self.plain),
        ):
            for name in group.get(key, "").split():
                self._forget(name)
                known.add(name)
        words = group.get("renamed", "").split()
        for name, hip in zip(words[::2], words[1::2], strict=True):
            self._forget(name)
            self._renamed[name] = hip
        self._patterns += group.get("unsupported_patterns", [])

    def _forget(self, name: str) -> None:
        self._renamed.pop(name, None)
        for known in (self._regular, self._unsupported, self._dropped, self.plain, self._compat):
            known.discard(name)

    def _forget_header(self, name: str) -> None:
        self.headers.pop(name, None)
        self.dropped_headers.discard(name)
        self.compat_headers.discard(name)
        self.unsupported_headers.discard(name)

    def meaning(self, name: str) -> Meaning | None:
        """What is known about `name`; None if it is no name of CUDA's."""
        try:
            return self._meanings[name]
        except KeyError:
            found = self._meanings[name] = self._find(name)
            return found

    def _find(self, name: str) -> Meaning | None:
        hip = regular_name(name) if name in self._regular else self._renamed.get(name)
        if hip is not None:
            return Meaning(hip, False, self._nvidia_only.get(hip, ""), "nvidia-only")
        if name in self._dropped:
            return Meaning("", False)
        if name in self._compat:
            return Meaning(None, False, COMPAT, "compat-header")
        for pattern, warning in self._warnings.items():
            if re.fullmatch(pattern, name, re.ASCII):
                return Meaning(None, False, warning)
        if name in self._unsupported or any(
            re.fullmatch(p, name, re.ASCII) for p in self._patterns
        ):
            return Meaning(None, True)
        return None

    def hint(self, name: str) -> str:
        """What to do about a name that HIP lacks."""
        for pattern, hint in self._hints.items():
            if re.fullmatch(pattern, name, re.ASCII):
                return hint
        return DEFAULT_HINT

    def is_unsupported_header(self, name: str) -> bool:
        """Whether an include of `name` is of CUDA and HIP has nothing in its place."""
        return name in self.unsupported_headers or any(
            re.fullmatch(p, name) for p in self._header_patterns
        )

    def odd_names(self) -> list[str]:
        """Names with a meaning that do not start as nearly all do: with cu, CU or an underscore."""
        if self._odd is None:
            known = (*self._renamed, *self._regular, *self._unsupported)
            self._odd = [
                name for name in known if not name.startswith(("cu", "CU", "Cu", "_", "make_cu"))
            ]
        return self._odd

    def cuda_names(self) -> list[str]:
        """Every CUDA name that the table knows by itself, not by a pattern."""
        known = (self._regular, self._unsupported, self._dropped, self.plain, self._compat)
        return [*self._renamed, *(name for names in known for name in names)]


def table_path() -> Path:
    """Where `hipify.toml` is: in the package once installed, in `kernels/hip` before."""
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
            try:
                names.add(tomllib.load(file))
            except (tomllib.TOMLDecodeError, ValueError, AttributeError) as error:
                raise ValueError(f"{path}: not a table of names: {error}") from error
    return names
