"""Rules about literals of one warp width in the arithmetic of lanes and threads."""

from __future__ import annotations

from . import names
from .checker import Checker
from .constants import Constants
from .syntax import Node, Statement, Variable, expressions_of
from .values import GLOBAL, INDEX, LANE, THREADS, WARP

_COMPARE = frozenset(["==", "!=", "<", ">", "<=", ">="])
_WIDTHS = (32, 64)
_LAST = (31, 63)


_WRITTEN = Constants()  # with no names in it: what has a value here is written out in numbers


def _literal(node: Node) -> int | None:
    """The value of a number, or of an expression of numbers such as `32 - 1`."""
    return _WRITTEN.value(node)


def _named(checker: Checker, node: Node, values: tuple[int, ...]) -> bool:
    """Notes a constant of the file that is used as a width (GPL018)."""
    name = next((n for n in node.walk() if n.kind == "name"), None)
    constant = checker.unit.constants.find(name.text) if name is not None else None
    if constant is None or checker.unit.constants.value(node) not in values:
        return False
    value = checker.unit.constants.value(constant.value)
    if value in (32, 64, 5, 6, 31, 63) and (
        names.WIDTH.match(constant.name)
        or names.LOG_WIDTH.match(constant.name)
        or not names.TILE.match(constant.name)
    ):
        checker.unit.widths.setdefault(constant.name, constant)
    return True


def thread_index(checker: Checker, node: Node, parents: tuple[Node, ...]) -> None:
    """GPL007."""
    if node.kind not in ("binary", "assign"):
        return
    operator = node.text.rstrip("=") if node.kind == "assign" else node.text
    values = {"%": _WIDTHS, "/": _WIDTHS, "&": _LAST, ">>": (5, 6)}.get(operator)
    if values is None:
        return
    left, right = node.kids
    flags = checker.values.flags(left)
    if not flags & INDEX or flags & LANE:
        return
    value = _literal(right)
    if value not in values:
        if (
            checker.warp_work
            or names.LANE.match(checker.target)
            or names.WARP.match(checker.target)
        ):
            _named(checker, right, values)
        return
    named = names.LANE.match(checker.target) or names.WARP.match(checker.target)
    doubtful = flags & GLOBAL or value in (64, 63, 6)
    if not (named or checker.warp_work) and (
        doubtful or _is_tile(checker) or _is_word_index(checker)
    ):
        return
    what = "lane" if operator in ("%", "&") else "warp"
    checker.report(
        "GPL007",
        right.token,
        f"'{operator} {value}' of a thread index is its {what} at one width only",
    )


def _is_tile(checker: Checker) -> bool:
    """Whether the function works on two-dimensional tiles in shared memory, with no operation of a
    warp.
    """
    return any(len(variable.bounds) >= 2 for variable in checker.shared)


def _is_word_index(checker: Checker) -> bool:
    """Whether the function packs bits into 32-bit words: `1 << (i % 32)`."""
    return any(
        node.kind == "binary"
        and node.text in ("<<", ">>")
        and node.kids[1].kind == "binary"
        and node.kids[1].text in ("%", "&")
        for node in expressions_of(checker.function.body)
    )


def lane_arithmetic(checker: Checker, node: Node, parents: tuple[Node, ...]) -> None:
    """GPL001, but for branches."""
    if node.kind != "binary":
        return
    operator = node.text
    for this, other in (node.kids, node.kids[::-1]):
        value = _literal(other)
        flags = checker.values.flags(this)
        if value is None:
            if flags & LANE and operator in _COMPARE:
                _named(checker, other, (31, 32, 63, 64))
            continue
        if flags & LANE and operator in (*_COMPARE, "-", "^") and value in (31, 32, 63, 64):
            checker.report("GPL001", other.token, f"a lane number and a literal {value}")
        elif flags & WARP and operator == "*" and value in _WIDTHS:
            checker.report("GPL001", other.token, f"a warp number times a literal {value}")
        elif this is node.kids[0] and flags & WARP and operator == "<<" and value in (5, 6):
            checker.report("GPL001", other.token, f"a warp number shifted by a literal {value}")
        elif (
            this is node.kids[0]
            and flags & THREADS
            and (checker.warp_work or "warp" in checker.target.lower())
        ):
            if (operator == "/" and value in _WIDTHS) or (operator == ">>" and value in (5, 6)):
                checker.report("GPL001", other.token, f"the number of warps by a literal {value}")
        else:
            continue
        return


