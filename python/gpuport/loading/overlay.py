"""The translated copy of a source and of the headers of its project, laid out as the originals.

A file keeps its whole path under a root of the overlay, so that includes relative to each other go
on to work; `#line` makes compilers name the originals.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gpuport.errors import TranslationError
from gpuport.loading.request import Project, Request
from gpuport.loading.sources import ProjectFile, live_files
from gpuport.translate.architecture import RULE as ARCH_RULE
from gpuport.translate.findings import ERROR, Finding
from gpuport.translate.translation import translate_bytes

SUFFIX = {"cpu": ".gpuport.cpp", "hip": ".gpuport.hip"}


@dataclass(frozen=True, slots=True)
class Overlay:
    """`files` are the originals that may hold kernels, the main one first.

    `warnings` say what means something else on the target than on an NVIDIA GPU.
    """

    source: str
    main: Path
    folders: tuple[Path, ...]
    originals: tuple[str, ...]
    files: tuple[ProjectFile, ...]
    warnings: tuple[str, ...]

    def include_flags(self) -> list[str]:
        """The overlay before the originals, which hold what was not seen to be included."""
        return [
            *(f"-I{folder}" for folder in (*self.folders, *self.originals)),
            *("-idirafter", os.path.dirname(self.main)),
            *("-idirafter", os.path.dirname(self.source)),
        ]


def _has_word(files: list[ProjectFile], word: str) -> bool:
    pattern = re.compile(rf"(?<![\w$]){re.escape(word)}(?![\w$])", re.ASCII)
    return any(pattern.search(file.source.live) for file in files)


def write_overlay(request: Request, project: Project, target: str, folder: Path) -> Overlay:
    """Translate the source and the headers into `folder`.

    Raises:
        TranslationError: something in one of them has no counterpart; with all findings.
    """
    root = folder / "translated"
    macros = request.options.decided()
    findings: list[Finding] = []
    is_failed = False
    main = root / (request.path.lstrip("/") + SUFFIX[target])
    files = live_files(request, project, target)
    for file in files:
        translated = translate_bytes(
            file.text,
            file.name,
            target,
            line_directive=True,
            macros=macros,
            elsewhere=partial(_has_word, [other for other in files if other is not file]),
        )
        findings += translated.findings
        is_failed |= translated.failed
        place = main if file.path == request.path else root / file.path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(translated.data)
    if is_failed:
        errors = [finding.render() for finding in findings if finding.severity == ERROR]
        raise TranslationError("\n".join(errors), tuple(findings))
    folders = tuple(root / path.lstrip("/") for path in request.folders)
    originals = tuple(request.folders[1:])
    warnings = tuple(
        f"{f.file}:{f.line}: {f.source.strip()}: {f.message}; {f.hint}"
        for f in findings
        if f.rule == ARCH_RULE
    )
    return Overlay(request.path, main, folders, originals, tuple(files), warnings)
