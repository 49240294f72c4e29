"""Target `hip`: the namespaces of CUB, Thrust, the cooperative groups, and those HIP lacks."""

from __future__ import annotations

import re

from .names import DEFAULT_HINT, NameTable
from .scopes import is_member, qualifier
from .source import Source

_CUB = re.compile(r"cub(?<![\w$.]cub)(?<!->cub)(?=\s*::|\s*[;{])", re.ASCII)
_SCOPE = re.compile(r"\s*::")
_MEMBER = re.compile(r"\s*::\s*(\w+)", re.ASCII)
_NAMESPACE_NAME = re.compile(r"\bnamespace(?:\s+\w+\s*=)?\s*(?:::\s*)?\Z", re.ASCII)
_OWN_CUB = re.compile(r"\b(?:struct|class|union|enum)\s+cub\b|\bnamespace\s+cub\s*\{", re.ASCII)
_THRUST = re.compile(r"thrust(?<![\w$]thrust)\s*::\s*(cuda|cuda_cub)\b", re.ASCII)
_THRUST_NAMES = {"cuda": "hip", "cuda_cub": "hip_rocprim"}
_GROUPS_ALIAS = re.compile(r"\bnamespace\s+(\w+)\s*=\s*(?:::\s*)?cooperative_groups\b", re.ASCII)


# The header that a namespace comes from: where that is reported, nothing is left to say.
_HOME = {"nvcuda": "mma.h"}


def translate_namespaces(source: Source, names: NameTable) -> None:
    """Rename `cub` and `thrust::cuda`, and report what HIP's counterparts lack."""
    code = source.live
    if "cub" in code:
        _translate_cub(source, names.unsupported_members["cub"])
    if "thrust" in code:
        for match in _THRUST.finditer(code):
            source.replace(*match.span(1), _THRUST_NAMES[match[1]])
    if "cooperative_groups" in code:
        _report_groups(source, names.unsupported_members["cooperative_groups"])
    for namespace in sorted(names.unsupported_namespaces):
        is_told = any(h.name == _HOME.get(namespace) for h in source.headers)
        if namespace in code and not is_told:
            _report_namespace(source, names, namespace)


def _report_namespace(source: Source, names: NameTable, namespace: str) -> None:
    """Report a namespace without a counterpart, unless the file declares one of that name."""
    code = source.live
    scope = r"\w[\w\s:]*"
    own = "|".join((
        rf"\b(?:struct|class|union|enum)\s+{namespace}\b(?!\s*::)",
        rf"\bnamespace\b[\w\s:]*\b{namespace}\s*(?:::[\w\s:]*)?[{{=]",
        rf"\busing\s+{scope}::\s*{namespace}\s*;",
    ))  # fmt: skip
    if re.search(own, code, re.ASCII):
        return
    for match in re.finditer(rf"(?<![\w$]){namespace}(?=\s*(?:::|;))", code, re.ASCII):
        start, end = match.span()
        before = code[max(0, start - 200) : start]
        scoped = _SCOPE.match(code, end) is not None
        if is_member(code, start) or qualifier(code, start):
            continue
        if scoped or _NAMESPACE_NAME.search(before):
            source.report(
                "no-hip-name",
                start,
                f"HIP has no counterpart of the namespace '{namespace}'",
                names.hint(namespace),
                length=end - start,
            )


def _translate_cub(source: Source, unsupported: set[str]) -> None:
    code = source.live
    included = any(h.name.startswith(("cub/", "hipcub/")) for h in source.headers)
    if not included and _OWN_CUB.search(code):
        return
    for match in _CUB.finditer(code):
        start, end = match.span()
        before = code[max(0, start - 200) : start]
        if qualifier(code, start):
            continue  # somebody::cub
        member = _MEMBER.match(code, end)
        if member is None and not _NAMESPACE_NAME.search(before):
            continue  # a variable
        source.replace(start, end, "hipcub")
        if member and member[1] in unsupported:
            _report(source, start, member.end(), f"hipCUB has no counterpart of 'cub::{member[1]}'")


def _report_groups(source: Source, unsupported: set[str]) -> None:
    code = source.live
    aliases = "|".join({"cooperative_groups", *_GROUPS_ALIAS.findall(code)})
    for match in re.finditer(rf"(?<![\w$])(?:{aliases})\s*::\s*(\w+)", code, re.ASCII):
        if match[1] in unsupported:
            message = f"HIP's cooperative groups have no '{match[1]}'"
            _report(source, match.start(), match.end(), message)


def _report(source: Source, start: int, end: int, message: str) -> None:
    source.report("no-hip-name", start, message, DEFAULT_HINT, length=end - start)
