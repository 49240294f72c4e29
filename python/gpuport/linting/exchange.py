"""GPL010: shared memory that goes from thread to thread with nothing in between.

Goes through a function in the order of execution, each loop twice, and keeps what was written and
read since the last barrier. An access is compared by the text of its index; only an index that is
linear in the thread, the lane or the warp, or a place that one thread writes for all, counts as an
exchange. A call that is not known counts as a barrier.
"""

from __future__ import annotations

import re

from . import names
from .accesses import Access, is_exchange, is_reuse
from .checker import Checker
from .syntax import Node, Statement, Variable, expressions_of
from .values import IN_BLOCK, INDEX, LANE, WARP

_LINEAR = INDEX | LANE | WARP
_SHARED_NAME = re.compile(
    r"s_?(?:data|mem|hmem|hared|cratch)|shared|smem|shmem|scratch", re.IGNORECASE
)
_HARMLESS = re.compile(
    r"(?:atomic\w*|min|max|abs|f(?:abs|max|min|ma|mod|loor|loat|loat2half)f?|exp2?f?|expm1f?|logf?|log2f?|r?sqrtf?|pow[fi]?|"
    r"sinf?|cosf?|tanhf?|ceilf?|roundf?|make_\w+|is\w+|static_assert|printf|assert|swap|combine|identity|lift|apply|move|"
    r"[iu]?int\d*(?:_t)?|size|data|begin|value|unroll)\Z"
)
_BARRIER = re.compile(r"sync|barrier|wait|arrive|fence_proxy", re.IGNORECASE)


class _State:
    def __init__(self) -> None:
        self.written: dict[str, list[Access]] = {}
        self.read: dict[str, list[Access]] = {}
        self.synced = False

    def copy(self) -> _State:
        other = _State()
        other.written = {k: list(v) for k, v in self.written.items()}
        other.read = {k: list(v) for k, v in self.read.items()}
        return other

    def clear(self) -> None:
        self.written.clear()
        self.read.clear()
        self.synced = True

    def add(self, other: _State) -> None:
        for mine, theirs in ((self.written, other.written), (self.read, other.read)):
            for name, accesses in theirs.items():
                known = mine.setdefault(name, [])
                known += [access for access in accesses if access not in known]


