"""Rules about lane masks: their literals, their width, how they are built and counted."""

from __future__ import annotations

from . import names
from .checker import Checker
from .lexer import integer
from .syntax import Node, Variable
from .values import LANE, MASK, MASK32, THREAD

_FULL = 0xFFFFFFFF
_WRAPPER_WORDS = ("warp", "shuffle", "shfl", "ballot")


def mask_argument(checker: Checker, node: Node, _: tuple[Node, ...]) -> None:
    """GPL003 in a call, GPL012."""
    if node.kind != "call":
        return
    name = node.callee
    if name in names.LEGACY and node.kids[0].kind == "name" and not node.kids[0].scoped:
        checker.report("GPL012", node.token, f"'{name}' does not say which lanes take part")
    if name in names.MASKED:
        if node.arguments:
            _report_mask(checker, node.arguments[0], f"the mask of '{name}'", partial=True)
        return
    wrapper = checker.unit.by_name.get(name)
    for position, argument in enumerate(node.arguments):
        if wrapper is not None and not wrapper.macro:
            parameters = wrapper.parameters
            takes_mask = position < len(parameters) and "mask" in parameters[position].name.lower()
        else:
            takes_mask = any(word in name.lower() for word in _WRAPPER_WORDS)
        if takes_mask:
            _report_mask(checker, argument, f"a mask given to '{name}'", partial=False)
        if wrapper is not None and not wrapper.macro and position < len(wrapper.parameters):
            parameter = wrapper.parameters[position]
            if checker.values.flags(argument) & MASK and names.is_narrow(
                parameter.type, checker.unit.aliases
            ):
                checker.report(
                    "GPL004",
                    argument.token,
                    f"a mask of lanes goes to '{parameter.name}' of '{name}', which has 32 bits",
                )


def _report_mask(checker: Checker, node: Node, what: str, *, partial: bool) -> None:
    value = node
    if node.kind == "cast" and not names.is_narrow(
        tuple(node.text.split(" ")), checker.unit.aliases
    ):
        value = node.kids[0]
        if value.kind != "number":
            return
    if _report_shifted(checker, value, what):
        return
    literal = checker.values.literal(value)
    text = _text(literal)
    if not text:
        return
    number = checker.unit.constants.value(literal)
    full = text in ("-1", "~0", "~0u", "~0U") or number == _FULL or text in names.FULL_NAMES
    if not full and (not partial or not _is_short(literal)):
        return
    token = node.kids[0].token if node.kind == "cast" else node.token
    named = f" ({text})" if literal is not value and literal is not node else ""
    kind = "full mask" if full else "literal"
    length = len(text) if not named else None
    checker.report("GPL003", token, f"{what} is a 32-bit {kind}{named}", length)


def _report_shifted(checker: Checker, node: Node, what: str) -> bool:
    """Whether a mask is made of 32 ones by a shift to the right."""
    while node.kind == "cast":
        node = node.kids[0]
    if node.kind != "binary" or node.text != ">>":
        return False
    literal = checker.values.literal(node.kids[0])
    ones = _text(literal)
    if checker.unit.constants.value(literal) != _FULL and ones not in (
        "~0u",
        "~0U",
        *names.FULL_NAMES,
    ):
        return False
    checker.report("GPL003", node.kids[0].token, f"{what} is made of 32 ones ({ones})")
    return True


def shifted_mask(checker: Checker, variable: Variable) -> None:
    """GPL003 in the declaration of what is a mask later."""
    if variable.initial is not None and variable.name in checker.mask_names:
        _report_shifted(checker, variable.initial, f"the mask '{variable.name}'")


def _text(literal: Node) -> str:
    """The spelling of a literal mask; empty if the node is none."""
    if literal.kind == "number":
        return literal.text
    if literal.kind == "unary" and literal.text in ("~", "-") and literal.kids[0].kind == "number":
        return literal.text + literal.kids[0].text
    return literal.text if literal.kind == "name" and literal.text in names.FULL_NAMES else ""


def _is_short(literal: Node) -> bool:
    number = literal.kids[0] if literal.kind == "unary" else literal
    value = integer(number.text) if number.kind == "number" else None
    return value is not None and "l" not in value[1] and value[0] <= _FULL


def mask_compare(checker: Checker, node: Node, _: tuple[Node, ...]) -> None:
    """GPL003 where a vote is compared with 32 ones."""
    if node.kind != "binary" or node.text not in ("==", "!="):
        return
    for mask, other in (node.kids, node.kids[::-1]):
        if checker.values.flags(mask) & (MASK | MASK32):
            _report_mask(checker, other, "what a vote is compared with", partial=False)


def mask_default(checker: Checker, variable: Variable) -> None:
    """GPL003 in a default argument."""
    if variable.initial is not None and "mask" in variable.name.lower():
        _report_mask(checker, variable.initial, f"the default of '{variable.name}'", partial=False)


