"""What a linker says about functions that are defined nowhere, for people."""

from __future__ import annotations

import re

_UNDEFINED = re.compile(r"undefined (?:reference to|symbol:) [`'\"]?(?P<name>[^\n'`\"]+)")
_INSIDE = re.compile(r"in function [`'](?P<name>[^\n'`]+)'|referenced by (?P<place>[^\n]+)")


def explain_undefined(said: str, name: str) -> str:
    """The words of a linker, behind a sentence on each name that it did not find."""
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