def warp_branch(checker: Checker, statement: Statement) -> None:
    """GPL001: `if (threadIdx.x < 32)` around what a warp does together."""
    for condition in statement.expressions[:1]:
        for node in condition.walk():
            if node.kind != "binary" or node.text not in ("<", ">=", "<=", ">"):
                continue
            for this, other in (node.kids, node.kids[::-1]):
                value = _literal(other)
                if value not in (31, 32, 63, 64):
                    continue
                flags = checker.values.flags(this)
                if flags & INDEX and not flags & LANE and _works_as_warp(checker, statement):
                    checker.report(
                        "GPL001",
                        other.token,
                        f"a branch for the first {value} threads, around what a warp does together",
                    )


def _works_as_warp(checker: Checker, statement: Statement) -> bool:
    for node in expressions_of(statement.body):
        if node.kind == "call" and (
            node.callee in names.WARP_OPERATIONS
            or node.callee in checker.facts.warp
            or "warp" in node.callee.lower()
        ):
            return True
    return False


def shuffle(checker: Checker, node: Node, _: tuple[Node, ...]) -> None:
    """GPL002, and GPL016 for the width."""
    if node.kind != "call" or node.callee not in names.SHUFFLES:
        return
    arguments = node.arguments[1:] if node.callee.endswith("_sync") else node.arguments
    if len(arguments) < 2:
        return
    where, width = arguments[1], arguments[2] if len(arguments) > 2 else None
    group = checker.values.number(width) if width is not None else None
    if width is not None:
        value = _literal(width)
        if value in _WIDTHS:
            checker.report(
                "GPL002", width.token, f"the width of '{node.callee}' is a literal {value}"
            )
        elif value is not None and (value <= 0 or value & (value - 1)):
            checker.report(
                "GPL016", width.token, f"the width of '{node.callee}' is {value}, no power of two"
            )
        elif value is None:
            _named(checker, width, _WIDTHS)
    if width is not None and group not in _WIDTHS:
        _group_tree(checker, where)
        return
    kind = node.callee.removesuffix("_sync")
    value = _literal(where)
    if kind == "__shfl":
        if value in _LAST:
            checker.report(
                "GPL002", where.token, f"source lane {value} is the last lane at one width only"
            )
    elif value in (16, 32) and not _asks_for_group(checker):
        checker.report(
            "GPL002", where.token, f"a shuffle by {value} lanes is half a warp at one width only"
        )
    elif value is None:
        _offset(checker, where)


def _asks_for_group(checker: Checker) -> bool:
    """Whether a condition around asks how many lanes the group has."""
    return any(
        n.kind in ("name", "member") and names.GROUP_SIZE.match(n.text)
        for condition in checker.conditions
        for n in condition.walk()
    )


def _start(checker: Checker, where: Node) -> Node | None:
    """What the offset of a shuffle starts at, where it is a variable."""
    loop = checker.loops.get(where.text)
    if loop is not None:
        return loop.initial
    known = checker.values.known.get(where.text)
    return known.literal if known is not None else None


def _group_tree(checker: Checker, where: Node) -> None:
    """GPL016 for a tree that starts at half a group."""
    if where.kind == "cast":
        where = where.kids[0]
    start = _start(checker, where) if where.kind == "name" else None
    if start is not None and start.kind == "binary" and start.text in ("/", ">>"):
        if not _named(checker, start, (16, 32)):
            _unrefused_group(checker, start.kids[0])


