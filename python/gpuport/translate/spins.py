"""Target `cpu`: a loop that waits for another thread has to let it run."""

from __future__ import annotations

import re

from .brackets import closing, skip_blank, skip_blank_back
from .source import Source
from .waiting import waits_for_others

_LOOP = re.compile(r"\b(?:while|for)\b(?=\s*\()", re.ASCII)
_DO = re.compile(r"\bdo\b(?!\s*\()", re.ASCII)
_EMPTY = re.compile(r"\{\s*\}", re.ASCII)
_WORD = re.compile(r"(?:while|for|if|switch|else|do)\b", re.ASCII)
_SPIN = "GPUPORT_SIMT_SPIN()"


def rewrite_spins(source: Source) -> None:
    """Let every loop of the live code give way that is empty, or that only others can end."""
    code = source.live
    ends = set()
    for match in _DO.finditer(code):
        end = _end_of_statement(code, match.end())
        _rewrite(source, match.end(), end, _condition_of_do(code, end))
        ends.add(end)
    for match in _LOOP.finditer(code):
        if match.start() in ends:
            continue  # the condition of a `do`
        opener = skip_blank(code, match.end(), len(code))
        close = closing(code, opener, len(code))
        if close >= 0:
            head = code[opener + 1 : close].split(";")
            parts = (head[0], "") if match.group() == "while" else tuple(head[1:])
            _rewrite(source, close + 1, _end_of_statement(code, close + 1), parts)


def _condition_of_do(code: str, at: int) -> tuple[str, ...]:
    """What stands in the parenthesis of the `while` at `at`, and no step."""
    opener = skip_blank(code, at + len("while"), len(code))
    close = closing(code, opener, len(code)) if code.startswith("while", at) else -1
    return (code[opener + 1 : close], "") if close >= 0 else ()


def _rewrite(source: Source, at: int, end: int, head: tuple[str, ...]) -> None:
    """Of a loop with the body from `at` to `end`; `head` is its condition and its step."""
    code = source.live
    at = skip_blank(code, at, len(code))
    if code.startswith(";", at):
        source.replace(at, at, " " + _SPIN)
    elif _EMPTY.match(code, at):
        source.replace(at + 1, at + 1, f" {_SPIN};")
    elif len(head) == 2 and waits_for_others(*head, code[at:end]):  # no `for` over a range
        if code.startswith("{", at):
            source.replace(at + 1, at + 1, f" {_SPIN};")
        else:
            end = skip_blank_back(code, end, at)
            source.replace(at, at, f"{{ {_SPIN}; ")
            source.replace(end, end, " }")


def _end_of_statement(code: str, at: int) -> int:
    """Where what follows the statement at `at` begins, or the end of the code."""
    at = skip_blank(code, at, len(code))
    word = _WORD.match(code, at)
    if word is not None:
        at = skip_blank(code, word.end(), len(code))
        if code.startswith("(", at):
            at = _behind(code, at)
        at = _end_of_statement(code, at)
        if word.group() == "if" and code.startswith("else", at):
            at = _end_of_statement(code, at)
        if word.group() != "do":
            return at
    if code.startswith("{", at):
        return skip_blank(code, _behind(code, at), len(code))
    while at < len(code) and code[at] != ";":
        at = _behind(code, at) if code[at] in "([{" else at + 1
    return skip_blank(code, at + 1, len(code))


def _behind(code: str, opener: int) -> int:
    end = closing(code, opener, len(code))
    return end + 1 if end >= 0 else len(code)
