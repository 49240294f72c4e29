"""From a source to its translation, for one target."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from . import cpu, hip
from .conditions import TARGET_MACROS
from .errors import TranslationError
from .findings import ERROR, Finding
from .names import load_names
from .source import BYTE_ORDER_MARK, Source

TARGETS = ("hip", "cpu")

_RUNTIME_INCLUDE = "#include <hip/hip_runtime.h>"
_HAS_LINE_DIRECTIVE = re.compile(rf'(?:{BYTE_ORDER_MARK})?(?:{_RUNTIME_INCLUDE}\r?\n)?#line 1 "')


class Translation(NamedTuple):
    """A translated source and what was found in it."""

    text: str
    findings: tuple[Finding, ...]


class Include(NamedTuple):
    """A header that a source includes, in quotes or in angle brackets."""

    name: str
    quoted: bool


class TranslatedBytes(NamedTuple):
    """As `Translation`, with the bytes of the file."""

    data: bytes
    findings: tuple[Finding, ...]
    includes: tuple[Include, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether a finding is an error."""
        return any(finding.severity == ERROR for finding in self.findings)


def translate_bytes(
    data: bytes,
    name: str,
    target: str,
    *,
    line_directive: bool = False,
    macros: Mapping[str, int | None] | None = None,
    tables: Sequence[Path] = (),
    elsewhere: Callable[[str], bool] | None = None,
) -> TranslatedBytes:
    """Translate the bytes of a file; `name` stands in findings and in the `#line` directive.

    `elsewhere` tells whether another file that is compiled with it has a word: so it may expand a
    macro.
    """
    if target not in TARGETS:
        raise ValueError(f"target must be one of {', '.join(TARGETS)}, not {target!r}")
    source = Source.from_bytes(data, name, {**TARGET_MACROS[target], **(macros or {})})
    source.elsewhere = elsewhere
    first_lines = []
    if target == "cpu":
        cpu.translate(source)
        text = source.render()
    else:
        hip.translate(source, load_names(*tables))
        text = source.render()
        if hip.missing_runtime_header(source, text):
            first_lines.append(_RUNTIME_INCLUDE)
    if line_directive and not _HAS_LINE_DIRECTIVE.match(text):
        first_lines.append(_line_directive(name))
    if first_lines:
        text = _with_first_lines(text, first_lines)
    findings = sorted(source.findings, key=lambda finding: (finding.line, finding.column))
    includes = tuple(
        Include(os.fsdecode(header.name.encode("latin-1")), header.quoted)
        for header in source.headers
    )
    return TranslatedBytes(text.encode("latin-1"), tuple(findings), includes)


def hipify(source: str | Path, *, target: str = "hip", strict: bool = True) -> Translation:
    """Translate CUDA C++ for `target`.

    A `str` that holds a newline is source text, anything else names a file. With `strict`, a source
    with an error in it raises `TranslationError` with all findings; without, what has no
    translation is kept.
    """
    if isinstance(source, str) and "\n" in source:
        data, name = source.encode("utf-8", "surrogateescape"), "<source>"
    else:
        data, name = Path(source).read_bytes(), str(source)
    result = translate_bytes(data, name, target)
    if strict and result.failed:
        raise TranslationError("\n".join(f.render() for f in result.findings), result.findings)
    return Translation(result.data.decode("utf-8", "surrogateescape"), result.findings)


def _with_first_lines(text: str, lines: list[str]) -> str:
    """`text` with lines in front, behind a byte order mark and with the line end of the file."""
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    body = text[len(mark) :]
    end = "\r\n" if body.partition("\n")[0].endswith("\r") else "\n"
    return mark + "".join(line + end for line in lines) + body


def _line_directive(name: str) -> str:
    """The line that makes compilers name the original file."""
    escaped = name.encode("utf-8", "surrogateescape").decode("latin-1")
    escaped = escaped.replace("\\", "\\\\").replace('"', '\\"')
    return f'#line 1 "{escaped}"'
