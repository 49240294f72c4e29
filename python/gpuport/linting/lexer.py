"""The significant tokens of a range of live code, with brackets paired."""

from __future__ import annotations

import re

from ._reader import tokenize

_OPENERS = {"(": ")", "[": "]", "{": "}"}
_CLOSERS = frozenset(")]}")
_INTEGER = re.compile(r"(0[xX][\da-fA-F']+|0[bB][01']+|[\d']+)([uUlLzZ]*)\Z")


class Tokens:
    """Parallel lists: text, kind and offset of each token; `pair` maps an opening bracket to its
    closing one.
    """

    def __init__(self, code: str, offset: int = 0) -> None:
        self.text: list[str] = []
        self.kind: list[str] = []
        self.start: list[int] = []
        self.pair: dict[int, int] = {}
        opened: list[int] = []
        for kind, text, start in tokenize(code):
            if kind in ("space", "comment"):
                continue
            index = len(self.text)
            self.text.append(text)
            self.kind.append(kind)
            self.start.append(start + offset)
            if kind != "punctuation":
                continue
            if text in _OPENERS:
                opened.append(index)
            elif text in _CLOSERS:
                # An unbalanced bracket is dropped: code of two branches of a conditional may close
                # twice.
                for at in range(len(opened) - 1, max(-1, len(opened) - 9), -1):
                    if _OPENERS[self.text[opened[at]]] == text:
                        self.pair[opened[at]] = index
                        del opened[at:]
                        break

    def __len__(self) -> int:
        return len(self.text)

    def close(self, opener: int, end: int) -> int:
        """The closing bracket of the one at `opener`, or `end` if it has none before."""
        return min(self.pair.get(opener, end), end)

    def angle(self, opener: int, end: int) -> int:
        """The token after the template list that opens with the `<` at `opener`, or -1 if it is a
        comparison.
        """
        depth = 0
        at = opener
        while at < end:
            text = self.text[at]
            if text == "<":
                depth += 1
            elif text in (">", ">>", ">>>"):
                depth -= len(text)
                if depth <= 0:
                    return at + 1 if depth == 0 and self._can_follow(opener, at + 1, end) else -1
            elif text in ("(", "["):
                at = self.close(at, end)
            elif text in (";", "{", "}", "&&", "||", ")", "]", "<<"):
                if text != "{" or self.kind[at - 1] != "name":
                    return -1
                at = self.close(at, end)
            at += 1
        return -1

    def _can_follow(self, opener: int, at: int, end: int) -> bool:
        if at >= end:
            return True
        if self.text[at] in ("(", "::", "{", "...", "&", "*", "&&") or self.kind[at] == "name":
            return self.text[at] in ("(", "::", "{") or self._hugs(opener)
        return self._hugs(opener) and self.text[at] in (
            ")",
            ",",
            ";",
            "]",
            "}",
            ">",
            ">>",
            "=",
            "?",
            ":",
            "==",
            "<<<",
        )

    def _hugs(self, opener: int) -> bool:
        return (
            opener > 0 and self.start[opener - 1] + len(self.text[opener - 1]) == self.start[opener]
        )


def integer(literal: str) -> tuple[int, str] | None:
    """Value and lower-case suffix of an integer literal."""
    match = _INTEGER.match(literal)
    if match is None:
        return None
    digits = match[1].replace("'", "")
    octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
    try:
        return int(digits, 8 if octal else 0), match[2].lower()
    except ValueError:
        return None
