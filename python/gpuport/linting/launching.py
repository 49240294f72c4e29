"""Rules about launches: checked or not, and blocks that are no whole number of warps."""

from __future__ import annotations

import re

from ._reader import Launch
from .checker import Facts
from .lexer import integer
from .unit import Unit

_LAST_NAME = re.compile(r"(\w+)[ \t\r\n]*(?:<[^;{}]*>)?[ \t\r\n]*\Z", re.ASCII)
_MACRO_NAME = re.compile(r"[ \t]*(\w+)", re.ASCII)
_LAUNCH_CALLS = frozenset(
    f"{vendor}{call}"
    for vendor in ("cuda", "hip")
    for call in (
        "LaunchKernel",
        "LaunchKernelExC",
        "LaunchKernelEx",
        "LaunchCooperativeKernel",
        "LaunchKernelGGL",
    )
)
_BY_WIDTH = re.compile(r"/\s*(?:32|64)\b|>>\s*[56]\b")
_DIM3 = re.compile(r"\s*(?:dim3\s*[({])?\s*(\w+)\s*(?:,\s*1\s*(?:,\s*1\s*)?)?[)}]?\s*\Z", re.ASCII)


def unchecked(unit: Unit) -> list[tuple[int, int, str]]:
    """GPL013."""
    found = []
    live = unit.source.live
    for launch in unit.launches:
        if not _checked_after(unit, launch.close[0]):
            name = live[slice(*launch.kernel)].split("<")[0].strip()
            message = f"nothing checks whether the launch of '{name}' succeeded"
            found.append((launch.kernel[0], len(name), message))
    return found


def dropped_results(unit: Unit) -> list[tuple[int, int, str]]:
    """GPL013 for launches by function: their result is an error code."""
    found = []
    for function in unit.functions:
        for statement in function.statements():
            node = statement.expressions[0] if statement.kind == "expression" else None
            if node is None or node.kind != "call" or node.callee not in _LAUNCH_CALLS:
                continue
            at = unit.tokens.start[node.token]
            if not _checked_after(unit, at):
                message = f"nothing looks at what '{node.callee}' returns"
                found.append((at, len(node.callee), message))
    return found


def _checked_after(unit: Unit, at: int) -> bool:
    """Whether a check follows in the function or macro, or after a place of the file that uses it.

    The function is the outermost: a check may stand behind the lambda that launches.
    """
    directive = unit.source.directive_at(at)
    if directive is not None:
        macro = _MACRO_NAME.match(unit.source.live, directive.body)
        start, end, name = directive.start, directive.end, macro[1] if macro else ""
    else:
        start, end, name = unit.positions.function_around(at)
    if unit.positions.is_checked(at, end):
        return True
    for use in unit.positions.uses_of(name) if name else ():
        if start <= use < end or unit.source.directive_at(use) is not None:
            continue
        _, user_end, user = unit.positions.function_around(use)
        if user and user != name and unit.positions.is_checked(use + len(name), user_end):
            return True
    return False


def shared_by_width(unit: Unit) -> list[tuple[int, int, str]]:
    """GPL008 in the dynamic shared memory of a launch."""
    found = []
    for launch in unit.launches:
        for start, end in launch.arguments[2:3]:
            match = _BY_WIDTH.search(unit.source.live, start, end)
            if match is not None:
                found.append(
                    (
                        match.start(),
                        len(match.group()),
                        "shared memory by a literal number of threads a warp",
                    )
                )
    return found


def partial_blocks(unit: Unit, facts: Facts) -> list[tuple[int, int, str]]:
    """GPL014."""
    found = []
    live = unit.source.live
    for launch in unit.launches:
        kernel = _LAST_NAME.search(live[slice(*launch.kernel)])
        if kernel is None or kernel[1] not in facts.warp or len(launch.arguments) < 2:
            continue
        size = _block_size(unit, launch)
        if size is not None and size % 64:
            start, end = launch.arguments[1]
            text = live[start:end]
            at = start + len(text) - len(text.lstrip())
            found.append(
                (
                    at,
                    len(text.strip()),
                    f"a block of {size} threads is no whole number of 64-lane warps, "
                    f"and '{kernel[1]}' works with warps",
                )
            )
    return found


def _block_size(unit: Unit, launch: Launch) -> int | None:
    start, end = launch.arguments[1]
    match = _DIM3.match(unit.source.live[start:end])
    if match is None:
        return None
    literal = integer(match[1])
    if literal is not None:
        return literal[0]
    constant = unit.constants.find(match[1])
    return unit.constants.value(constant.value) if constant is not None else None
