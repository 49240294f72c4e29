"""Matching brackets and splitting lists in masked code, where every bracket is a real one."""

from __future__ import annotations

import re
from functools import lru_cache

_OPENERS = "([{"
_CLOSERS = ")]}"
_BRACKET = re.compile(r"[()\[\]{}]")
_NAME_END = re.compile(r"[\w$\x80-\xff]", re.ASCII)
# Template lists are shorter: so far a `<` or `>` is followed before it is taken for a comparison.
_LONGEST_LIST = 2000
_ANGLE_ENDERS = re.compile(r"\s*(?:[({,>)\]};]|::|\.\.\.|\Z)")
BLANK = " \t\r\n\f\v\\"


def skip_blank(code: str, at: int, end: int) -> int:
    """The first offset from `at` on that holds no blank and no line continuation."""
    while at < end and code[at] in BLANK:
        at += 1
    return at


def skip_blank_back(code: str, at: int, start: int) -> int:
    """The offset after the last character before `at` that is no blank and no line continuation."""
    while at > start and code[at - 1] in BLANK:
        at -= 1
    return at


@lru_cache(maxsize=8)  # of the file, which callers ask about again and again, and of small pieces
def _pairs(code: str) -> dict[int, int]:
    """For each bracket that has one, its partner; the kinds are not compared."""
    pairs = {}
    open_brackets = []
    for match in _BRACKET.finditer(code):
        at = match.start()
        if match.group() in _OPENERS:
            open_brackets.append(at)
        elif open_brackets:
            opener = open_brackets.pop()
            pairs[opener], pairs[at] = at, opener
    return pairs


def closing(code: str, opener: int, end: int) -> int:
    """The offset of the bracket that closes the one at `opener`, or -1."""
    at = _pairs(code).get(opener, -1)
    return at if at < end else -1


def opening(code: str, closer: int, start: int) -> int:
    """The offset of the bracket that opens the one closed at `closer`, or -1."""
    at = _pairs(code).get(closer, -1)
    return at if at >= start else -1


def closing_angle(code: str, opener: int, end: int) -> int:
    """The offset of the `>` that closes the template list opened at `opener`, -1 for a comparison.

    C++ needs to know which names are templates; this decides by form: a template list hugs its name
    and what follows it can follow a type.
    """
    if opener == 0 or not _NAME_END.match(code[opener - 1]):
        return -1
    at = opener + 1
    last, end = end, min(end, at + _LONGEST_LIST)
    depth = 1
    while at < end:
        c = code[at]
        if c in _OPENERS:
            at = closing(code, at, end)
            if at < 0:
                return -1
        elif c == ";" or c in _CLOSERS:
            return -1
        elif c == "<":
            if code.startswith("<<<", at):
                return -1  # a launch
            if code[at + 1 : at + 2] == "<":
                at += 1
            else:
                depth += 1
        elif c == ">" and code[at - 1] != "-":
            depth -= 1
            if depth == 0:
                return at if _ANGLE_ENDERS.match(code, at + 1, last) else -1
        at += 1
    return -1


def opening_angle(code: str, closer: int, start: int) -> int:
    """The offset of the `<` of the template list that ends with the `>` at `closer`, or -1."""
    hugging = _opening_angle(code, closer, start, hugging=True)
    return hugging if hugging >= 0 else _opening_angle(code, closer, start, hugging=False)


def _opening_angle(code: str, closer: int, start: int, *, hugging: bool) -> int:
    """`opening_angle`, with only those `<` counted that follow a name at once, or with all."""
    depth = 0
    at = closer
    start = max(start, closer - _LONGEST_LIST)
    while at >= start:
        c = code[at]
        if c in _CLOSERS:
            at = opening(code, at, start)
            if at < 0:
                return -1
        elif c in _OPENERS or c == ";":
            return -1
        elif c == ">" and code[at - 1] != "-":
            depth += 1
        elif c == "<" and at > start:
            if code[at - 1] == "<":
                at -= 1
            elif not hugging or _NAME_END.match(code[at - 1]):
                depth -= 1
                if depth == 0:
                    return at
        at -= 1
    return -1


def split(code: str, start: int, end: int, separator: str = ",") -> list[tuple[int, int]]:
    """Ranges of the parts of a list, split outside all brackets and template lists."""
    parts = []
    first = at = start
    while at < end:
        c = code[at]
        if c in _OPENERS:
            close = closing(code, at, end)
            at = close if close >= 0 else end
        elif c == "<":
            close = closing_angle(code, at, end)
            at = close if close >= 0 else at
        elif c == separator:
            parts.append((first, at))
            first = at + 1
        at += 1
    parts.append((first, end))
    return parts


def has_bare_comma(code: str, start: int, end: int) -> bool:
    """Whether a macro would see the range as more than one argument."""
    at = start
    while at < end:
        if code[at] == "(":
            close = closing(code, at, end)
            if close < 0:
                return True
            at = close
        elif code[at] == ",":
            return True
        at += 1
    return False
