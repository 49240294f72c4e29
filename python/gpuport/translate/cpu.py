"""Target `cpu`: launches and `__shared__` objects become macros of the SIMT runtime."""

from __future__ import annotations

import re

from .architecture import report_architecture
from .assembly import report_assembly
from .brackets import BLANK, has_bare_comma, skip_blank, skip_blank_back
from .launches import Launch, find_launches, name_braced_extents
from .shared_memory import rewrite_shared
from .source import Source
from .spins import rewrite_spins

_ONE_WORD = re.compile(r"\s*(?:[A-Z_][A-Z0-9_]*|\w+\s*\.\.\.)\s*", re.ASCII)


def translate(source: Source) -> None:
    """Add the edits that make a host compiler take the file."""
    for launch in find_launches(source):
        _rewrite_launch(source, launch)
    rewrite_shared(source)
    report_architecture(source)
    rewrite_spins(source)
    report_assembly(source)


def _rewrite_launch(source: Source, launch: Launch) -> None:
    code = source.live
    count = len(launch.arguments)
    empty = next((a for a in launch.arguments if not code[slice(*a)].strip(BLANK)), None)
    # A single word in capitals may be a macro that holds several arguments.
    one = count == 1 and _ONE_WORD.fullmatch(code[slice(*launch.arguments[0])])
    if empty is not None or not (2 <= count <= 4 or one):
        source.report(
            "launch-arguments",
            launch.open[0],
            "an empty launch argument"
            if empty is not None
            else f"a launch with {count} configuration arguments",
            "write <<<grid, block>>>, with shared bytes and stream where needed",
            length=3,
        )
        return
    start, end = launch.kernel
    source.replace(start, start, "GPUPORT_SIMT_LAUNCH((")
    source.replace(end, end, ")")
    source.replace(*launch.open, ", " if launch.open[0] == end else ",")
    braced = name_braced_extents(source, launch)
    for number, (first, last) in enumerate(launch.arguments):
        if number not in braced and has_bare_comma(code, first, last):
            first = skip_blank(code, first, last)
            last = skip_blank_back(code, last, first)
            source.replace(first, first, "(")
            source.replace(last, last, ")")
    # Blanks stay: a line's end may be among them.
    source.replace(*launch.close, ")" + code[slice(*launch.close)].replace(">", ""))
