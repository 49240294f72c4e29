"""Which macros of a file anything expands: what stands in another one is nobody's concern."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .conditions import Directive

_WORD = re.compile(r"[A-Za-z_$\x80-\xff][\w$\x80-\xff]*", re.ASCII)


def macro_name(code: str, directive: Directive) -> str:
    """What a `#define` defines; "" for any other line."""
    found = _WORD.search(code, directive.body, directive.end)
    return found.group() if directive.keyword == "define" and found else ""


def expanded_macros(code: str, directives: Sequence[Directive]) -> set[str]:
    """The macros whose names stand in code, in conditions, or in the body of one of them."""
    bodies: dict[str, set[str]] = {}
    waiting: set[str] = set()
    done = 0
    for directive in directives:
        if name := macro_name(code, directive):
            waiting.update(_WORD.findall(code, done, directive.start))
            words = _WORD.findall(code, directive.body, directive.end)
            bodies.setdefault(name, set()).update(words[1:])
            done = directive.end
    waiting.update(_WORD.findall(code, done))
    found: set[str] = set()
    while waiting := (waiting & bodies.keys()) - found:
        found |= waiting
        waiting = set().union(*(bodies[name] for name in waiting))
    return found
