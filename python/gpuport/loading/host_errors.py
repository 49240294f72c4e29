"""What compilers and linkers for cpu and hip say about CUDA sources, with a sentence in front."""

from __future__ import annotations

import re

_UNDEFINED = re.compile(r"undefined (?:reference to|symbol:) [`'\"]?(?P<name>[^\n'`\"]+)")
_INSIDE = re.compile(r"in function [`'](?P<name>[^\n'`]+)'|referenced by (?P<place>[^\n]+)")


_REFERENCE = re.compile(
    r"^(?P<place>[^\n]*?:\d+):\d+: error: (?:\W(?:texture|surface)\W does not name a |"
    r"no template named '(?:texture|surface)')",
    re.MULTILINE,
)


# Of missing_cub.h and its kin, whose names stand for nothing: all that follows comes of that.
_LIBRARY = re.compile(
    r"^(?P<place>[^\n]*?:\d+):\d+: error: (?P<text>the CPU backend has no [^\n]*)", re.M
)
_HEADER = re.compile(
    r"^(?P<place>[^\n]*?:\d+):(?:\d+:)? fatal error: '?(?P<header>[\w./+-]+?)'?"
    r"(?: file not found|: No such file or directory)",
    re.M,
)
# By the folder of a header: who has it for AMD.
_HIP_LIBRARIES = {"thrust": "rocThrust", "hipcub": "hipCUB (HIP's <cub/...>)", "rocprim": "rocPRIM"}


def _missing_header(said: str, backend: str) -> str:
    """Which header of a library the compiler did not find; "" where it is none of these."""
    found = _HEADER.search(said)
    library = found["header"].partition("/")[0] if found else ""
    if found is None or library not in ("cub", *_HIP_LIBRARIES):
        return ""
    if backend == "hip":
        name = _HIP_LIBRARIES.get(library, library)
        has = f"{name} is not installed with this HIP toolchain, or lacks it"
    else:
        has = f"the CPU backend has no {library}: call kernels, or load for cuda"
    return f"{found['place']}: <{found['header']}> is not available on {backend}: {has}"


def explained_hip(said: str) -> str:
    """The words of HIP's compiler, behind the library that is not here where one is missing."""
    missing = _missing_header(said, "hip")
    return f"{missing}\n{said}" if missing else said


def explained(said: str, name: str) -> str:
    """The words of a compiler or linker, behind what they come to where that is known.

    Known are functions that are defined nowhere, texture references, and libraries for GPUs, of
    which nothing but the first use of each is told.
    """
    first_uses: dict[str, str] = {}
    for found in _LIBRARY.finditer(said):
        first_uses.setdefault(found["text"], found["place"])
    if first_uses:
        return "\n".join(f"{place}: error: {text}" for text, place in first_uses.items())
    if missing := _missing_header(said, "cpu"):
        return f"{missing}\n{said}"
    if reference := _REFERENCE.search(said):
        return (
            f"{reference['place']}: texture references are gone since CUDA 12: pass a "
            f"cudaTextureObject_t, made by cudaCreateTextureObject\n{said}"
        )
    wanted = list(dict.fromkeys(match["name"].strip() for match in _UNDEFINED.finditer(said)))
    if not wanted:
        return said
    callers = {match["name"] for match in _INSIDE.finditer(said) if match["name"]}
    by = f" ({', '.join(sorted(callers))} needs it)" if len(callers) == 1 else ""
    lines = [f"{name}: {symbol} is declared and defined nowhere{by}" for symbol in wanted]
    lines.append(
        "gpuport.load compiles one translation unit: give the definition in the source or in a "
        "header that it includes, or leave out under #if the host code that calls it"
    )
    return "\n".join([*lines, said])
