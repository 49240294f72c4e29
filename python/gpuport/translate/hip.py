"""Target `hip`: CUDA names and headers become HIP's, launches stay, what HIP lacks is reported."""

from __future__ import annotations

import re

from .findings import WARNING
from .names import NameTable, load_names
from .source import Source

_CANDIDATE = re.compile(
    r"(?:c(?<![\w\x80-\xff]c)(?:u[A-Z]|uda|ublas|ufft|urand|usparse|usolver|udnn|sr|ub\b)"
    r"|C(?<![\w\x80-\xff]C)(?:U|ub[A-Z])"
    r"|_(?<![\w\x80-\xff]_)"
    r"|n(?<![\w\x80-\xff]n)v|N(?<![\w\x80-\xff]N)V"
    r"|m(?<![\w\x80-\xff]m)ake_cu|a(?<![\w\x80-\xff]a)tomic|a(?<![\w\x80-\xff]a)sm\b"
    r"|b(?<![\w\x80-\xff]b)sr)[\w\x80-\xff]*",
    re.ASCII,
)


def translate(source: Source) -> None:
    """Add the edits that make a HIP compiler take the file."""
    names = load_names()
    for header in source.headers:
        new = names.headers.get(header.name)
        if new:
            source.replace(header.start + 1, header.start + 1 + len(header.name), new)
    for match in _CANDIDATE.finditer(source.live):
        _translate_name(source, names, match.group(), match.start())


def _translate_name(source: Source, names: NameTable, name: str, at: int) -> None:
    new = names.hip_name(name)
    if new is not None:
        if new != name:
            source.replace(at, at + len(name), new)
    elif names.is_unsupported(name):
        source.report(
            "no-hip-name",
            at,
            f"HIP has no counterpart of '{name}'",
            names.hints.get(name, "put it in a branch of its own, #if defined(GP_TARGET_CUDA), or do without"),
            length=len(name),
        )
    if name in names.warnings:
        source.report("warp-width", at, names.warnings[name], "", severity=WARNING, length=len(name))
