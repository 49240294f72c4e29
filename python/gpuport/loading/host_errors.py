"""What the host's compiler and linker say about CUDA sources, with a sentence in front."""

from __future__ import annotations

import re

_UNDEFINED = re.compile(r"undefined (?:reference to|symbol:) [`'\"]?(?P<name>[^\n'`\"]+)")
_INSIDE = re.compile(r"in function [`'](?P<name>[^\n'`]+)'|referenced by (?P<place>[^\n]+)")


_REFERENCE = re.compile(
    r"^(?P<place>[^\n]*?:\d+):\d+: error: (?:\W(?:texture|surface)\W does not name a |"
    r"no template named '(?:texture|surface)')",
    re.MULTILINE,
)


def explained(said: str, name: str) -> str:
    """The words of a compiler or linker, behind what they come to where that is known.

    Known are functions that are defined nowhere, and texture references.
    """
    if reference := _REFERENCE.search(said):
        return (
            f"{reference['place']}: texture references are gone since CUDA 12: pass a "
            f"cudaTextureObject_t, made by cudaCreateTextureObject\n{said}"
        )
    wanted = list(dict.fromkeys(match["name"].strip() for match in _UNDEFINED.finditer(said)))
    if not wanted:
        return said
    callers = {match["name"] for match in _INSIDE.finditer(said) if match["name"]}
    by = f" ({', '.join(sorted(callers))} needs it)" if len(callers) == 1 else ""
    lines = [f"{name}: {symbol} is declared and defined nowhere{by}" for symbol in wanted]
    lines.append(
        "gpuport.load compiles one translation unit: give the definition in the source or in a "
        "header that it includes, or leave out under #if the host code that calls it"
    )
    return "\n".join([*lines, said])
