"""The translated copy of a source and of the headers of its project, laid out as the originals.

A file keeps its whole path under a root of the overlay, so that includes relative to each other go
on to work; `#line` makes compilers name the originals.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from gpuport.errors import TranslationError
from gpuport.loading.request import Project, Request, display_name
from gpuport.translate.findings import Finding
from gpuport.translate.translation import translate_bytes

SUFFIX = {"cpu": ".gpuport.cpp", "hip": ".gpuport.hip"}


@dataclass(frozen=True, slots=True)
class Overlay:
    """`sources` are the originals that may hold kernels: names and texts, the main one first."""

    source: str
    main: Path
    folders: tuple[Path, ...]
    originals: tuple[str, ...]
    sources: tuple[tuple[str, bytes], ...]

    def include_flags(self) -> list[str]:
        """The overlay before the originals, which hold what was not seen to be included."""
        return [
            *(f"-I{folder}" for folder in (*self.folders, *self.originals)),
            *("-idirafter", os.path.dirname(self.source)),
        ]


def write_overlay(request: Request, project: Project, target: str, folder: Path) -> Overlay:
    """Translate the source and the headers into `folder`.

    Raises:
        TranslationError: something in one of them has no counterpart; with all findings.
    """
    root = folder / "translated"
    macros = request.options.decided()
    findings: list[Finding] = []
    is_failed = False
    sources = [(request.name, request.text)]
    main = root / (request.path.lstrip("/") + SUFFIX[target])
    files = [(main, request.name, request.text)]
    for path, text in project.files.items():
        files.append((root / path.lstrip("/"), display_name(path), text))
        sources.append((display_name(path), text))
    for place, name, text in files:
        translated = translate_bytes(text, name, target, line_directive=True, macros=macros)
        findings += translated.findings
        is_failed |= translated.failed
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(translated.data)
    if is_failed:
        raise TranslationError("\n".join(finding.render() for finding in findings), tuple(findings))
    folders = tuple(root / path.lstrip("/") for path in request.folders)
    return Overlay(request.path, main, folders, tuple(request.folders[1:]), tuple(sources))
