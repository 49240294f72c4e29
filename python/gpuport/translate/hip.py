"""Target `hip`: CUDA names and headers become HIP's, launches stay, what HIP lacks is reported."""

from __future__ import annotations

import re

from .architecture import ARCH, HINT, RULE, compares, report_architecture
from .assembly import report_assembly
from .brackets import closing
from .findings import WARNING
from .launches import tighten_launches
from .names import COMPAT, DEFAULT_HINT, NameTable
from .namespaces import translate_namespaces
from .scopes import declares_member, is_member, qualifier
from .source import Source

_W = r"[\w$\x80-\xff]"
# Words that may be CUDA's. They start with one of few characters, so that the search skips most of
# a file in C.
_CANDIDATE = re.compile(
    rf"(?:c(?:(?<!{_W}c)|(?<=\bmake_c))u|C(?<!{_W}C)[Uu]|_(?<!{_W}_)[_A-Z])(?:{_W})+", re.ASCII
)
# Families that are rare: looked for only in files that hold their first letters.
_RARE = (
    ("nv_bfloat16", re.compile(rf"(?<!{_W})nv_bfloat16{_W}*", re.ASCII)),
    ("nv_bfloat162", re.compile(rf"(?<!{_W})nv_bfloat162{_W}*", re.ASCII)),
    ("NVCL_", re.compile(rf"(?<!{_W})NVCL_{_W}*", re.ASCII)),
    ("NVFFT_", re.compile(rf"(?<!{_W})NVFFT_{_W}*", re.ASCII)),
    ("_block", re.compile(rf"(?<!{_W})atomic{_W}+_block(?!{_W})", re.ASCII)),
    ("nvtx", re.compile(rf"(?<!{_W})nvtx[A-Z]{_W}*", re.ASCII)),
    ("NVTX_", re.compile(rf"(?<!{_W})NVTX_{_W}*", re.ASCII)),
)
_TEXTURE = re.compile(r"texture(?<![\w$:]texture)\s*<[^;{}()]*>\s*\w+", re.ASCII)
_PASTED = re.compile(
    r"(?<![\w$])(?:cuda|CUDA|cu|CU|(?:cu|CU)(?:blas|BLAS|fft|FFT|rand|RAND|sparse|SPARSE)|nvrtc|NVRTC)(?:[A-Z_]\w*)?\s*\Z",
    re.ASCII,
)
_SHARED_ALIGNAS = re.compile(
    r"(?<![\w$])(?:(?:extern|static|volatile|const|__shared__)\s+)*__shared__\s+(?=alignas\s*\()",
    re.ASCII,
)
_NEEDS_RUNTIME = re.compile(
    r"(?<![\w$])(?:__global__|__device__|__shared__|__constant__|threadIdx|blockIdx|hip[A-Z]\w*)",
    re.ASCII,
)


def translate(source: Source, names: NameTable) -> None:
    """Add the edits that make a HIP compiler take the file."""
    _translate_headers(source, names)
    code = source.live
    for match in _CANDIDATE.finditer(code):
        start = match.start()
        if code[start] == "c" and code[start - 5 : start] == "make_":
            start -= 5
        _translate_name(source, names, start, match.end())
    for letters, pattern in _RARE:
        if letters in code:
            for match in pattern.finditer(code):
                _translate_name(source, names, *match.span())
    for name in names.odd_names():
        if name in code:
            for match in re.finditer(rf"(?<!{_W}){name}(?!{_W})", code, re.ASCII):
                _translate_name(source, names, *match.span())
    _report_plain(source, names)
    translate_namespaces(source, names)
    if "alignas" in code:
        _move_alignas(source)
    tighten_launches(source)
    report_architecture(source)
    report_assembly(source)
    _report_constructs(source)


def _translate_headers(source: Source, names: NameTable) -> None:
    for header in source.headers:
        start, end = header.start, header.start + len(header.name) + 2
        new = _hip_header(names, header.name)
        if new is not None:
            if new != header.name:
                source.replace(start + 1, end - 1, new)
        elif header.name in names.dropped_headers:
            _drop_header(source, start, end, "hip/hip_runtime.h")
        elif header.name in names.compat_headers:
            _drop_header(source, start, end, "gpuport_hip.h")
            message = f"'{header.name}': {COMPAT}"
            source.report("compat-header", start, message, "", severity=WARNING, length=end - start)
        elif names.is_unsupported_header(header.name):
            hint = names.hint(header.name)
            if hint == DEFAULT_HINT:
                hint = "include it in a branch of its own, #if defined(GP_TARGET_CUDA)"
            source.report(
                "no-hip-header",
                start,
                f"HIP has no counterpart of the header '{header.name}'",
                hint,
                length=end - start,
            )

    for header in source.tested_headers:
        # What HIP lacks is not there, as the question expects: no error.
        new = _hip_header(names, header.name)
        if new is not None and new != header.name:
            source.replace(header.start + 1, header.start + 1 + len(header.name), new)


