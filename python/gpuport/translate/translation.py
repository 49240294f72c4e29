"""From a source to its translation, for one target."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from . import cpu
from .conditions import TARGET_MACROS
from .errors import TranslationError
from .findings import ERROR, Finding
from .source import BYTE_ORDER_MARK, Source

TARGETS = ("hip", "cpu")


class Translation(NamedTuple):
    """A translated source and what was found in it."""

    text: str
    findings: tuple[Finding, ...]


class TranslatedBytes(NamedTuple):
    """As `Translation`, with the bytes of the file."""

    data: bytes
    findings: tuple[Finding, ...]

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
) -> TranslatedBytes:
    """Translate the bytes of a file; `name` stands in findings and in the `#line` directive."""
    if target not in TARGETS:
        raise ValueError(f"target must be one of {', '.join(TARGETS)}, not {target!r}")
    source = Source.from_bytes(data, name, {**TARGET_MACROS[target], **(macros or {})})
    if target == "cpu":
        cpu.translate(source)
    else:
        from . import hip  # the name table takes time to read; the other target has no use for it

        hip.translate(source)
    text = source.render()
    if line_directive:
        text = _with_line_directive(text, name)
    findings = sorted(source.findings, key=lambda finding: (finding.line, finding.column))
    return TranslatedBytes(text.encode("latin-1"), tuple(findings))


def hipify(source: str | Path, *, target: str = "hip", strict: bool = True) -> Translation:
    """Translate CUDA C++ for `target`.

    A `str` that holds a newline is source text, anything else names a file. With `strict`, a source with an
    error in it raises `TranslationError` with all findings; without, what has no translation is kept.
    """
    if isinstance(source, str) and "\n" in source:
        data, name = source.encode("utf-8", "surrogateescape"), "<source>"
    else:
        data, name = Path(source).read_bytes(), str(source)
    result = translate_bytes(data, name, target)
    if strict and result.failed:
        raise TranslationError(result.findings)
    return Translation(result.data.decode("utf-8", "surrogateescape"), result.findings)


def _with_line_directive(text: str, name: str) -> str:
    """`text` with a first line that makes compilers name the original file."""
    escaped = name.encode("utf-8", "surrogateescape").decode("latin-1")
    escaped = escaped.replace("\\", "\\\\").replace('"', '\\"')
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    body = text[len(mark) :]
    if body.startswith("#line 1 "):
        return text
    end = "\r\n" if body.partition("\n")[0].endswith("\r") else "\n"
    return f'{mark}#line 1 "{escaped}"{end}{body}'
