"""Writing results: all aside, then all renamed, so that no failure leaves half of them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path


def is_current(path: Path, data: bytes) -> bool:
    """Whether `path` already holds `data`."""
    try:
        return path.stat().st_size == len(data) and path.read_bytes() == data
    except (FileNotFoundError, NotADirectoryError):
        return False


def write_files(files: Sequence[tuple[Path, bytes]]) -> list[bool]:
    """Make each path hold its bytes; False for those that already do, whose time stays.

    A folder that takes no file is noticed before the first file changes. A link stays a link: what
    it points to is written.
    """
    renames: list[tuple[str, Path]] = []
    made: list[Path] = []
    written = []
    try:
        for path, data in files:
            stale = not is_current(path, data)
            written.append(stale)
            if stale:
                target = Path(os.path.realpath(path))
                _make_folder(target.parent, made)
                renames.append((_write_aside(target, data), target))
        while renames:
            aside, target = renames[0]
            os.replace(aside, target)
            del renames[0]
    except BaseException:
        for aside, _ in renames:
            os.unlink(aside)
        for folder in reversed(made):
            with suppress(OSError):  # one that holds files by now
                folder.rmdir()
        raise
    return written


def _make_folder(folder: Path, made: list[Path]) -> None:
    """Make `folder` and those above it, and note in `made` which were missing."""
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        path.mkdir(exist_ok=True)  # another run may have made it by now
        made.append(path)


def _write_aside(path: Path, data: bytes) -> str:
    """The name of a new file beside `path` that holds `data`."""
    handle, aside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(aside, 0o666 & ~_umask())
    except BaseException:
        os.unlink(aside)
        raise
    return aside


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