def _offset(checker: Checker, where: Node) -> None:
    """The offset of a shuffle is a loop variable: where does the loop start, what ends it."""
    if where.kind == "cast":
        where = where.kids[0]
    if where.kind != "name":
        return
    start = _start(checker, where)
    if start is not None:
        value = _literal(start)
        if value in (16, 32):
            checker.report(
                "GPL002", start.token, f"a tree of shuffles that starts at {value} is for one width"
            )
            return
        if start.kind != "binary":
            _named(checker, start, (16, 32))
    _group_tree(checker, where)
    loop = checker.loops.get(where.text)
    condition = loop.condition if loop is not None else None
    if condition is not None and condition.kind == "binary" and condition.text in ("<", "<="):
        limit = condition.kids[1]
        if _literal(limit) == (32 if condition.text == "<" else 16) or (
            condition.text == "<" and _literal(limit) == 64
        ):
            checker.report(
                "GPL002",
                limit.token,
                f"a tree of shuffles that ends at {limit.text} is for one width",
            )
        elif condition.text == "<":
            _named(checker, limit, _WIDTHS)


def _unrefused_group(checker: Checker, width: Node) -> None:
    """GPL016: a parameter that is a group size, where nothing asks whether it is a power of two."""
    if width.kind != "name" or names.WIDTH.match(width.text) or width.text == "warpSize":
        return
    name = width.text
    function = checker.function
    if name not in function.template and name not in {p.name for p in function.parameters}:
        return
    if function.scope or checker.unit.refuses(name):
        return
    checker.report("GPL016", width.token, f"nothing refuses a '{name}' that is no power of two")


def group_template(checker: Checker, node: Node, _: tuple[Node, ...]) -> None:
    """GPL016: a tile of cooperative groups, or a group template of the file, of 7 lanes."""
    if node.template is None:
        return
    tokens = checker.unit.tokens
    first, last = node.template
    if last - first != 1 or tokens.kind[first] != "number":
        return
    value = _literal(Node("number", tokens.text[first], first))
    if value is None or (value > 0 and not value & (value - 1)):
        return
    wrapper = checker.unit.by_name.get(node.text)
    group = "tiled_partition" in node.text or node.text == "thread_block_tile"
    if group or (wrapper is not None and wrapper.name in checker.facts.groups):
        checker.report("GPL016", first, f"a group of {value} lanes: no power of two")


def shared_bound(checker: Checker, variable: Variable) -> None:
    """GPL008 where the bound divides by a literal."""
    if not variable.shared:
        return
    for bound in variable.bounds:
        constant = checker.unit.constants.find(bound.text) if bound.kind == "name" else None
        expression = bound if constant is None else constant.value
        for node in expression.walk():
            if node.kind != "binary" or node.text not in ("/", ">>"):
                continue
            values = _WIDTHS if node.text == "/" else (5, 6)
            value = _literal(node.kids[1])
            if value in values:
                threads = 32 if value in (32, 5) else 64
                at = node.kids[1].token if constant is None else bound.token
                checker.report(
                    "GPL008", at, f"'{variable.name}' has one element for each {threads} threads"
                )
            else:
                _named(checker, node.kids[1], values)


def shared_index(checker: Checker) -> None:
    """GPL008 where an array of 32 is indexed by lane or warp."""
    for variable in checker.shared:
        if len(variable.bounds) != 1 or _literal(variable.bounds[0]) not in _WIDTHS:
            continue
        uses = checker.index_uses.get(variable.name, 0)
        if uses & (LANE | WARP):
            by = "warp" if uses & WARP else "lane"
            checker.report(
                "GPL008",
                variable.bounds[0].token,
                f"'{variable.name}' is indexed by {by} and sized for one width",
            )


def width_default(checker: Checker, variable: Variable) -> None:
    """GPL002 in a default argument: `int width = 32` of a function that shuffles."""
    if variable.initial is None or not checker.warp_work or not names.GROUP.match(variable.name):
        return
    if _literal(variable.initial) in _WIDTHS and not variable.pointer:
        checker.report(
            "GPL002", variable.initial.token, f"the default of '{variable.name}' is one width"
        )
