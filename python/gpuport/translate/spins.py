"""Target `cpu`: a loop with nothing in it waits for another thread, and has to let it run."""

from __future__ import annotations

import re

from .brackets import closing, skip_blank
from .source import Source

_LOOP = re.compile(r"\b(?:while|for)\b(?=\s*\()", re.ASCII)
_DO = re.compile(r"\bdo\b(?!\s*\()", re.ASCII)
_EMPTY = re.compile(r"\{\s*\}", re.ASCII)
_WORD = re.compile(r"(?:while|for|if|switch|else|do)\b", re.ASCII)
_SPIN = "GPUPORT_SIMT_SPIN()"


def rewrite_spins(source: Source) -> None:
    """Give every empty `while`, `for` and `do` loop of the live code a body that gives way."""
    code = source.live
    ends = set()
    for match in _DO.finditer(code):
        _fill(source, match.end())
        ends.add(_end_of_statement(code, match.end()))
    for match in _LOOP.finditer(code):
        if match.start() in ends:
            continue  # the condition of a `do`
        end = closing(code, skip_blank(code, match.end(), len(code)), len(code))
        if end >= 0:
            _fill(source, end + 1)


def _fill(source: Source, at: int) -> None:
    code = source.live
    at = skip_blank(code, at, len(code))
    if code.startswith(";", at):
        source.replace(at, at, " " + _SPIN)
    elif _EMPTY.match(code, at):
        source.replace(at + 1, at + 1, f" {_SPIN};")


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
