"""Bounds-checked reading: whatever the bytes say, the answer is a value or a FormatError."""

from __future__ import annotations

from struct import Struct
from typing import Any

from .errors import FormatError


def cut(data: memoryview, offset: int, size: int, what: str) -> memoryview:
    """Exactly `size` bytes from `offset`."""
    end = offset + size
    if end > len(data):
        raise FormatError(
            f"{what}: cut short, it takes bytes {offset} to {end} of {len(data)} that are there"
        )
    return data[offset:end]


def unpack(layout: Struct, data: memoryview, offset: int, what: str) -> tuple[Any, ...]:
    return layout.unpack(cut(data, offset, layout.size, what))


def text(data: memoryview, offset: int, what: str) -> str:
    """The NUL-terminated string at `offset`."""
    # Names are short: looking in steps avoids copying a whole string table for each of them.
    for size in (256, 4096, len(data)):
        piece = bytes(data[offset : offset + size])
        end = piece.find(b"\0")
        if end >= 0:
            return piece[:end].decode("utf-8", "backslashreplace")
    raise FormatError(f"{what}: a name at byte {offset} has no end")


def find(data: memoryview, magics: tuple[bytes, ...], start: int) -> int:
    """Where the first of `magics` stands, or -1."""
    content = bytes(data[start:])
    places = [place for magic in magics if (place := content.find(magic)) >= 0]
    return start + min(places) if places else -1
