"""From a source to its findings.

A file is looked at as each target compiles it: a branch for one vendor is not wrong for lacking
what only another needs. Faults of the width count where the code meets a warp of 64 lanes, that is
on `hip` and `cpu`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from . import barriers, exchange, lanes, launching, masks, suppression, widths
from ._reader import ARCH, TARGET_MACROS, WARNING, Finding, Source, architecture_values
from .checker import Checker, Facts, Rules
from .rules import RULES
from .unit import Unit

_CUDA: dict[str, int | None] = {
    "GP_TARGET_CUDA": 1,
    "CUDART_VERSION": 13000,
    "CUDA_VERSION": 13000,
    "__CUDACC_VER_MAJOR__": 13,
    "GP_TARGET_AMD": None,
    "GP_TARGET_CPU": None,
    "__NVCC__": 1,
    "__HIP__": None,
    "__HIPCC__": None,
    "__HIP_DEVICE_COMPILE__": None,
    "__HIP_PLATFORM_AMD__": None,
    "__HIP_PLATFORM_HCC__": None,
    "USE_ROCM": None,
}
TARGETS: dict[str, dict[str, int | None]] = {
    "cuda": _CUDA,
    "hip": {**TARGET_MACROS["hip"], "USE_ROCM": 1},
    "cpu": {**TARGET_MACROS["cpu"], "USE_ROCM": None},
}
# What CUDA's own compilers ask for, and AMD's do not have.
_ONLY_ON = {"GPL012": ("cuda", "cpu")}
# These do not depend on the width: they hold on every target.
_EVERYWHERE = ("GPL009", "GPL010", "GPL013", "GPL015", "GPL016")
_WIDE = ("hip", "cpu")

# A file without any of these has nothing to find.
_TRIGGER = re.compile(
    r"<<<|threadIdx|warp|WARP|Warp|lane|Lane|LANE|__shfl|__ballot|__any|__all|__activemask|__match_|__sync|__shared__|"
    r"_mask|WAVEFRONT|tiled_partition|__CUDA_ARCH__"
)
_ARCH_MESSAGE = f"only NVIDIA's compilers define {ARCH}: elsewhere this compares 0"
_RECURSION = 20000  # the parser bounds how deep its trees are; a level of a tree takes a few calls
_OWN_WARP_SIZE = re.compile(
    r"#[ \t]*define[ \t]+warpSize\b|\b(?:const(?:expr)?|enum)\b[^;(){]*[ {]warpSize[ \t]*[={]"
)
_HIP_HEADER = re.compile(r"hip/|hipcub|rocprim|rocwmma")
_RULES = Rules(
    node=[
        masks.mask_argument,
        masks.mask_compare,
        masks.narrowed,
        masks.bit_count,
        masks.mask_by_shift,
        lanes.thread_index,
        lanes.lane_arithmetic,
        lanes.shuffle,
        lanes.group_template,
        barriers.block_barrier,
        barriers.warp_operation,
        widths.template_arguments,
    ],
    declaration=[
        masks.narrow_variable,
        masks.shifted_mask,
        lanes.shared_bound,
        widths.constant_variable,
    ],
    parameter=[masks.mask_default, lanes.width_default],
    returned=[masks.narrow_result],
    branch=[lanes.warp_branch],
    function=[lanes.shared_index, exchange.exchange, exchange.volatile_exchange, widths.labels],
)


def lint(source: str | Path) -> list[Finding]:
    """What is wrong, for other warp widths and other vendors, with CUDA C++.

    A `str` that holds a newline is source text, anything else names a file.
    """
    if isinstance(source, str) and "\n" in source:
        return lint_bytes(source.encode("utf-8", "surrogateescape"), "<source>")
    return lint_bytes(Path(source).read_bytes(), str(source))


def lint_bytes(data: bytes, name: str) -> list[Finding]:
    """The findings in the bytes of a file, in order; `name` stands in them."""
    text = data.decode("latin-1")
    if _TRIGGER.search(text) is None and "gpuport-lint" not in text:
        return []
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _RECURSION))
    try:
        return _lint(text, name)
    finally:
        sys.setrecursionlimit(limit)


def _lint(text: str, name: str) -> list[Finding]:
    everything = Source(text, name, {})
    views: dict[
        str, tuple[Source, set[str]]
    ] = {}  # by what is live: most files are the same for every target
    for target, macros in TARGETS.items():
        source = Source(text, name, macros)
        views.setdefault(source.live, (source, set()))[1].add(target)
    findings: dict[tuple[str, int], Finding] = {}
    for source, targets in views.values():
        for rule, offset, message, length in _raw_findings(source, everything):
            if not targets.intersection(_targets(rule)):
                continue
            line, column, line_text = source.position(offset)
            finding = Finding(
                rule, WARNING, name, line, column, message, RULES[rule].change, line_text, length
            )
            findings.setdefault((rule, offset), finding)
    if any(rule == "GPL006" for rule, _ in findings) and _includes_warp_size(
        everything, Path(name), set()
    ):
        findings = {key: finding for key, finding in findings.items() if key[0] != "GPL006"}
    kept = suppression.apply(everything, list(findings.values()))
    return sorted(kept, key=lambda f: (f.line, f.column, f.rule))


def _includes_warp_size(source: Source, path: Path, seen: set[Path]) -> bool:
    """Whether a header of the project, included in quotes, has a constant of its own that is called
    warpSize.
    """
    for header in source.headers:
        other = path.parent / header.name
        if not header.quoted or other in seen or len(seen) > 100 or not other.is_file():
            continue
        seen.add(other)
        inner = Source.from_bytes(other.read_bytes(), str(other), {})
        if _OWN_WARP_SIZE.search(inner.live) or _includes_warp_size(inner, other, seen):
            return True
    return False


def _targets(rule: str) -> Iterable[str]:
    if rule in _ONLY_ON:
        return _ONLY_ON[rule]
    return TARGETS if rule in _EVERYWHERE else _WIDE


def _raw_findings(source: Source, everything: Source) -> list[tuple[str, int, str, int]]:
    found: list[tuple[str, int, str, int]] = []

    def report(rule: str, offset: int, message: str, length: int) -> None:
        found.append((rule, offset, message, length))

    unit = Unit(source)
    facts = Facts(unit)
    for function in unit.functions:
        Checker(unit, function, facts, report).run(_RULES)
    outside = Checker(unit, widths.file_function(), facts, report)
    widths.outside_functions(outside)
    for rule, results in (
        ("GPL008", launching.shared_by_width(unit)),
        ("GPL013", launching.unchecked(unit)),
        ("GPL013", launching.dropped_results(unit)),
        ("GPL014", launching.partial_blocks(unit, facts)),
        ("GPL017", widths.chosen_widths(unit, everything.live)),
        ("GPL018", widths.fixed_constants(unit, everything.live)),
        ("GPL019", [(at, len(ARCH), _ARCH_MESSAGE) for at in architecture_values(source)]),
    ):
        for offset, length, message in results:
            report(rule, offset, message, length)
    if any(_HIP_HEADER.match(header.name) for header in source.headers):
        found = [f for f in found if f[0] != "GPL012"]  # HIP has these, and for long had no others
    return found