class Exchange:
    """The pass over one function."""

    def __init__(self, checker: Checker) -> None:
        self._checker = checker
        self._values = checker.values
        self._state = _State()
        self._guard: tuple[int, ...] = ()
        self._single = False
        # Indices by another spelling: 0 is the thread's own where its index is 0.
        self._own: dict[str, str] = {}
        # (index of the thread, what is less, which entry of a branch says so)
        self._above: frozenset[tuple[str, str, int]] = frozenset()
        self._entries = 0
        self._statement = 0
        self._arrays = _shared_names(checker)
        self._done: set[tuple[str, int]] = set()

    def run(self) -> None:
        if self._arrays:
            self._body(self._checker.function.body)

    def _body(self, body: list[Statement]) -> None:
        for statement in body:
            self._one(statement)

    def _one(self, statement: Statement) -> None:
        self._statement = statement.token
        if statement.kind == "declaration" and statement.variable is not None:
            if statement.variable.initial is not None:
                self._expression(statement.variable.initial)
        elif statement.kind in ("for", "while", "do"):
            head = statement.body[:-1] if statement.kind == "for" else []
            body = statement.body[-1:] if statement.kind == "for" else statement.body
            self._body(head)
            for _ in range(2):
                for node in statement.expressions[:1]:
                    self._expression(node)
                self._branch(statement, body)
                for node in statement.expressions[1:]:
                    self._expression(node)
        elif statement.kind == "if":
            for node in statement.expressions[:1]:
                self._expression(node)
            before = self._state
            after = []
            for body in (statement.body, statement.orelse):
                self._state = before.copy()
                self._branch(statement, body)
                after.append(self._state)
            first, second = after
            synced = before.synced or first.synced or second.synced
            if (
                first.synced != second.synced
            ):  # both ways meet again behind one barrier, as far as can be seen
                self._state = first if first.synced else second
            else:
                first.add(second)
                self._state = first
            self._state.synced = synced
        elif statement.kind == "return" and not self._guard:
            for node in statement.expressions:
                self._expression(node)
            self._state.clear()
        else:
            for node in statement.expressions:
                self._expression(node)
            self._body(statement.body)

    def _branch(self, statement: Statement, body: list[Statement]) -> None:
        guard, single, own, above = self._guard, self._single, self._own, self._above
        condition = statement.expressions[0] if statement.expressions else None
        self._entries += 1
        if condition is not None and body is not statement.orelse:
            self._above |= self._orders(condition)
        if condition is not None and self._values.flags(condition) & IN_BLOCK:
            self._guard = (*guard, statement.token)
            self._single = single or any(
                n.kind == "binary" and n.text == "==" for n in condition.walk()
            )
            if body is not statement.orelse:
                self._own = {**own, **self._equalities(condition)}
        self._body(body)
        self._guard, self._single, self._own, self._above = guard, single, own, above

    def _orders(self, condition: Node) -> frozenset[tuple[str, str, int]]:
        """What a condition says to be less than an index of the thread, or than what is."""
        if condition.kind == "binary" and condition.text == "&&":
            return frozenset().union(*(self._orders(kid) for kid in condition.kids))
        if condition.kind != "binary" or condition.text not in ("<", "<=", ">", ">="):
            return frozenset()
        less, more = condition.kids if condition.text[0] == "<" else condition.kids[::-1]
        small, large = self._text(less), self._text(more)
        if self._is_linear(more) and "=" not in condition.text:
            return frozenset({(large, small, self._entries)})
        return frozenset((index, small, at) for index, other, at in self._above if other == large)

    def _equalities(self, condition: Node) -> dict[str, str]:
        """What a condition says to be the index of the thread, with how that is spelled."""
        if condition.kind == "binary" and condition.text == "&&":
            return {k: v for kid in condition.kids for k, v in self._equalities(kid).items()}
        if condition.kind == "unary" and condition.text == "!":
            index = condition.kids[0]
            return {"0": self._text(index)} if self._is_linear(index) else {}
        if condition.kind != "binary" or condition.text != "==":
            return {}
        for index, other in (condition.kids, condition.kids[::-1]):
            if self._is_linear(index) and not self._is_linear(other):
                return {self._text(other): self._text(index)}
        return {}

    def _expression(self, node: Node) -> None:
        if node.kind == "assign":
            left, right = node.kids
            self._expression(right)
            name = self._array(left)
            if name:
                for index in _indices(left):
                    self._expression(index)
                if node.text != "=":
                    self._access(name, left, read=True)
                self._access(name, left, read=False)
            else:
                self._expression(left)
        elif node.kind in ("index", "name") and self._array(node):
            for index in _indices(node):
                self._expression(index)
            self._access(self._array(node), node, read=True)
        elif node.kind == "unary" and node.text == "&":
            return
        elif node.kind == "call":
            for argument in node.arguments:
                self._expression(argument)
            self._call(node)
        else:
            for kid in node.kids:
                self._expression(kid)
            if node.kind == "code":
                self._body(node.body)
            elif node.body:  # a lambda runs some other time
                state, self._state = self._state, _State()
                self._body(node.body)
                self._state = state

    def _call(self, node: Node) -> None:
        name = node.callee
        facts = self._checker.facts
        if name in facts.barrier or _BARRIER.search(name):
            self._state.clear()
        elif (
            name in self._checker.unit.by_name
            or name in names.WARP_OPERATIONS
            or name in names.BIT_COUNTS
        ):
            return
        elif not (_HARMLESS.match(name) or name.startswith("__") or name in self._values.known):
            self._state.clear()

    def _array(self, node: Node) -> str:
        """The shared array or object that an expression is an element of; empty if it is none."""
        scalar = node.kind == "name"
        while node.kind == "index":
            node = node.kids[0]
        if node.kind != "name" or node.text not in self._arrays:
            return ""
        return "" if scalar and self._arrays[node.text] else node.text

    def _access(self, name: str, node: Node, *, read: bool) -> None:
        indices = _indices(node)
        texts = [self._own.get(text, text) for text in map(self._text, indices)]
        linear = [self._is_linear(index) for index in indices]
        parts = [
            text if at == 0 or is_linear else ""
            for at, (text, is_linear) in enumerate(zip(texts, linear, strict=True))
        ]
        access = Access(
            "][".join(texts),
            tuple(parts) if len(parts) > 1 else (),
            any(linear),
            self._guard,
            self._single,
            self._statement,
            node.token if node.kind == "name" else _base(node).token,
            self._above,
        )
        if read:
            for write in self._state.written.get(name, ()):
                if is_exchange(write, access):
                    self._report(
                        name,
                        access,
                        "read here, written by another thread, with no barrier in between",
                    )
            self._state.read.setdefault(name, []).append(access)
        else:
            for earlier in self._state.read.get(name, ()):
                if is_reuse(earlier, access):
                    self._report(
                        name,
                        access,
                        "written here before all threads have read it: no barrier in between",
                    )
            self._state.written.setdefault(name, []).append(access)

    def _report(self, name: str, access: Access, what: str) -> None:
        if (name, access.token) not in self._done:
            self._done.add((name, access.token))
            self._checker.report("GPL010", access.token, f"'{name}' is {what}")

    def _is_linear(self, index: Node) -> bool:
        if self._values.flags(index) & _LINEAR:
            return True
        known = self._values.known.get(index.text) if index.kind == "name" else None
        initial = (
            known.variable.initial if known is not None and known.variable is not None else None
        )
        return initial is not None and bool(self._values.flags(initial) & INDEX)

    def _text(self, node: Node) -> str:
        """A spelling of an index in which names of the plain thread index are the same."""
        if node.kind == "name":
            known = self._values.known.get(node.text)
            initial = (
                known.variable.initial if known is not None and known.variable is not None else None
            )
            if initial is not None and initial.kind in ("member", "cast"):
                return self._text(initial)
            return node.text
        if node.kind == "cast":
            return self._text(node.kids[0])
        return (
            f"{node.text}({','.join(self._text(kid) for kid in node.kids)})"
            if node.kids
            else node.text
        )


