"""Whose a name is, as far as its form tells: qualified, a member, or declared by the user."""

from __future__ import annotations

import re

from .brackets import skip_blank_back

_WORD_BACK = re.compile(r"[\w$\x80-\xff]+\Z", re.ASCII)
# The `::` behind one of these starts a name of the global namespace.
_KEYWORDS = frozenset({
    "alignas", "case", "co_await", "co_return", "co_yield", "const", "constexpr", "delete", "do",
    "else", "explicit", "extern", "friend", "goto", "inline", "mutable", "namespace", "new",
    "not", "or", "and", "register", "return", "sizeof", "static", "struct", "class", "throw",
    "typedef", "typename", "union", "enum", "using", "virtual", "volatile",
})  # fmt: skip
_DECLARED = re.compile(r"(?:(\w+)\s+|>\s*|[\w>]\s*[*&]+\s*)\Z", re.ASCII)
_DECLARATOR_END = re.compile(r"\s*[(;=,\[{]")
_NAMED_SCOPE = re.compile(r"\b(?:namespace\s+\w|struct\b|class\b|union\b)[^;{}()]*\Z", re.ASCII)
_FAR = 400


def is_member(code: str, start: int) -> bool:
    """Whether the name at `start` stands behind `.` or `->`."""
    before = skip_blank_back(code, start, 0)
    if code.endswith("->", 0, before):
        return True
    return code.endswith(".", 0, before) and not code.endswith("...", 0, before)


def qualifier(code: str, start: int) -> str | None:
    """What stands in front of the `::` of a name.

    "" for the global namespace, ">" for a template's, None where there is no `::`.
    """
    before = skip_blank_back(code, start, 0)
    if not code.endswith("::", 0, before):
        return None
    before = skip_blank_back(code, before - 2, 0)
    if code.endswith(">", 0, before):
        return ">"
    word = _WORD_BACK.search(code, max(0, before - _FAR), before)
    return "" if word is None or word.group() in _KEYWORDS else word.group()


def declares_member(code: str, start: int, end: int) -> bool:
    """Whether the name is declared here, directly in a named namespace or a class."""
    if not _DECLARATOR_END.match(code, end):
        return False
    statement = max(code.rfind(c, 0, start) + 1 for c in ";{}")
    before = code[statement:start]
    declared = _DECLARED.search(before)
    if declared is None or declared[1] in _KEYWORDS or "=" in before or "(" in before:
        return False
    depth, at = 0, start
    while at >= 0:
        at = max(code.rfind("{", 0, at), code.rfind("}", 0, at))
        if at >= 0 and code[at] == "}":
            depth += 1
        elif at >= 0:
            depth -= 1
            if depth < 0:
                return _NAMED_SCOPE.search(code[max(0, at - _FAR) : at]) is not None
    return False
