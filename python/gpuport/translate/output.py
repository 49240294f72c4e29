"""Writing results: aside, then renamed, so that no reader sees half a file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def is_current(path: Path, data: bytes) -> bool:
    """Whether `path` already holds `data`."""
    try:
        return path.stat().st_size == len(data) and path.read_bytes() == data
    except (FileNotFoundError, NotADirectoryError):
        return False


def write_file(path: Path, data: bytes) -> bool:
    """Make `path` hold `data`; False if it already does, in which case its time stays."""
    if is_current(path, data):
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, aside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(aside, 0o666 & ~_umask())
        os.replace(aside, path)
    except BaseException:
        os.unlink(aside)
        raise
    return True


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
