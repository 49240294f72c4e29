"""Reading MessagePack, the form of the metadata in AMD's code objects."""

from __future__ import annotations

from struct import Struct
from typing import Any

from .binary import cut, unpack
from .errors import FormatError

_WHAT = "code object metadata"
_DEEPEST = 32
# First byte to the layout of the number that follows it.
_NUMBERS = {
    0xCA: Struct(">f"), 0xCB: Struct(">d"),
    0xCC: Struct(">B"), 0xCD: Struct(">H"), 0xCE: Struct(">I"), 0xCF: Struct(">Q"),
    0xD0: Struct(">b"), 0xD1: Struct(">h"), 0xD2: Struct(">i"), 0xD3: Struct(">q"),
}  # fmt: skip
_BINARIES = {0xC4: Struct(">B"), 0xC5: Struct(">H"), 0xC6: Struct(">I")}
_STRINGS = {0xD9: Struct(">B"), 0xDA: Struct(">H"), 0xDB: Struct(">I")}
_ARRAYS = {0xDC: Struct(">H"), 0xDD: Struct(">I")}
_MAPS = {0xDE: Struct(">H"), 0xDF: Struct(">I")}
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}


def decode(data: memoryview) -> Any:
    """The one value that `data` begins with."""
    return _value(data, 0, 0)[0]


def _value(data: memoryview, offset: int, depth: int) -> tuple[Any, int]:
    if depth > _DEEPEST:
        raise FormatError(f"{_WHAT}: nested too deep")
    first = cut(data, offset, 1, _WHAT)[0]
    offset += 1
    if first < 0x80:
        return first, offset
    if first >= 0xE0:
        return first - 0x100, offset
    if first < 0x90:
        return _map(data, offset, first & 15, depth)
    if first < 0xA0:
        return _array(data, offset, first & 15, depth)
    if first < 0xC0:
        return _string(data, offset, first & 31)
    if first in _CONSTANTS:
        return _CONSTANTS[first], offset
    for layouts, read in ((_ARRAYS, _array), (_MAPS, _map)):
        if layout := layouts.get(first):
            (size,) = unpack(layout, data, offset, _WHAT)
            return read(data, offset + layout.size, size, depth)
    if layout := _NUMBERS.get(first):
        return unpack(layout, data, offset, _WHAT)[0], offset + layout.size
    if layout := _STRINGS.get(first):
        return _string(data, offset + layout.size, unpack(layout, data, offset, _WHAT)[0])
    if layout := _BINARIES.get(first):
        (size,) = unpack(layout, data, offset, _WHAT)
        offset += layout.size
        return bytes(cut(data, offset, size, _WHAT)), offset + size
    raise FormatError(f"{_WHAT}: unknown type byte 0x{first:02x}")


def _string(data: memoryview, offset: int, size: int) -> tuple[str, int]:
    content = bytes(cut(data, offset, size, _WHAT))
    return content.decode("utf-8", "backslashreplace"), offset + size


def _array(data: memoryview, offset: int, size: int, depth: int) -> tuple[list[Any], int]:
    items = []
    for _ in range(size):
        item, offset = _value(data, offset, depth + 1)
        items.append(item)
    return items, offset


def _map(data: memoryview, offset: int, size: int, depth: int) -> tuple[dict[Any, Any], int]:
    items = {}
    for _ in range(size):
        key, offset = _value(data, offset, depth + 1)
        if not isinstance(key, str | int):
            raise FormatError(f"{_WHAT}: a key is neither a string nor a number")
        items[key], offset = _value(data, offset, depth + 1)
    return items, offset