def _indices(node: Node) -> list[Node]:
    indices: list[Node] = []
    while node.kind == "index":
        indices = node.kids[1:] + indices
        node = node.kids[0]
    return indices


def _base(node: Node) -> Node:
    while node.kind == "index":
        node = node.kids[0]
    return node


def _shared_names(checker: Checker) -> dict[str, bool]:
    """Names of shared objects, true for arrays and pointers; `volatile` ones have a finding of
    their own.
    """
    found: dict[str, bool] = {}
    variables = [s.variable for s in checker.function.statements() if s.variable is not None]
    for variable in variables:
        if variable.shared and "volatile" not in variable.type:
            # An object of a class may bring its own barriers.
            plain = bool(variable.bounds) or any(
                w in ("int", "unsigned", "float", "double", "bool", "T") for w in variable.type
            )
            if plain:
                found[variable.name] = bool(variable.bounds) or "extern" in variable.type
    for variable in variables:
        if variable.pointer and variable.initial is not None and "volatile" not in variable.type:
            if any(n.kind == "name" and n.text in found for n in variable.initial.walk()):
                found[variable.name] = True
    for parameter in checker.function.parameters:
        if (
            parameter.pointer
            and "volatile" not in parameter.type
            and _SHARED_NAME.search(parameter.name)
        ):
            found[parameter.name] = True
    return found


def exchange(checker: Checker) -> None:
    """GPL010 between reads and writes."""
    Exchange(checker).run()


def volatile_exchange(checker: Checker) -> None:
    """GPL010 through `volatile`."""
    variables: list[Variable] = list(checker.function.parameters)
    variables += [s.variable for s in checker.function.statements() if s.variable is not None]
    for variable in variables:
        if "volatile" not in variable.type or not (variable.pointer or variable.shared):
            continue
        shared = (
            variable.shared or _SHARED_NAME.search(variable.name) or _from_shared(checker, variable)
        )
        if (
            shared
            and checker.index_uses.get(variable.name, 0) & _LINEAR
            and _is_written(checker, variable.name)
        ):
            checker.report(
                "GPL010",
                variable.token,
                f"'{variable.name}' is exchanged between threads through volatile",
            )


def _from_shared(checker: Checker, variable: Variable) -> bool:
    shared = {v.name for v in checker.shared}
    return variable.initial is not None and any(n.text in shared for n in variable.initial.walk())


def _is_written(checker: Checker, name: str) -> bool:
    return any(
        node.kind == "assign" and node.kids[0].kind == "index" and _base(node.kids[0]).text == name
        for node in expressions_of(checker.function.body)
    )