def _drop_header(source: Source, start: int, end: int, home: str) -> None:
    line = source.code.rfind("#", 0, start)
    source.replace(line, line, "/* ")
    source.replace(end, end, f" is a part of {home} */")


def _hip_header(names: NameTable, name: str) -> str | None:
    new = names.headers.get(name)
    if new is None and re.fullmatch(r"cub/[\w/]+\.cuh", name):
        return "hipcub/hipcub.hpp"
    return new


def _translate_name(source: Source, names: NameTable, start: int, end: int) -> None:
    name = source.live[start:end]
    meaning = names.meaning(name)
    if meaning is None:
        return
    if name == ARCH and not _is_arch_test(source, start):
        directive = source.directive_at(start)
        if directive is None or compares(source, directive) is None:
            message = f"the value of {ARCH} has no meaning for HIP"
            source.report(RULE, start, message, HINT, length=end - start)
    elif meaning.hip is not None:
        if meaning.hip != name:
            source.replace(start, end, meaning.hip)
    elif meaning.unsupported and not _is_users(source.live, names, start, end):
        _report_missing(source, names, name, start)
    if meaning.warning and not (
        meaning.rule == "compat-header" and _is_users(source.live, names, start, end)
    ):
        source.report(
            meaning.rule,
            start,
            f"'{name}': {meaning.warning}",
            "",
            severity=WARNING,
            length=end - start,
        )


def _is_users(code: str, names: NameTable, start: int, end: int) -> bool:
    """Whether the name is a member, or of a namespace or class of the user's."""
    if is_member(code, start):
        return True
    scope = qualifier(code, start)
    if scope is None:
        return declares_member(code, start, end)
    return bool(scope) and names.meaning(scope) is None


def _is_arch_test(source: Source, start: int) -> bool:
    """Whether `__CUDA_ARCH__` is only asked to be defined, and not compared on the same line."""
    directive = source.directive_at(start)
    if directive is None or compares(source, directive):
        return False
    if directive.keyword in ("ifdef", "ifndef", "elifdef", "elifndef", "undef", "define"):
        return True
    return re.search(r"\bdefined\s*\(?\s*\Z", source.live[directive.body : start]) is not None


def _report_missing(source: Source, names: NameTable, name: str, at: int) -> None:
    message = f"HIP has no counterpart of '{name}'"
    source.report("no-hip-name", at, message, names.hint(name), length=len(name))


def _report_plain(source: Source, names: NameTable) -> None:
    """Warn of calls of CUDA functions with everyday names that the file does not define."""
    code = source.live
    for name in names.plain:
        if name not in code:
            continue
        own = re.compile(rf"(?:[\w>]\s+|[*&]\s*)(?<!return )(?<!else ){name}\s*\(", re.ASCII)
        if own.search(code) or re.search(rf"#[ \t]*define[ \t]+{name}\b", code):
            continue
        for match in re.finditer(rf"(?<![\w$.:])(?<!->){name}(?=\s*\()", code, re.ASCII):
            source.report(
                "no-hip-name",
                match.start(),
                f"HIP has no counterpart of '{name}', if CUDA's is meant",
                names.hint(name),
                severity=WARNING,
                length=len(name),
            )


def _move_alignas(source: Source) -> None:
    """Put `alignas` in front of `__shared__`: the only order that clang takes."""
    code = source.live
    for match in _SHARED_ALIGNAS.finditer(code):
        start, at = match.span()
        end = closing(code, code.index("(", at), len(code)) + 1
        if end > 0:
            source.replace(start, at, "")
            source.replace(end, end, " " + source.code[start:at].rstrip())


def _report_constructs(source: Source) -> None:
    """Report what is CUDA's by form and not by name."""
    code = source.live
    if "texture" in code:
        for match in _TEXTURE.finditer(code):
            source.report(
                "texture-reference",
                match.start(),
                "a texture reference: removed from CUDA 12 and from HIP",
                "use a texture object, cudaCreateTextureObject",
                length=len("texture"),
            )
    at = code.find("##")
    while at >= 0:
        pasted = _PASTED.search(code, max(0, at - 80), at)
        if pasted:
            piece = pasted.group().strip()
            source.report(
                "pasted-name",
                pasted.start(),
                f"a CUDA name is pasted together from '{piece}' and a macro argument",
                "pass the whole name to the macro",
                length=len(piece),
            )
        at = code.find("##", at + 2)


def missing_runtime_header(source: Source, text: str) -> bool:
    """Whether a `.cu` file leans on nvcc, which includes the runtime header by itself."""
    if not source.name.endswith(".cu") or re.search(
        r"#[ \t]*include[ \t]*[<\"]hip/hip_runtime\.h", text
    ):
        return False
    return (
        _NEEDS_RUNTIME.search(source.live) is not None
        or "<<<" in source.live
        or _NEEDS_RUNTIME.search(text) is not None
    )
