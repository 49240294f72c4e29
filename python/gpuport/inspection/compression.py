"""The compressions of fat binaries and offload bundles: LZ4 blocks, zlib, Zstandard."""

from __future__ import annotations

import ctypes
import zlib as standard_zlib
from importlib import import_module

from .errors import FormatError

# A damaged size field must not make us ask for all of the memory. No GPU code compresses this well.
_HIGHEST_RATIO = 2000


def lz4_block(data: memoryview, size: int, what: str) -> memoryview:
    """A raw LZ4 block (no frame): literals, then a copy from what is already there, and so on."""
    _check_size(data, size, what)
    out = bytearray()
    position, end = 0, len(data)

    def extended(length: int) -> int:
        nonlocal position
        more = 255
        while more == 255:
            more = data[position]
            position += 1
            length += more
        return length

    try:
        while position < end:
            token = data[position]
            position += 1
            literals = token >> 4
            if literals == 15:
                literals = extended(literals)
            if position + literals > end or len(out) + literals > size:
                raise FormatError(f"{what}: damaged LZ4 data")
            out += data[position : position + literals]
            position += literals
            if position >= end:  # the last sequence is literals alone
                break
            distance = data[position] | data[position + 1] << 8
            position += 2
            length = token & 15
            if length == 15:
                length = extended(length)
            length += 4
            if not 0 < distance <= len(out) or len(out) + length > size:
                raise FormatError(f"{what}: damaged LZ4 data")
            # A copy may overlap what it writes: then the last `distance` bytes repeat.
            start = len(out) - distance
            source = out[start : start + length]
            out += source if distance >= length else (source * (length // distance + 1))[:length]
    except IndexError:
        raise FormatError(f"{what}: damaged LZ4 data") from None
    return _complete(bytes(out), size, what, "LZ4")


def zlib(data: memoryview, size: int, what: str) -> memoryview:
    _check_size(data, size, what)
    try:
        # One byte more than promised, to notice a stream that is longer.
        out = standard_zlib.decompressobj().decompress(data, size + 1)
    except standard_zlib.error as error:
        raise FormatError(f"{what}: damaged zlib data ({error})") from None
    return _complete(out, size, what, "zlib")


def zstandard(data: memoryview, size: int, what: str) -> memoryview:
    """By Python 3.14's own module, the package zstandard, or the system's libzstd."""
    _check_size(data, size, what)
    try:
        out = _zstandard(bytes(data), size)
    except _NoZstandardError:
        raise FormatError(
            f"{what}: compressed with Zstandard; `pip install zstandard`, or install libzstd, "
            "or use Python 3.14"
        ) from None
    except Exception as error:  # each of the three modules has an exception class of its own
        raise FormatError(f"{what}: damaged Zstandard data ({error})") from None
    return _complete(out, size, what, "Zstandard")


class _NoZstandardError(Exception):
    pass


def _zstandard(data: bytes, size: int) -> bytes:
    try:
        decompressor = import_module("compression.zstd").ZstdDecompressor()
        return bytes(decompressor.decompress(data, max_length=size + 1))
    except ImportError:
        pass
    try:
        module = import_module("zstandard")
        return bytes(module.ZstdDecompressor().decompress(data, max_output_size=size))
    except ImportError:
        pass
    return _zstandard_by_library(data, size)


def _zstandard_by_library(data: bytes, size: int) -> bytes:
    try:
        library = ctypes.CDLL("libzstd.so.1")
    except OSError:
        raise _NoZstandardError from None
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_isError.argtypes = [ctypes.c_size_t]
    library.ZSTD_getErrorName.argtypes = [ctypes.c_size_t]
    library.ZSTD_getErrorName.restype = ctypes.c_char_p
    out = ctypes.create_string_buffer(max(size, 1))
    written = library.ZSTD_decompress(out, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    if library.ZSTD_isError(written):
        raise ValueError(library.ZSTD_getErrorName(written).decode())
    return out.raw[:written]


def _check_size(data: memoryview, size: int, what: str) -> None:
    if size > len(data) * _HIGHEST_RATIO:
        raise FormatError(f"{what}: {len(data)} bytes that claim to hold {size}")


def _complete(out: bytes, size: int, what: str, method: str) -> memoryview:
    if len(out) != size:
        raise FormatError(f"{what}: damaged {method} data, not the {size} bytes that it promises")
    return memoryview(out)
