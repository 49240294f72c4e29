"""`__CUDA_ARCH__`, which only NVIDIA's compilers define, and only for the device."""

from __future__ import annotations

import re

from .conditions import Directive
from .findings import WARNING
from .source import Source

ARCH = "__CUDA_ARCH__"
RULE = "cuda-arch-value"
HINT = (
    f"if another branch is meant, define it for this source (-D{ARCH}=800), or ask for the target: "
    "defined(GP_TARGET_AMD), defined(GP_TARGET_CPU)"
)
_VALUE = re.compile(rf"\b{ARCH}\b(?<!defined\({ARCH})(?<!defined \({ARCH})(?<!defined {ARCH})")
# What has an answer where there is none: `!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600`, and
# `defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 700`, which is about old ones only.
_UNDEFINED = re.compile(rf"!\s*defined\s*\(?\s*{ARCH}\b")
_OLD_ONES = re.compile(rf"\bdefined\s*\(?\s*{ARCH}\b[^>=]*\b{ARCH}\s*\)*\s*<[^>=]*\Z")
_OWN = re.compile(rf"#[ \t]*define[ \t]+{ARCH}\b")


def compares(source: Source, directive: Directive) -> re.Match[str] | None:
    """Where a live `#if` or `#elif` that is not decided asks for the value, if it does."""
    if directive.keyword not in ("if", "elif"):
        return None
    return _VALUE.search(source.live, directive.body, directive.end)


def report_architecture(source: Source) -> None:
    """Warn of branches by the value: the one for no architecture is what is compiled.

    That is what CUDA's own compilers make of such a line for the host, so it is well-formed; but
    what a kernel does may be another thing.
    """
    for at in architecture_values(source):
        source.report(
            RULE,
            at,
            f"{ARCH} is not defined here: this compares 0, as host code does",
            HINT,
            severity=WARNING,
            length=len(ARCH),
        )


def architecture_values(source: Source) -> list[int]:
    """Where the conditions of a file ask for the value and forget that there may be none.

    A file that defines one itself forgets nothing.
    """
    if ARCH not in source.live or _OWN.search(source.live):
        return []
    found = []
    for directive in source.directives:
        match = compares(source, directive)
        condition = source.live[directive.body : directive.end]
        if match and not _UNDEFINED.search(condition) and not _OLD_ONES.search(condition):
            found.append(match.start())
    return found
