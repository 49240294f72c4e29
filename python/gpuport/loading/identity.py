"""What a compilation depends on beside its sources: programs, libraries, this package itself."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache

FOLDERS = ("translate", "loading", "include/hip", "include/hip/gpuport_hip", "include/hip/hip")


def file_identities(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Size and time of each file: cheap, and changed by every installation."""
    found = []
    for path in sorted(os.fspath(path) for path in paths):
        status = os.stat(path)
        found.append(f"{path}:{status.st_size}:{status.st_mtime_ns}")
    return found


def files_of(folder: str | os.PathLike[str], suffixes: tuple[str, ...]) -> list[str]:
    return [entry.path for entry in os.scandir(folder) if entry.name.endswith(suffixes)]


@cache
def package_identity() -> list[str]:
    """The translator, its table, and what writes the sources that are compiled."""
    package = os.path.dirname(os.path.dirname(__file__))
    suffixes = (".py", ".h", ".toml")
    return file_identities(
        path for folder in FOLDERS for path in files_of(f"{package}/{folder}", suffixes)
    )
