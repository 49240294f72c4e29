"""A C++ tokenizer that loses nothing: the tokens of a file, joined, are the file.

It works on text in which one character is one byte (latin-1), so that it takes any encoding that
contains ASCII. Two views come from the same expressions:

- `tokenize` yields every token, for tools that look at code token by token;
- `mask` blanks what is not code, at unchanged offsets, so that the rest can search a whole
  file at the speed of a compiled expression and still never see a comment or a string.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

# A backslash and the end of its line. Compilers allow blanks between the two.
SPLICE = r"\\[ \t\f\v]*\r?\n"
# Bytes over 127 are letters here: in UTF-8 they are parts of an identifier.
WORD = r"[\w\x80-\xff]"

_LINE_COMMENT = r"//[^\n\\]*(?:\\(?:[ \t\f\v]*\r?\n)?[^\n\\]*)*"
_BLOCK_COMMENT = r"/\*[^*]*(?:\*(?!/)[^*]*)*(?:\*/|\Z)"
_ESCAPE = r"\\(?:[ \t\f\v]*\r?\n|.)"
_STRING = rf'"[^"\\\n]*(?:{_ESCAPE}[^"\\\n]*)*"'
# A quote behind a letter or digit is a digit separator, unless the letters are a prefix of the
# literal.
_CHAR_TAIL = rf"[^'\\\n]*(?:{_ESCAPE}[^'\\\n]*)*'"
_CHAR = "'" + _CHAR_TAIL
_RAW_TAIL = r'"(?P<delimiter>[^()\\ \t\r\n]{0,16})\(.*?\)(?P=delimiter)"'
_HEADER_NAME = r'(?:<[^>\n]*>|"[^"\n]*")'
_GAP = rf"(?:[ \t]|{SPLICE}|/\*[^*]*(?:\*(?!/)[^*]*)*\*/)*"
_INCLUDE = rf"\#{_GAP}(?:include(?:_next)?|import){_GAP}{_HEADER_NAME}"
_MESSAGE = r"\#[ \t]*(?:error|warning)\b[^\n]*"

_FLAGS = re.ASCII | re.DOTALL

# Each branch starts with one character of a small set, and its group is an empty one at the end: so
# the search skips all other characters in C and gives up on most branches after one comparison.
_NOT_CODE = re.compile(
    rf"""
      {_LINE_COMMENT}(?:\n[ \t]*{_LINE_COMMENT})*(?P<line_comment>)
    | {_BLOCK_COMMENT}(?P<block_comment>)
    | R(?:(?<!{WORD}R)|(?<=\bLR)|(?<=\buR)|(?<=\bUR)|(?<=\bu8R)){_RAW_TAIL}(?P<raw>)
    | {_STRING}(?P<string>)
    | '(?:(?<!{WORD}')|(?<=\b[LuU]')|(?<=\bu8')|(?<=\bcase')|(?<=\breturn')){_CHAR_TAIL}(?P<char>)
    | {_INCLUDE}(?P<include>)
    | {_MESSAGE}(?P<message>)
    """,
    _FLAGS | re.VERBOSE,
)

_TOKEN = re.compile(
    rf"""
      (?P<space>(?:[ \t\r\n\f\v]|{SPLICE})+)
    | (?P<comment>{_LINE_COMMENT}|{_BLOCK_COMMENT})
    | (?P<raw>(?:u8|[uUL])?R{_RAW_TAIL})
    | (?P<string>(?:u8|[uUL])?{_STRING})
    | (?P<char>(?:u8|[uUL])?{_CHAR})
    | (?P<number>\.?\d(?:[eEpP][+-]|'\w|[\w.])*)
    | (?P<include>{_INCLUDE})
    | (?P<message>{_MESSAGE})
    | (?P<name>(?:[A-Za-z_$]|[\x80-\xff])(?:[\w$]|[\x80-\xff])*)
    | (?P<punctuation><<<|>>>|<=>|\.\.\.|->\*|<<=|>>=|::|->|\+\+|--|<<|>>|&&|\|\|
        |[-+*/%&|^=!<>]=|\#\#|[\#{{}}()\[\];:,.?~!+*/%^&|=<>-])
    | (?P<other>.)
    """,
    _FLAGS | re.VERBOSE,
)


class Token(NamedTuple):
    """A piece of source text; `kind` is the name of a group of the token expression."""

    kind: str
    text: str
    start: int


def tokenize(text: str) -> Iterator[Token]:
    """Every token of `text` in order, blanks and comments included."""
    for match in _TOKEN.finditer(text):
        yield Token(match.lastgroup or "other", match.group(), match.start())


class HeaderName(NamedTuple):
    """The header name of an `#include`: `name` without its brackets, which start at `start`."""

    start: int
    name: str
    quoted: bool


_LAST_HEADER_NAME = re.compile(rf"{_HEADER_NAME}\Z")


def mask(text: str) -> tuple[str, list[HeaderName]]:
    """`text` with comments, strings, characters and header names blanked, and the header names."""
    pieces: list[str] = []
    headers: list[HeaderName] = []
    done = 0
    for match in _NOT_CODE.finditer(text):
        start, end = match.span()
        pieces.append(text[done:start])
        kind = match.lastgroup
        if kind in ("string", "char"):
            quote = text[start]
            pieces.append(quote + " " * (end - start - 2) + quote)
        elif kind == "raw":
            pieces.append('R"' + " " * (end - start - 3) + '"')
        elif kind == "include":
            name = _LAST_HEADER_NAME.search(match.group())
            assert name is not None
            at = start + name.start()
            headers.append(HeaderName(at, name.group()[1:-1], name.group()[0] == '"'))
            pieces.append("#include".ljust(end - start))
        else:
            pieces.append(" " * (end - start))
        done = end
    pieces.append(text[done:])
    return "".join(pieces), headers


_TESTED_HEADER = re.compile(rf"\b__has_include(?:_next)?{_GAP}\({_GAP}(?P<name>{_HEADER_NAME})")


def mask_tested_headers(text: str, masked: str) -> tuple[str, list[HeaderName]]:
    """`masked` with the names that `__has_include` asks for blanked too, and these names."""
    headers = []
    for match in _TESTED_HEADER.finditer(text) if "__has_include" in masked else ():
        if masked.startswith("__has_include", match.start()):
            start, end = match.span("name")
            headers.append(HeaderName(start, text[start + 1 : end - 1], text[start] == '"'))
            masked = masked[:start] + " " * (end - start) + masked[end:]
    return masked, headers


def without_comments(text: str) -> str:
    """`text` with each comment as one blank."""
    return _NOT_CODE.sub(
        lambda m: " " if m.lastgroup in ("line_comment", "block_comment") else m.group(), text
    )


_TIGHT_SPLICE = re.compile(
    rf"\\(?<=[^ \t\r\n\f\v]\\)[ \t\f\v]*\r?\n(?:{SPLICE})*(?=[^ \t\r\n\f\v])"
)
_RAW_STRING = re.compile(
    rf"{_LINE_COMMENT}|{_BLOCK_COMMENT}|(?P<raw>\bR{_RAW_TAIL})|{_STRING}", _FLAGS
)


def tight_splices(text: str) -> list[tuple[int, int]]:
    """Line continuations that may stand inside a token: no blank beside, not in a raw string.

    All others end a token anyway and are blanks to the rest of the translator.
    """
    if "\\" not in text or _TIGHT_SPLICE.search(text) is None:
        return []
    raw = [m.span() for m in _RAW_STRING.finditer(text) if m["raw"]] if 'R"' in text else []
    return [
        m.span()
        for m in _TIGHT_SPLICE.finditer(text)
        if not any(start < m.start() < end for start, end in raw)
    ]
