"""Which branches of a file's preprocessor conditionals are dead for a target.

A condition is true, false or unknown. It is unknown as soon as it depends on a macro that the
target does not decide; a branch is dead only if that is certain, and everything else is live.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

# None: certainly not defined. A macro that is not in the mapping is undecided.
Macros = Mapping[str, int | None]

_NEUTRAL: dict[str, int | None] = {
    "GP_TARGET_CUDA": None,
    "__NVCC__": None,
    "__HIP_PLATFORM_NVIDIA__": None,
}

# `__CUDACC__`, `__HIPCC__` and `__HIP_DEVICE_COMPILE__` are left undecided: a header may be
# compiled as host code and as device code, and both are code of the target.
TARGET_MACROS: dict[str, dict[str, int | None]] = {
    "hip": {
        **_NEUTRAL,
        "GP_TARGET_AMD": 1,
        "GP_TARGET_CPU": None,
        "__HIP_PLATFORM_AMD__": 1,
        "__HIP_PLATFORM_HCC__": 1,
        "__HIP_PLATFORM_NVCC__": None,
    },
    "cpu": {
        **_NEUTRAL,
        "GP_TARGET_CPU": 1,
        "GP_TARGET_AMD": None,
        "__HIP_PLATFORM_AMD__": None,
        "__HIP_PLATFORM_HCC__": None,
        "__HIP_PLATFORM_NVCC__": None,
        "__HIPCC__": None,
        "__HIP__": None,
        "__HIP_DEVICE_COMPILE__": None,
    },
}

_DIRECTIVE = re.compile(r"#[ \t]*([a-z_]+)")
_REST_OF_LINE = re.compile(r"[^\n\\]*(?:\\(?:[ \t\f\v]*\r?\n)?[^\n\\]*)*")
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_CONTINUATION = re.compile(r"\\[ \t\f\v]*\r?\n")


class Directive(NamedTuple):
    """A preprocessor line: the offsets of its `#`, of the end of its keyword, and of its end."""

    keyword: str
    start: int
    body: int
    end: int


def directives(masked: str) -> list[Directive]:
    """Every preprocessor line of a masked text."""
    found = []
    for match in _DIRECTIVE.finditer(masked):
        line_start = masked.rfind("\n", 0, match.start()) + 1
        if masked[line_start : match.start()].lstrip("\xef\xbb\xbf").strip():
            continue
        rest = _REST_OF_LINE.match(masked, match.end())
        assert rest is not None
        end = rest.end()
        if end > match.end() and masked[end - 1] == "\r":
            end -= 1
        found.append(Directive(match[1], match.start(), match.end(), end))
    return found


Range = tuple[int, int]


class Branches(NamedTuple):
    """What a target makes of the conditionals of a file.

    `dead`: what it never compiles, and decided conditions: `#if defined(GP_TARGET_CUDA) &&
    CUDART_VERSION > 12000` asks nothing of HIP. `own`: branches that are live because of the
    target, where its own assembly may stand.
    """

    dead: list[Range]
    own: list[Range]


class _Open(NamedTuple):
    """An `#if` that is not closed: what is known about it, and the branch that is open now."""

    outer_live: bool
    taken: bool  # a branch has certainly been taken
    vendor: bool  # a condition asked for the target
    value: bool | None  # of the branch that is open
    start: int


def branches(masked: str, lines: list[Directive], macros: Macros) -> Branches:
    """The dead and the own branches of a masked text."""
    found = Branches([], [])
    stack: list[_Open] = []
    live = True
    for line in lines:
        keyword = line.keyword
        text = masked[line.body : line.end]
        if keyword in ("if", "ifdef", "ifndef"):
            value = _condition(keyword, text, macros) if live else None
            vendor = any(word in macros for word in _WORD.findall(text))
            entry = _Open(live, value is True, vendor, value, line.end)
        elif keyword in ("elif", "else", "elifdef", "elifndef", "endif") and stack:
            entry = stack.pop()
            _close(entry, line.start, found)
            if keyword == "endif":
                live = entry.outer_live
                continue
            value = None
            if entry.outer_live:
                value = False
                if not entry.taken:
                    condition = keyword.removeprefix("el")
                    value = _condition(condition, text, macros) if condition != "se" else True
            vendor = entry.vendor or any(word in macros for word in _WORD.findall(text))
            taken = entry.taken or value is True
            entry = _Open(entry.outer_live, taken, vendor, value, line.end)
        else:
            continue
        if entry.outer_live and entry.value is not None:
            found.dead.append((line.body, line.end))
        stack.append(entry)
        live = entry.outer_live and entry.value is not False
    for entry in stack:
        if entry.outer_live and entry.value is False:
            _close(entry, len(masked), found)
    return found


def _close(entry: _Open, end: int, found: Branches) -> None:
    if entry.outer_live and entry.value is False:
        found.dead.append((entry.start, end))
    elif entry.outer_live and entry.value is True and entry.vendor:
        found.own.append((entry.start, end))


def _condition(keyword: str, text: str, macros: Macros) -> bool | None:
    text = _CONTINUATION.sub(" ", text).strip()
    if keyword == "if":
        value = _Expression(text, macros).value()
        return None if value is None else bool(value)
    name = text.split()[0] if text else ""
    if name not in macros:
        return None
    return (macros[name] is not None) == (keyword == "ifdef")


_PIECE = re.compile(
    r"\s*(defined\s*\(\s*\w+\s*\)|defined\s+\w+|0[xX][\da-fA-F]+|0[bB][01]+|\d+|\w+|&&|\|\||[=!<>]=|<<|>>|[-+*/%<>!()~?:&|^,.\"'])"
    r"([uUlLzZ]*)",
    re.ASCII,
)
_BINARY: list[tuple[str, ...]] = [
    ("||",),
    ("&&",),
    ("==", "!="),
    ("<", ">", "<=", ">="),
    ("+", "-"),
    ("*",),
]


class _UndecidedError(Exception):
    pass


class _Expression:
    """A three-valued evaluator of `#if` expressions; what it does not know is None."""

    def __init__(self, text: str, macros: Macros) -> None:
        self._pieces = [match[1] for match in _PIECE.finditer(text)]
        self._macros = macros
        self._next = 0

    def value(self) -> int | None:
        try:
            value = self._binary(0)
        except (_UndecidedError, ValueError, RecursionError):  # 08, or a thousand parentheses
            return None
        return value if self._next == len(self._pieces) else None

    def _peek(self) -> str:
        return self._pieces[self._next] if self._next < len(self._pieces) else ""

    def _take(self) -> str:
        piece = self._peek()
        if not piece:
            raise _UndecidedError
        self._next += 1
        return piece

    def _binary(self, level: int) -> int | None:
        if level == len(_BINARY):
            return self._unary()
        left = self._binary(level + 1)
        while self._peek() in _BINARY[level]:
            operator = self._take()
            left = _apply(operator, left, self._binary(level + 1))
        return left

    def _unary(self) -> int | None:
        piece = self._take()
        if piece == "!":
            value = self._unary()
            return None if value is None else int(not value)
        if piece == "-":
            value = self._unary()
            return None if value is None else -value
        if piece == "(":
            value = self._binary(0)
            if self._take() != ")":
                raise _UndecidedError
            return value
        if piece.startswith("defined") and piece != "defined":
            name = piece[len("defined") :].strip(" \t()")
            return int(self._macros[name] is not None) if name in self._macros else None
        if piece[0].isdigit():
            return int(piece, 8) if piece.isdigit() and piece[0] == "0" else int(piece, 0)
        if piece in ("true", "false"):
            return int(piece == "true")
        if not (piece[0].isalpha() or piece[0] == "_"):
            raise _UndecidedError
        if self._peek() == "(":
            self._skip_arguments()
            return None
        return (self._macros[piece] or 0) if piece in self._macros else None

    def _skip_arguments(self) -> None:
        depth = 0
        while True:
            piece = self._take()
            depth += (piece == "(") - (piece == ")")
            if depth == 0:
                return


def _apply(operator: str, left: int | None, right: int | None) -> int | None:
    if operator == "&&":
        if left == 0 or right == 0:
            return 0
        return None if left is None or right is None else 1
    if operator == "||":
        if left or right:
            return 1
        return None if left is None or right is None else 0
    if left is None or right is None:
        return None
    match operator:
        case "==":
            return int(left == right)
        case "!=":
            return int(left != right)
        case "<":
            return int(left < right)
        case ">":
            return int(left > right)
        case "<=":
            return int(left <= right)
        case ">=":
            return int(left >= right)
        case "+":
            return left + right
        case "-":
            return left - right
        case _:
            return left * right
