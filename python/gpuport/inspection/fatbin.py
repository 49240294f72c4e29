"""NVIDIA's fat binary: a container of cubins and PTX, several of them one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct

from .binary import cut, find, unpack
from .compression import lz4_block, zstandard
from .errors import FormatError

MAGIC = b"\x50\xed\x55\xba"
PTX, CUBIN, LTO_IR = 1, 2, 8

_HEADER = Struct("<IHHQ")
# kind, header size, payload size, compressed size, number of the architecture, flags, full size
_ENTRY = Struct("<H2xIQI8xI8xQ8xQ")
_ENTRY_PROLOGUE = Struct("<H2xIQ")
_OLD_COMPRESSION, _LZ4, _ZSTD = 0x1000, 0x2000, 0x8000
_SPECIFIC, _FAMILY = 0x100000, 0x200000


@dataclass(frozen=True, slots=True)
class Entry:
    kind: int
    number: int  # 90
    suffix: str  # "a" of sm_90a, "f" of sm_100f
    flags: int
    stored: memoryview
    full_size: int

    def payload(self) -> memoryview:
        """The cubin or PTX, decompressed where it has to be."""
        what = f"fat binary entry of sm_{self.number}{self.suffix}"
        if self.flags & _ZSTD:
            return zstandard(self.stored, self.full_size, what)
        if self.flags & _LZ4:
            return lz4_block(self.stored, self.full_size, what)
        if self.flags & _OLD_COMPRESSION:
            raise FormatError(
                f"{what}: compressed in a way that only NVIDIA's tools know; take it apart with "
                "`cuobjdump -xelf all FILE` and inspect what comes out"
            )
        return self.stored


def entries(data: memoryview) -> Iterator[Entry]:
    """Every entry of every container; between containers the linker leaves zeros."""
    offset = 0
    while (start := find(data, (MAGIC,), offset)) >= 0:
        if any(data[offset:start]):
            raise FormatError(f"fat binary: bytes {offset} to {start} belong to no container")
        _, _, header_size, size = unpack(_HEADER, data, start, "fat binary header")
        if header_size < _HEADER.size:
            raise FormatError("fat binary header: too small")
        yield from _entries_of_one(cut(data, start + header_size, size, "fat binary"))
        offset = start + header_size + size
    if any(data[offset:]):
        raise FormatError(f"fat binary: bytes {offset} to {len(data)} belong to no container")


def _entries_of_one(body: memoryview) -> Iterator[Entry]:
    offset = 0
    while offset < len(body):
        kind, header_size, size = unpack(_ENTRY_PROLOGUE, body, offset, "fat binary entry")
        if header_size < _ENTRY.size:
            raise FormatError("fat binary entry: its header is too small")
        fields = unpack(_ENTRY, body, offset, "fat binary entry")
        compressed_size, number, flags, full_size = fields[3:]
        stored = cut(body, offset + header_size, size, "fat binary entry")
        if flags & (_LZ4 | _ZSTD):
            stored = cut(stored, 0, compressed_size, "fat binary entry")
        suffix = "a" if flags & _SPECIFIC else "f" if flags & _FAMILY else ""
        yield Entry(kind, number, suffix, flags, stored, full_size)
        offset += header_size + size
