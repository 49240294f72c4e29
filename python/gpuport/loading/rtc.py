"""NVRTC and hiprtc through ctypes: a source to device code, in this process."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_SUCCESS = 0
NVRTC, HIPRTC = "nvrtc", "hiprtc"  # in front of the names of their functions, which are the same


class RtcError(Exception):
    """The compilation failed; the message is the compiler's log."""


@dataclass(frozen=True)
class Compiled:
    """The code, and for each name expression the symbol that it stands for."""

    code: bytes
    symbols: dict[str, str]


@cache
def open_library(path: str) -> ctypes.CDLL:
    """The library at a path; OSError if it cannot be loaded."""
    # It opens this one by its bare name, which is found once it is loaded.
    for builtins in sorted(Path(path).parent.glob("libnvrtc-builtins.so.*")):
        ctypes.CDLL(str(builtins))
    library = ctypes.CDLL(path)
    for prefix in (NVRTC, HIPRTC):
        if (text := getattr(library, f"{prefix}GetErrorString", None)) is not None:
            text.restype = ctypes.c_char_p
    return library


def version(path: str, prefix: str) -> tuple[int, int]:
    """Of the library: CUDA's for NVRTC."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    getattr(open_library(path), f"{prefix}Version")(ctypes.byref(major), ctypes.byref(minor))
    return major.value, minor.value


def compile_program(
    path: str,
    prefix: str,
    text: bytes,
    name: str,
    headers: Mapping[str, bytes],
    options: Sequence[str],
    expressions: Sequence[str],
    *,
    code: str,
) -> Compiled:
    """Compile `text`, which messages call `name`; `code` is what to fetch, as "CUBIN".

    Raises:
        RtcError: with the log.
    """
    library = open_library(path)
    error_text = getattr(library, f"{prefix}GetErrorString")
    program = ctypes.c_void_p()

    def call(function: str, *arguments: object) -> None:
        result = getattr(library, prefix + function)(*arguments)
        if result != _SUCCESS:
            raise RtcError(f"{prefix}{function}: {error_text(result).decode()}")

    call(
        "CreateProgram",
        ctypes.byref(program),
        text,
        name.encode(errors="surrogateescape"),
        len(headers),
        _strings(headers.values()),
        _strings(key.encode(errors="surrogateescape") for key in headers),
    )
    try:
        for expression in expressions:
            call("AddNameExpression", program, expression.encode())
        words = [option.encode(errors="surrogateescape") for option in options]
        compile_ = getattr(library, f"{prefix}CompileProgram")
        result = compile_(program, len(words), _strings(words))
        if result != _SUCCESS:
            log = _bytes(call, program, "GetProgramLog").rstrip(b"\0")
            reason = error_text(result).decode()
            raise RtcError(log.decode(errors="replace").strip() or reason)
        symbols = {}
        for expression in expressions:
            lowered = ctypes.c_char_p()
            call("GetLoweredName", program, expression.encode(), ctypes.byref(lowered))
            symbols[expression] = (lowered.value or b"").decode()
        binary = _bytes(call, program, f"Get{code}")
        return Compiled(binary, symbols)
    finally:
        getattr(library, f"{prefix}DestroyProgram")(ctypes.byref(program))


def _strings(values: object) -> ctypes.Array[ctypes.c_char_p]:
    items = list(values)  # type: ignore[call-overload]
    return (ctypes.c_char_p * len(items))(*items)


def _bytes(call: object, program: ctypes.c_void_p, function: str) -> bytes:
    size = ctypes.c_size_t()
    call(f"{function}Size", program, ctypes.byref(size))  # type: ignore[operator]
    buffer = ctypes.create_string_buffer(size.value)
    call(function, program, buffer)  # type: ignore[operator]
    return buffer.raw
