"""Inline PTX: code of no other target."""

from __future__ import annotations

import re

from .source import Source

_ASM = re.compile(
    r"asm(?:(?<![\w$]asm)|(?<=\b__asm))(?:__)?\b"
    r"(?=\s*(?:(?:volatile|__volatile__|inline|goto)\b\s*)*\()",
    re.ASCII,
)
# An empty instruction that only keeps the compiler from moving memory accesses.
_EMPTY_ASM = re.compile(r'[^("]*\(\s*""\s*[:)]')


def report_assembly(source: Source) -> None:
    """Report assembly outside the branches that are the target's own."""
    code = source.live
    if "asm" not in code:
        return
    for match in _ASM.finditer(code):
        if not _EMPTY_ASM.match(code, match.end()) and not source.is_own(match.start()):
            source.report(
                "inline-ptx",
                match.start(),
                "inline PTX: no other compiler knows these instructions",
                "put it in #if defined(GP_TARGET_CUDA), and beside it what the other targets need",
                length=len(match.group()),
            )
