"""Writes a package of kernels that builds and passes its own test."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

__all__ = ["check_name", "write_package"]

# In file names and texts of the template.
PLACEHOLDER = "@NAME@"
# Hidden files have a visible name there, so that no tool leaves them out of a wheel.
HIDDEN = "dot."


def check_name(name: str) -> None:
    """ValueError if a package cannot be called that; says why."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        words = re.findall(r"[A-Za-z0-9_]+", name)
        other = re.sub(r"^[0-9_]+", "", "_".join(words))
        hint = f"; {other} is one" if other and other.isascii() else ""
        raise ValueError(
            f"{name!r} is no name of a Python package: a letter, then letters, digits and _{hint}"
        )
    if keyword.iskeyword(name):
        raise ValueError(f"{name!r} is a word of the Python language")
    if name in sys.stdlib_module_names or name.lower() in ("gpuport", "numpy", "nanobind", "test"):
        raise ValueError(f"{name!r} would hide another package of that name")


def write_package(folder: Path) -> list[Path]:
    """Write the package that is named as the folder; the files, in order.

    Raises:
        ValueError: a package cannot have that name.
        FileExistsError: there is something at that place already.
        OSError: a file cannot be written.
    """
    name = folder.name
    check_name(name)
    if folder.is_symlink() or folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} exists and is not an empty folder; nothing was written")
    written = []
    for path, text in _template(files("gpuport.packages") / "template", Path()):
        target = folder / str(path).replace(PLACEHOLDER, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text.replace(PLACEHOLDER, name), encoding="utf-8")
        written.append(target)
    return written


def _template(folder: Traversable, below: Path) -> Iterator[tuple[Path, str]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        name = entry.name.replace(HIDDEN, ".", 1) if entry.name.startswith(HIDDEN) else entry.name
        if entry.is_dir():
            yield from _template(entry, below / name)
        elif name.endswith(".in"):
            yield below / name.removesuffix(".in"), entry.read_text(encoding="utf-8")
