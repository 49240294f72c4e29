"""The includes that compilers tell in front of an error; a header that includes itself in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

# Clang names the outermost first, a line each; gcc the innermost, and the others as `from`.
_FIRST = re.compile(r"In file included from (?P<place>.+?:\d+)(?::\d+)?[:,]$")
_MORE = re.compile(r"\s+from (?P<place>.+?:\d+)(?::\d+)?[:,]$")
# Headers that count by including themselves end after a few turns; compilers give up after 200.
_ENDLESS = 10


def _chain(lines: Sequence[str]) -> list[str]:
    """The places of the includes that lead to an error, the outermost first."""
    places = []
    is_inward = False
    for line in lines:  # its notes have such lines too, further down
        first, more = _FIRST.match(line), _MORE.match(line)
        found = first or more
        if found is None:
            break
        is_inward |= more is not None
        places.append(found["place"])
    return places[::-1] if is_inward else places


def self_inclusion(errors: Sequence[Sequence[str]]) -> str:
    """What is to be told where a header includes itself without an end; "" where none does.

    Of the `errors`, each of which is the lines of one, that is the first: all others follow from
    the same.
    """
    for lines in errors:
        chain = _chain(lines)
        place, times = Counter(chain).most_common(1)[0] if chain else ("", 0)
        if times < _ENDLESS:
            continue
        start = chain.index(place)
        turn = chain[start : chain.index(place, start + 1)]
        others = f", through {', '.join(turn[1:])}" if turn[1:] else ""
        first = errors[0]
        leads = [f"In file included from {p}:" for p in dict.fromkeys(_chain(first))]
        rest = [line for line in first if not (_FIRST.match(line) or _MORE.match(line))]
        told = f"{place}: {place.rpartition(':')[0]} includes itself{others}, and no end is seen"
        return "\n".join([f"{told}: it lacks #pragma once or an include guard", *leads, *rest])
    return ""
