"""Finding `kernel<<<grid, block, shared, stream>>>` in masked code, with its parts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from .brackets import (
    BLANK,
    closing,
    closing_angle,
    opening,
    opening_angle,
    skip_blank,
    skip_blank_back,
    split,
)
from .source import Source

# nvcc takes a blank in front of the last `<` on its line and in front of the last `>`.
_OPEN = re.compile(r"<<[ \t]*<")
_CLOSE = re.compile(r">>[ \t\r\n\f\v\\]*>")
_LOOSE = re.compile(r"<<[ \t]+<|>>[ \t\r\n\f\v\\]+>")
_BRACED = re.compile(r"<<<[^;{]*\{")  # at least: may be a launch with braces in it
_OPERATOR = re.compile(r"(?<![\w$])operator\Z", re.ASCII)
_NAME_BACK = re.compile(r"[\w$\x80-\xff]+\Z", re.ASCII)
_MACRO_HEAD = re.compile(r"[ \t]*\w+(?:\([^()]*\))?", re.ASCII)
# What may stand in front of a parenthesis without being called, or in front of a kernel without
# being a part of it.
_KEYWORDS = frozenset({
    "and", "case", "co_await", "co_return", "co_yield", "consteval", "constexpr", "do", "else",
    "for", "if", "not", "or", "return", "switch", "throw", "while",
})  # fmt: skip
# The parenthesis behind one of these is no operand of what follows it.
_CONDITIONS = frozenset({"if", "for", "while", "switch", "constexpr", "catch"})


class Launch(NamedTuple):
    """Where a launch has its kernel, its `<<<` and `>>>`, and each of its arguments."""

    kernel: tuple[int, int]
    open: tuple[int, int]
    close: tuple[int, int]
    arguments: list[tuple[int, int]]


def find_launches(source: Source) -> Iterator[Launch]:
    """Every launch of the live code; what cannot be taken apart is reported."""
    code = source.live
    done = 0
    for match in _OPEN.finditer(code):
        at = match.start()
        if at < done:
            source.report(
                "launch-nested",
                at,
                "a launch inside the configuration of another",
                "give it a statement of its own",
            )
            continue
        start, end = _bounds(source, at)
        kernel_end = skip_blank_back(code, at, start)
        if _OPERATOR.search(code, max(start, kernel_end - 20), kernel_end):
            continue  # operator<< with template arguments
        first = match.end()
        close = _closing_chevrons(code, first, end)
        if close is None:
            source.report(
                "launch-incomplete",
                at,
                "'<<<' without a '>>>'",
                "keep a launch in one piece, not split over macros",
                length=3,
            )
            continue
        start = max(start, done)
        kernel_start = _kernel_start(code, max(start, kernel_end), start)
        done = close[1]
        if code[skip_blank_back(code, kernel_start, start) - 1 : kernel_start].startswith("<"):
            source.report(
                "launch-unclear",
                at,
                "a '<' in the template arguments of this launch may be a comparison",
                "put comparisons among template arguments in parentheses",
                length=3,
            )
            continue
        if kernel_start == kernel_end:
            source.report(
                "launch-without-kernel",
                at,
                "a launch configuration without a kernel in front of it",
                "write the whole launch, kernel<<<...>>>(...), in one macro or function",
                length=3,
            )
            continue
        if not code[first : close[0]].strip(BLANK):
            source.report(
                "launch-arguments",
                at,
                "a launch without grid and block",
                "write <<<grid, block>>>",
                length=3,
            )
            continue
        yield Launch((kernel_start, kernel_end), match.span(), close, split(code, first, close[0]))


def name_braced_extents(source: Source, launch: Launch) -> set[int]:
    """Write `dim3(1, 2)` where the grid or the block is `{1, 2}`, which only nvcc takes.

    Gives the numbers of these arguments.
    """
    code = source.live
    braced = set()
    for number, (start, end) in enumerate(launch.arguments[:2]):
        first, last = skip_blank(code, start, end), skip_blank_back(code, end, start)
        if code.startswith("{", first) and closing(code, first, last) == last - 1:
            source.replace(first, first + 1, "::dim3(")
            source.replace(last - 1, last, ")")
            braced.add(number)
    return braced


def tighten_launches(source: Source) -> None:
    """Rewrite what only nvcc takes: `{1, 2}` as a grid, and the blanks in `<< <` and `>> >`."""
    if _LOOSE.search(source.live) is None and _BRACED.search(source.live) is None:
        return
    findings = list(source.findings)  # what a launch has wrong is for its compiler to say
    for launch in find_launches(source):
        name_braced_extents(source, launch)
        for start, end in (launch.open, launch.close):
            if end - start > 3:
                chevron = source.code[start]
                source.replace(
                    start, end, 3 * chevron + source.live[start:end].replace(chevron, "")
                )
    source.findings[:] = findings


def _bounds(source: Source, at: int) -> tuple[int, int]:
    """The range that a launch at `at` is in: the macro body that holds it, or the file."""
    directive = source.directive_at(at)
    if directive is None:
        return 0, len(source.live)
    start = directive.body
    if directive.keyword == "define":
        head = _MACRO_HEAD.match(source.live, directive.body, directive.end)
        start = head.end() if head else start
    return start, directive.end


def _closing_chevrons(code: str, start: int, end: int) -> tuple[int, int] | None:
    """The range of the `>>>` of a launch whose configuration starts at `start`."""
    at = start
    while at < end:
        c = code[at]
        if c in "([{":
            at = closing(code, at, end)
            if at < 0:
                return None
        elif c in ")]};":
            return None
        elif c == "<":
            if _OPEN.match(code, at):
                return None  # another launch, before this one ends
            close = _template_close(code, at, end)
            at = close if close >= 0 else at
        elif c == ">" and (match := _CLOSE.match(code, at, end)):
            return match.span()
        at += 1
    return None


def _template_close(code: str, opener: int, end: int) -> int:
    """As `closing_angle`, but the list may be followed by the `>>>` of the launch."""
    close = closing_angle(code, opener, end)
    # `a < b` of a comparison pairs with a chevron of the launch: what is left of the run must still
    # be a launch's.
    if close >= 0 and code[close] == ">":
        run = close
        while run < end and code[run] == ">":
            run += 1
        after = run - close - 1
        if after in (1, 2) or (after == 0 and not _has_chevrons(code, close + 1, end)):
            return -1
    return close


def _has_chevrons(code: str, start: int, end: int) -> bool:
    stop = code.find(";", start, end)
    return _CLOSE.search(code, start, stop if stop >= 0 else end) is not None


def _kernel_start(code: str, end: int, limit: int) -> int:
    """Where the postfix expression that ends at `end` starts; `end` if there is none."""
    at = end
    while True:
        start = _piece_start(code, at, limit)
        if start == at:
            return at
        before = skip_blank_back(code, start, limit)
        word = _NAME_BACK.search(code, max(limit, before - 200), before)
        if word and word.group() == "template":
            before = skip_blank_back(code, word.start(), limit)
        if code.endswith("::", limit, before):
            scope = skip_blank_back(code, before - 2, limit)
            if code[scope - 1 : scope] in (")", "]") or _piece_start(code, scope, limit) == scope:
                return before - 2
            at = scope
        elif code.endswith("->", limit, before):
            at = skip_blank_back(code, before - 2, limit)
        elif code.endswith(".", limit, before) and not code.endswith("..", limit, before):
            at = skip_blank_back(code, before - 1, limit)
        elif code[start] in "([" and before > limit and _is_operand(code, before, limit):
            at = before
        else:
            return start


def _piece_start(code: str, end: int, limit: int) -> int:
    """Where the name, template-id or bracket that ends at `end` starts; `end` if there is none."""
    if end <= limit:
        return end
    last = code[end - 1]
    if last == ">":
        angle = opening_angle(code, end - 1, limit)
        if angle < 0:
            return end
        name_end = skip_blank_back(code, angle, limit)
        start = _piece_start(code, name_end, limit)
        return start if start < name_end else end
    if last in ")]":
        bracket = opening(code, end - 1, limit)
        return bracket if bracket >= 0 else end
    word = _NAME_BACK.search(code, max(limit, end - 1000), end)
    if word is None or word.group() in _KEYWORDS or word.group()[0].isdigit():
        return end
    # A macro that pastes names: pre##name and its kin are one name.
    start = word.start()
    before = skip_blank_back(code, start, limit)
    if code.endswith("##", limit, before):
        return _piece_start(code, skip_blank_back(code, before - 2, limit), limit)
    return start


def _is_operand(code: str, end: int, limit: int) -> bool:
    """Whether what ends at `end` is called or indexed by the bracket after it."""
    if code[end - 1] in ")]":
        bracket = opening(code, end - 1, limit)
        if bracket < 0:
            return False
        before = skip_blank_back(code, bracket, limit)
        word = _NAME_BACK.search(code, max(limit, before - 200), before)
        return not (word and word.group() in _CONDITIONS)
    return _piece_start(code, end, limit) < end
