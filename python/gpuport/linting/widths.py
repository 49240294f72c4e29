"""Rules about where the width comes from: `warpSize` as a constant, the preprocessor, fixed
constants.
"""

from __future__ import annotations

import re

from . import names
from .checker import Checker
from .lexer import Tokens
from .syntax import Function, Node, Statement, Variable
from .unit import Unit

_WAVEFRONT = re.compile(r"\b__AMDGCN_WAVEFRONT_SIZE(?:__)?\b")
_CHOSEN = re.compile(
    r"#[ \t]*define[ \t]+(\w+)[ \t]+\(?(32|64)\b"
    r"|\bconst(?:expr|init)?[ \t]+[\w: ]*?(\w+)[ \t]*[={][ \t]*(32|64)\b",
    re.ASCII,
)


def template_arguments(checker: Checker, node: Node, _: tuple[Node, ...]) -> None:
    """GPL006 in template arguments and static assertions."""
    if node.template is not None:
        _report_range(checker, *node.template, "a template argument")
    if node.kind == "call" and node.callee == "static_assert":
        for argument in node.arguments:
            _report(checker, argument, "a static_assert")


def constant_variable(checker: Checker, variable: Variable) -> None:
    """GPL006 in an array bound or the initialiser of a constant."""
    for bound in variable.bounds:
        _report(checker, bound, "an array bound")
    if "constexpr" in variable.type and variable.initial is not None:
        _report(checker, variable.initial, "a constexpr initialiser")


def labels(checker: Checker) -> None:
    """GPL006 in case labels and `if constexpr`."""
    tokens = checker.unit.tokens
    for statement in checker.function.statements():
        constant = statement.kind == "case" or (
            statement.kind == "if"
            and tokens.text[statement.token + 1 : statement.token + 2] == ["constexpr"]
        )
        if constant:
            for node in statement.expressions[:1]:
                _report(
                    checker, node, "a case label" if statement.kind == "case" else "an if constexpr"
                )


def _is_warp_size(unit: Unit, node: Node) -> bool:
    return (
        node.kind == "name"
        and node.text == "warpSize"
        and not node.scoped
        and unit.constants.find("warpSize") is None
    )


def _report(checker: Checker, root: Node, where: str) -> None:
    for node in root.walk():
        if _is_warp_size(checker.unit, node):
            checker.report("GPL006", node.token, f"warpSize in {where}")


def _report_range(checker: Checker, first: int, last: int, where: str) -> None:
    if _in_range(checker.unit, checker.unit.tokens, first, last):
        at = checker.unit.tokens.text.index("warpSize", first, last)
        checker.report("GPL006", at, f"warpSize in {where}")


def _in_range(unit: Unit, tokens: Tokens, first: int, last: int) -> bool:
    if unit.constants.find("warpSize") is not None or "warpSize" not in tokens.text[first:last]:
        return False
    at = tokens.text.index("warpSize", first, last)
    before = tokens.text[at - 1]
    return before not in (".", "->") and not (before == "::" and tokens.kind[at - 2] == "name")


def outside_functions(checker: Checker) -> None:
    """GPL006 in declarations of namespaces and classes, and anywhere in a template argument list of
    a type.
    """
    unit, tokens = checker.unit, checker.unit.tokens
    for node in unit.asserts:
        for inner in node.walk():
            if _is_warp_size(unit, inner):
                checker.report("GPL006", inner.token, "warpSize in a static_assert")
    for variable in unit.variables:
        constant_variable(checker, variable)
    for at, text in enumerate(tokens.text):
        if text == "<" and at and tokens.kind[at - 1] == "name":
            after = tokens.angle(at, min(at + 60, len(tokens)))
            if after > 0:
                _report_range(checker, at + 1, after - 1, "a template argument")
        elif text in ("__launch_bounds__", "alignas", "__align__") and tokens.text[
            at + 1 : at + 2
        ] == ["("]:
            _report_range(checker, at + 2, tokens.close(at + 1, len(tokens)), f"'{text}'")


def file_function() -> Function:
    """A function without a body, to walk what stands outside of functions with."""
    return Function("", 0)


def chosen_widths(unit: Unit, text: str) -> list[tuple[int, int, str]]:
    """GPL017: offset, length and message of each. `text` is the code of all targets."""
    found = [
        (
            m.start(),
            len(m.group()),
            f"'{m.group()}' is not the width of the device that runs the code",
        )
        for m in _WAVEFRONT.finditer(unit.source.live)
    ]
    for name, choices in _choices(text).items():
        (_, first), *others = choices
        for at, value in others:
            if value != first:
                found.append(
                    (
                        at,
                        len(name),
                        f"'{name}' is {first} in one branch of the preprocessor and {value} here",
                    )
                )
    return found


def _choices(text: str) -> dict[str, list[tuple[int, str]]]:
    """Names of widths with the offset and the value of each definition."""
    found: dict[str, list[tuple[int, str]]] = {}
    for match in _CHOSEN.finditer(text):
        group = 1 if match[1] else 3
        if names.WIDTH.match(match[group]):
            found.setdefault(match[group], []).append((match.start(group), match[group + 1]))
    return found


def fixed_constants(unit: Unit, text: str) -> list[tuple[int, int, str]]:
    """GPL018: constants that are called a width, and those that the other rules saw used as one."""
    found = []
    chosen = {
        name for name, choices in _choices(text).items() if len({value for _, value in choices}) > 1
    }
    for constant in unit.constants.all():
        if constant.name in chosen:
            continue
        value = unit.constants.value(constant.value)
        if unit.constants.is_derived(constant):
            continue
        named = (names.WIDTH.match(constant.name) and value in (32, 64)) or (
            names.LOG_WIDTH.match(constant.name) and value in (5, 6)
        )
        if named or (constant.name in unit.widths and value in (5, 6, 31, 32, 63, 64)):
            what = "is called a warp width" if named else "serves as the warp width"
            found.append(
                (
                    constant.offset,
                    len(constant.name),
                    f"'{constant.name}' {what} and is fixed at {value}",
                )
            )
    return found


__all__ = [
    "Statement",
    "chosen_widths",
    "constant_variable",
    "file_function",
    "fixed_constants",
    "labels",
    "outside_functions",
    "template_arguments",
]
