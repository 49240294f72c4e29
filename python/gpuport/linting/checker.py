"""Walks a function in the order of its text and asks the rules at each place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from . import names
from .syntax import Function, Node, Statement, Variable
from .unit import Unit
from .values import IN_WARP, INDEX, LANE, VARIES, WARP, Values

_FULL_WARP = " full warp"  # stands for a call of an operation on all lanes; no name of a function
Report = Callable[[str, int, str, int], None]


class Facts:
    """What is known of the functions of a file before the rules run."""

    def __init__(self, unit: Unit) -> None:
        self.results: dict[str, int] = {}
        self.groups: set[str] = set()  # shuffle within groups whose size is a template argument
        callees: dict[str, list[set[str]]] = {}  # of each function of a name
        for function in unit.functions:
            called = {call.callee for call in function.calls()}
            called |= {_FULL_WARP for call in function.calls() if is_full_warp(unit, call)}
            callees.setdefault(function.name, []).append(called)
        self.warp = _callers(callees, names.WARP_OPERATIONS, any)
        # Overloads are not told apart: of two with one name, one may be right where the other is
        # not.
        self.full_warp = _callers(callees, frozenset([_FULL_WARP]), all)
        self.barrier = _callers(callees, names.BLOCK_BARRIERS, all)
        for function in unit.functions:
            if function.name in self.warp and set(function.template) & set(_group_sizes(function)):
                self.groups.add(function.name)
        for _ in range(2):
            for function in unit.functions:
                self._result(unit, function)

    def _result(self, unit: Unit, function: Function) -> None:
        if function.macro:
            roots = [s.expressions[0] for s in function.body if s.kind == "expression"]
            if len(function.body) == 1 and roots:
                self.results[function.name] = Values(unit, self.results).flags(roots[0])
            return
        flags = 0
        values = Values(unit, self.results)
        for variable in function.parameters:
            values.declare(variable, parameter=True)
        for statement in function.statements():
            if statement.variable is not None:
                values.declare(statement.variable)
            elif statement.kind == "return" and statement.expressions:
                flags |= values.flags(statement.expressions[0])
        if "bool" in function.result:
            flags &= VARIES
        if function.result[-1:] == ("*",):
            flags = 0
        if not flags & (INDEX | WARP) and not (flags & LANE and flags & IN_WARP):
            # As far as anybody can tell the same for all: a total, a vote, the lane elected.
            flags &= ~VARIES
        self.results[function.name] = self.results.get(function.name, 0) | (
            flags if flags & ~VARIES else 0
        )


def _callers(
    callees: dict[str, list[set[str]]],
    operations: frozenset[str],
    of_overloads: Callable[[Iterable[bool]], bool],
) -> set[str]:
    """Names of functions that do one of the operations, themselves or through others here."""
    found: set[str] = set()
    for _ in range(5):
        known = operations | found
        found |= {
            name
            for name, overloads in callees.items()
            if of_overloads(bool(o & known) for o in overloads)
        }
    return found


def _group_sizes(function: Function) -> Iterator[str]:
    """Names that are the width of a shuffle, or half of which is where a loop starts."""
    for call in function.calls():
        if call.callee in names.SHUFFLES and call.arguments:
            yield call.arguments[-1].text
    for statement in function.statements():
        initial = statement.variable.initial if statement.variable is not None else None
        if initial is not None and initial.kind == "binary" and initial.text in ("/", ">>"):
            yield initial.kids[0].text


def is_full_warp(unit: Unit, call: Node) -> bool:
    """Whether a call is a warp operation that names all lanes by a literal."""
    if call.callee not in names.MASKED or call.callee == "__syncwarp" or not call.arguments:
        return False
    mask = unit.constants.literal(call.arguments[0])
    if mask.kind == "unary" and mask.text in ("~", "-"):
        return True
    return unit.constants.value(mask) in (0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF)


class Loop(NamedTuple):
    """A loop over a variable: where it starts and what ends it."""

    initial: Node | None
    condition: Node | None


class Checker:
    """The state of the walk. Rules read it; `report` takes a token."""

    def __init__(self, unit: Unit, function: Function, facts: Facts, report: Report) -> None:
        self.unit = unit
        self.function = function
        self.facts = facts
        self.values = Values(unit, facts.results)
        self.loops: dict[str, Loop] = {}
        self.branches: list[int] = []  # flags of the conditions around
        self.conditions: list[Node] = []  # the conditions themselves
        self.gone = 0  # flags of the conditions under which threads have left
        self.target = function.name  # the name that the value being looked at goes to
        self.index_uses: dict[str, int] = {}  # of shared arrays: flags of what indexes them
        self.shared: list[Variable] = []
        self.warp_work = function.name in facts.warp
        self.mask_names = {  # variables that are the mask of a warp operation
            name for call in function.calls() for name in self._masks_of(call)
        }
        self._report = report

    def _masks_of(self, call: Node) -> list[str]:
        """What a call takes for masks of lanes, by name."""
        if call.callee in names.MASKED:
            return [argument.text for argument in call.arguments[:1]]
        called = self.unit.by_name.get(call.callee)
        if called is None or called.macro or called.name not in self.facts.warp:
            return []
        pairs = zip(called.parameters, call.arguments, strict=False)
        return [argument.text for parameter, argument in pairs if "mask" in parameter.name.lower()]

    def report(self, rule: str, token: int, message: str, length: int | None = None) -> None:
        tokens = self.unit.tokens
        self._report(
            rule,
            tokens.start[token],
            message,
            len(tokens.text[token]) if length is None else length,
        )

    @property
    def divergence(self) -> int:
        """How the threads that are here may differ: IN_BLOCK, IN_WARP."""
        flags = self.gone
        for branch in self.branches:
            flags |= branch
        return flags & VARIES

    def run(self, rules: Rules) -> None:
        for variable in self.function.parameters:
            self.values.declare(variable, parameter=True)
            if variable.initial is not None:
                rules.parameter(self, variable)
        self._statements(self.function.body, rules)
        rules.function(self)

    def _statements(self, body: list[Statement], rules: Rules) -> None:
        for statement in body:
            self._statement(statement, rules)

    def _statement(self, statement: Statement, rules: Rules) -> None:
        match statement.kind:
            case "declaration" if statement.variable is not None:
                self._declaration(statement.variable, rules)
            case "if":
                self._if(statement, rules)
            case "for" | "while" | "do":
                self._loop(statement, rules)
            case "return":
                self.target = self.function.name
                for value in statement.expressions:
                    rules.returned(self, value)
                    self.expression(value, rules)
            case "switch":
                self._inside(statement.expressions[:1], statement.body, rules)
            case _:
                for value in statement.expressions:
                    self.target = _target(value)
                    self.expression(value, rules)
                self._statements(statement.body, rules)

    def _declaration(self, variable: Variable, rules: Rules) -> None:
        for bound in variable.bounds:
            self.expression(bound, rules)
        self.target = variable.name
        rules.declaration(self, variable)
        if variable.initial is not None:
            self.expression(variable.initial, rules)
        self.values.declare(variable)
        if variable.shared:
            self.shared.append(variable)

    def _if(self, statement: Statement, rules: Rules) -> None:
        condition = statement.expressions[:1]
        rules.branch(self, statement)
        inner = [s for s in statement.body if s.kind != "declaration"]
        for node in condition:
            self.target = ""
            self.expression(node, rules)
        flags = self._flags(condition)
        self._branch(flags, condition, statement.body, rules)
        self._branch(flags, condition, statement.orelse, rules)
        if flags and (_leaves(inner) != _leaves(statement.orelse)):
            self.gone |= flags

    def _loop(self, statement: Statement, rules: Rules) -> None:
        gone = self.gone
        head = statement.body[:-1] if statement.kind == "for" else []
        body = statement.body[-1:] if statement.kind == "for" else statement.body
        for inner in head:
            self._statement(inner, rules)
            if inner.variable is not None:
                condition = statement.expressions[0] if statement.expressions else None
                self.loops[inner.variable.name] = Loop(inner.variable.initial, condition)
        for step in statement.expressions[1:]:
            self._step(step)
        for node in statement.expressions:
            self.target = _target(node)
            self.expression(node, rules)
        self._branch(self._flags(statement.expressions[:1]), statement.expressions[:1], body, rules)
        self.gone = gone

    def _step(self, step: Node) -> None:
        """A variable that strides by more than the block is an index of the data from then on."""
        for node in step.walk():
            if node.kind == "assign" and node.kids[0].kind == "name":
                self.values.assign(node.kids[0].text, node.text, node.kids[1])

    def _inside(self, condition: list[Node], body: list[Statement], rules: Rules) -> None:
        for node in condition:
            self.expression(node, rules)
        self._branch(self._flags(condition), condition, body, rules)

    def _flags(self, nodes: list[Node]) -> int:
        flags = 0
        for node in nodes:
            flags |= self.values.flags(node)
        return flags & VARIES

    def _branch(
        self, flags: int, condition: list[Node], body: list[Statement], rules: Rules
    ) -> None:
        if not body:
            return
        self.branches.append(flags)
        self.conditions.extend(condition[:1])
        gone = self.gone
        self._statements(body, rules)
        if flags:  # who left inside a divergent branch is accounted for by the branch itself
            self.gone = gone
        if condition:
            self.conditions.pop()
        self.branches.pop()

    def expression(self, node: Node, rules: Rules, parents: tuple[Node, ...] = ()) -> None:
        """Asks the rules about an expression and everything in it."""
        rules.node(self, node, parents)
        if node.kind == "lambda":
            outer = (self.gone, self.target)
            self._statements(node.body, rules)
            self.gone, self.target = outer
            return
        if node.kind == "code":
            self._statements(node.body, rules)
            return
        below = (*parents, node)
        if node.kind == "conditional" or (node.kind == "binary" and node.text in ("&&", "||")):
            self.expression(node.kids[0], rules, below)
            self.branches.append(self.values.flags(node.kids[0]) & VARIES)
            self.conditions.append(node.kids[0])
            for kid in node.kids[1:]:
                self.expression(kid, rules, below)
            self.conditions.pop()
            self.branches.pop()
        else:
            for kid in node.kids:
                self.expression(kid, rules, below)
        if node.kind == "assign" and _is_variable(node.kids[0]):
            self.values.assign(node.kids[0].text, node.text, node.kids[1])
        elif node.kind == "index" and node.kids[0].kind == "name":
            for index in node.kids[1:]:
                self.index_uses[node.kids[0].text] = self.index_uses.get(
                    node.kids[0].text, 0
                ) | self.values.flags(index)


class Rules:
    """The places at which rules are asked; see `checks`."""

    def __init__(
        self,
        node: list[Callable[[Checker, Node, tuple[Node, ...]], None]],
        declaration: list[Callable[[Checker, Variable], None]],
        parameter: list[Callable[[Checker, Variable], None]],
        returned: list[Callable[[Checker, Node], None]],
        branch: list[Callable[[Checker, Statement], None]],
        function: list[Callable[[Checker], None]],
    ) -> None:
        self._node, self._declaration, self._parameter = node, declaration, parameter
        self._returned, self._branch, self._function = returned, branch, function

    def node(self, checker: Checker, node: Node, parents: tuple[Node, ...]) -> None:
        for rule in self._node:
            rule(checker, node, parents)

    def declaration(self, checker: Checker, variable: Variable) -> None:
        for rule in self._declaration:
            rule(checker, variable)

    def parameter(self, checker: Checker, variable: Variable) -> None:
        for rule in self._parameter:
            rule(checker, variable)

    def returned(self, checker: Checker, value: Node) -> None:
        for rule in self._returned:
            rule(checker, value)

    def branch(self, checker: Checker, statement: Statement) -> None:
        for rule in self._branch:
            rule(checker, statement)

    def function(self, checker: Checker) -> None:
        for rule in self._function:
            rule(checker)


def _is_variable(node: Node) -> bool:
    """A name, or `this->name`; a member of another object has a name of its own."""
    return node.kind == "name" or (node.kind == "member" and node.kids[0].text == "this")


def _target(node: Node) -> str:
    """The name that an assignment gives a value to."""
    if node.kind != "assign":
        return ""
    left = node.kids[0]
    while left.kind in ("index", "member") and left.kids:
        if left.kind == "member":
            return left.text
        left = left.kids[0]
    return left.text if left.kind == "name" else ""


def _leaves(body: list[Statement]) -> bool:
    """Whether the statements of a branch end by leaving it for good."""
    if not body:
        return False
    last = body[-1]
    if last.kind == "block":
        return _leaves(last.body)
    return last.kind in ("return", "jump")
