"""C++ names for people: by the C++ library of the process, else c++filt, else as they are."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Iterable
from functools import cache

_LIBRARIES = ("libstdc++.so.6", "libc++abi.so.1")


def demangled(symbols: Iterable[str]) -> dict[str, str]:
    """Each symbol with its name; a symbol that no demangler understands keeps itself."""
    wanted = sorted(set(symbols))
    mangled = [symbol for symbol in wanted if symbol.startswith("_Z")]
    names = {symbol: symbol for symbol in wanted}
    if by_library := _library():
        names.update((symbol, by_library(symbol)) for symbol in mangled)
    elif mangled and (program := shutil.which("c++filt") or shutil.which("llvm-cxxfilt")):
        done = subprocess.run(
            [program], input="\n".join(mangled), capture_output=True, text=True, check=False
        )
        lines = done.stdout.splitlines()
        if done.returncode == 0 and len(lines) == len(mangled):
            names.update(zip(mangled, lines, strict=True))
    return names


@cache
def _library() -> Callable[[str], str] | None:
    for name in _LIBRARIES:
        try:
            return _demangler(ctypes.CDLL(name))
        except (OSError, AttributeError):
            continue
    return None


def _demangler(library: ctypes.CDLL) -> Callable[[str], str]:
    function = library.__cxa_demangle
    function.restype = ctypes.c_void_p
    function.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    # What it returns is malloc's, and the process itself knows the free that belongs to it.
    free = ctypes.CDLL(None).free
    free.argtypes = [ctypes.c_void_p]

    def demangle(symbol: str) -> str:
        status = ctypes.c_int()
        address = function(symbol.encode(), None, None, ctypes.byref(status))
        if not address:
            return symbol
        try:
            return ctypes.string_at(address).decode("utf-8", "backslashreplace")
        finally:
            free(address)

    return demangle
