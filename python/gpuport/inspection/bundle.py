"""The containers of clang: offload bundles, compressed ones, and LLVM's offload binaries."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from struct import Struct

from .binary import cut, find, text, unpack
from .compression import zlib, zstandard
from .errors import FormatError

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED_MAGIC = b"CCOB"
BINARY_MAGIC = b"\x10\xff\x10\xad"

_COUNT = Struct("<Q")
_ENTRY = Struct("<QQQ")  # offset, size, length of the name
_COMPRESSED = Struct("<4xHH")  # version, method
# version to (size of the whole, size decompressed, hash); version 1 does not tell its own size
_COMPRESSED_SIZES = {1: Struct("<IQ"), 2: Struct("<IIQ"), 3: Struct("<QQQ")}
_ZLIB, _ZSTD = 0, 1
_BINARY = Struct("<4xIQQQ")  # version, size, offset and size of the entry
_BINARY_ENTRY = Struct("<HHIQQQQ")  # kinds, flags, strings, their number, offset and size
_BINARY_STRING = Struct("<QQ")
_ALIGNMENT = 8


def bundled(data: memoryview) -> Iterator[tuple[str, memoryview]]:
    """(name such as hipv4-amdgcn-amd-amdhsa--gfx90a, content) of every bundle in `data`.

    A linked program has one bundle for each translation unit, apart by padding.
    """
    offset, found = 0, False
    while (start := find(data, (MAGIC, COMPRESSED_MAGIC), offset)) >= 0:
        if any(data[offset:start]):
            break
        found = True
        if data[start : start + len(MAGIC)] == MAGIC:
            size = yield from _plain(data[start:])
        else:
            plain, size = _decompressed(data[start:])
            yield from _plain(plain)
        offset = start + size
    if not found or any(data[offset:]):
        raise FormatError(f"offload bundle: bytes {offset} to {len(data)} belong to no bundle")


def _plain(data: memoryview) -> Generator[tuple[str, memoryview], None, int]:
    """Returns the size of the bundle."""
    what = "offload bundle"
    if data[: len(MAGIC)] != MAGIC:
        raise FormatError(f"{what}: no bundle begins here")
    position = len(MAGIC)
    (count,) = unpack(_COUNT, data, position, what)
    position += _COUNT.size
    end = 0
    for _ in range(count):
        offset, size, length = unpack(_ENTRY, data, position, what)
        position += _ENTRY.size
        name = bytes(cut(data, position, length, what)).decode("utf-8", "backslashreplace")
        position += length
        yield name, cut(data, offset, size, f"{what} entry {name}")
        end = max(end, position, offset + size)
    return max(end, position)


def _decompressed(data: memoryview) -> tuple[memoryview, int]:
    """The bundle, and how many bytes the compressed one takes."""
    what = "compressed offload bundle"
    version, method = unpack(_COMPRESSED, data, 0, what)
    if version not in _COMPRESSED_SIZES:
        raise FormatError(f"{what}: version {version} is not known here")
    layout = _COMPRESSED_SIZES[version]
    sizes = unpack(layout, data, _COMPRESSED.size, what)
    whole, plain_size = (len(data), sizes[0]) if version == 1 else sizes[:2]
    header = _COMPRESSED.size + layout.size
    content = cut(data, 0, whole, what)[header:]
    if method == _ZLIB:
        return zlib(content, plain_size, what), whole
    if method == _ZSTD:
        return zstandard(content, plain_size, what), whole
    raise FormatError(f"{what}: compression method {method} is not known here")


def offload_binaries(data: memoryview) -> Iterator[tuple[str, memoryview]]:
    """(architecture, content) of LLVM's offload binaries, which clang's new driver writes."""
    what = "offload binary"
    offset = 0
    while offset < len(data):
        if data[offset : offset + len(BINARY_MAGIC)] != BINARY_MAGIC:
            if any(data[offset:]):
                raise FormatError(f"{what}: bytes {offset} to {len(data)} belong to none")
            return
        version, size, entry_at, _ = unpack(_BINARY, data, offset, what)
        if version != 1 or size < _BINARY.size:
            raise FormatError(f"{what}: version {version} is not known here")
        one = cut(data, offset, size, what)
        entry = unpack(_BINARY_ENTRY, one, entry_at, what)
        strings_at, string_count, image_at, image_size = entry[3:]
        properties = {}
        for index in range(string_count):
            at = strings_at + index * _BINARY_STRING.size
            key, value = unpack(_BINARY_STRING, one, at, what)
            properties[text(one, key, what)] = text(one, value, what)
        yield properties.get("arch", ""), cut(one, image_at, image_size, what)
        offset += size + (-size % _ALIGNMENT)