def narrowed(checker: Checker, node: Node, _: tuple[Node, ...]) -> None:
    """GPL004 in a cast or an assignment."""
    aliases = checker.unit.aliases
    if node.kind == "cast":
        if (
            names.is_narrow(tuple(node.text.split(" ")), aliases)
            and checker.values.flags(node.kids[0]) & MASK
        ):
            checker.report("GPL004", node.token, f"a mask of lanes is cast to '{node.text}'")
    elif node.kind == "assign" and node.text in ("=", "&=", "|=", "^="):
        left = node.kids[0]
        if left.kind not in ("name", "member") or not checker.values.flags(node.kids[1]) & MASK:
            return
        known = checker.values.known.get(left.text) if left.kind == "name" else None
        variable = known.variable if known is not None else None
        if variable is None:
            variable = next(
                (v for v in checker.unit.variables if v.name == left.text and v.type), None
            )
        if variable is not None and names.is_narrow(variable.type, aliases):
            checker.report(
                "GPL004", left.token, f"a mask of lanes is kept in '{left.text}', which has 32 bits"
            )


def narrow_variable(checker: Checker, variable: Variable) -> None:
    """GPL004 in a declaration."""
    if variable.initial is None or variable.pointer or variable.bounds:
        return
    if checker.values.flags(variable.initial) & MASK and names.is_narrow(
        variable.type, checker.unit.aliases
    ):
        checker.report(
            "GPL004",
            variable.token,
            f"a mask of lanes is kept in '{variable.name}', which has 32 bits",
        )


def narrow_result(checker: Checker, value: Node) -> None:
    """GPL004 in a return statement."""
    result = checker.function.result
    if (
        checker.values.flags(value) & MASK
        and "*" not in result
        and names.is_narrow(result, checker.unit.aliases)
    ):
        checker.report(
            "GPL004",
            value.token,
            f"a mask of lanes is returned by '{checker.function.name}' in 32 bits",
        )


def bit_count(checker: Checker, node: Node, _: tuple[Node, ...]) -> None:
    """GPL005."""
    if node.kind != "call" or node.callee not in names.BIT_COUNTS or not node.arguments:
        return
    if checker.values.flags(node.arguments[0]) & (MASK | MASK32):
        wide = names.BIT_COUNTS[node.callee]
        checker.report(
            "GPL005",
            node.token,
            f"'{node.callee}' sees 32 bits of a mask of lanes; '{wide}' sees all",
        )


def mask_by_shift(checker: Checker, node: Node, parents: tuple[Node, ...]) -> None:
    """GPL011."""
    if node.kind != "binary" or node.text != "<<" or not _is_one(checker, node.kids[0]):
        return
    amount = node.kids[1]
    flags = checker.values.flags(amount)
    lane = flags & LANE or (flags & THREAD and _meets_mask(checker, parents))
    short = checker.values.is_narrow_one(node.kids[0])
    less_one = _is_less_one(checker, node, parents)
    if lane:
        if short:
            checker.report(
                "GPL011",
                node.kids[0].token,
                "a 32-bit 1 shifted by a lane number has no bit for lanes 32 to 63",
            )
        return
    if (
        not less_one
        or checker.unit.constants.value(amount) is not None
        or not _is_lane_mask(checker, node, parents)
    ):
        return
    if _is_guarded(checker, amount, parents):
        return
    checker.report(
        "GPL011",
        node.kids[0].token,
        "a mask by shift is wrong when the width is the number of bits of the type",
    )


def _is_one(checker: Checker, node: Node) -> bool:
    while node.kind == "cast" or (
        node.kind == "call" and len(node.arguments) == 1 and node.callee.endswith("mask_t")
    ):
        node = node.kids[-1]
    return checker.unit.constants.value(node) == 1


def _is_less_one(checker: Checker, node: Node, parents: tuple[Node, ...]) -> bool:
    for parent in reversed(parents):
        if parent.kind == "binary" and parent.text in ("-", "+"):
            sign = checker.unit.constants.value(parent.kids[1])
            return (parent.text, sign) in (("-", 1), ("+", -1))
        if parent.kind != "cast":
            return False
    return False


def _meets_mask(checker: Checker, parents: tuple[Node, ...]) -> bool:
    """Whether a value is combined with a mask of lanes."""
    return any(
        p.kind == "binary" and p.text == "&" and checker.values.flags(p) & (MASK | MASK32)
        for p in parents
    )


def _is_lane_mask(checker: Checker, node: Node, parents: tuple[Node, ...]) -> bool:
    """Whether the mask is one of lanes: by what it is combined with, where it goes, or what it is
    called.
    """
    call = next((p for p in reversed(parents) if p.kind == "call"), None)
    if (call is not None and call.callee in names.MASKED) or _meets_mask(checker, parents):
        return True
    if checker.target in checker.mask_names:
        return True
    words = {n.text for n in node.kids[1].walk() if n.kind in ("name", "member")}
    grouped = any(names.GROUP.match(word) or word == "warpSize" for word in words)
    if grouped and (names.MASK.match(checker.target) or checker.warp_work):
        return True
    return any(names.WIDTH.match(word) for word in words)


def _is_guarded(checker: Checker, amount: Node, parents: tuple[Node, ...]) -> bool:
    """Whether a condition around asks for the width first."""
    words = {n.text for n in amount.walk() if n.kind in ("name", "member")}
    conditions = [p.kids[0] for p in parents if p.kind == "conditional"] + checker.conditions
    return any(n.text in words for c in conditions for n in c.walk())
