"""The tree of a function body: as much of C++ as it takes to see where values of threads and lanes
go.
"""

from __future__ import annotations

from collections.abc import Iterator

MOST_DEPTH = 300


class Node:
    """An expression.

    `kind` is one of: number, name, string, unary, binary, assign, conditional, call, index, member,
    cast, braces, lambda, code (statements where an expression was expected), other. `text` is the
    operator, the name, the literal, or the type of a cast; `name` also of the callee of a call
    where it has one, without its scope. `template` is the range of tokens of the template arguments
    that follow a name.
    """

    __slots__ = ("body", "depth", "kids", "kind", "scoped", "template", "text", "token")

    def __init__(self, kind: str, text: str, token: int, kids: list[Node] | None = None) -> None:
        self.kind = kind
        self.text = text
        self.token = token
        # Walks over the tree recurse: what lies deeper than any real code is dropped.
        self.kids: list[Node] = (
            [kid for kid in kids if kid.depth < MOST_DEPTH] if kids is not None else []
        )
        self.depth: int = 1 + max((kid.depth for kid in self.kids), default=0)
        if kids is not None and len(self.kids) < len(kids):
            self.kind = "other"
        self.template: tuple[int, int] | None = None
        self.scoped = False  # a name that stands behind `::` of another name, or behind `.` or `->`
        self.body: list[Statement] = []  # of a lambda, or code

    def walk(self) -> Iterator[Node]:
        """The node and all expressions below it; not the statements of a lambda."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(reversed(node.kids))

    @property
    def callee(self) -> str:
        """The last name of what is called: `f` of `a::f<T>(x)` and of `p->f(x)`."""
        return (
            self.kids[0].text
            if self.kind == "call" and self.kids[0].kind in ("name", "member")
            else ""
        )

    @property
    def arguments(self) -> list[Node]:
        return self.kids[1:]


class Statement:
    """A statement. `kind`: block, if, for, while, do, switch, return, jump, expression,
    declaration, case.
    """

    __slots__ = ("body", "expressions", "kind", "orelse", "token", "variable")

    def __init__(self, kind: str, token: int) -> None:
        self.kind = kind
        self.token = token
        self.expressions: list[
            Node
        ] = []  # the condition, the value, initialiser and step of a `for`
        self.body: list[Statement] = []
        self.orelse: list[Statement] = []
        self.variable: Variable | None = None

    def statements(self) -> Iterator[Statement]:
        """The statement and all below it."""
        pending = [self]
        while pending:
            statement = pending.pop()
            yield statement
            pending.extend(reversed((*statement.body, *statement.orelse)))


class Variable:
    """One declarator of a declaration: `type` holds the words of the type and of the specifiers."""

    __slots__ = ("bounds", "initial", "name", "pointer", "token", "type")

    def __init__(self, name: str, token: int, type_words: tuple[str, ...], pointer: bool) -> None:
        self.name = name
        self.token = token
        self.type = type_words
        self.pointer = pointer
        self.bounds: list[Node] = []
        self.initial: Node | None = None

    @property
    def shared(self) -> bool:
        return "__shared__" in self.type

    @property
    def constant(self) -> bool:
        return "constexpr" in self.type or "const" in self.type


class Function:
    """A function, or the body of a macro (`macro`)."""

    __slots__ = ("body", "macro", "name", "parameters", "result", "scope", "template", "token")

    def __init__(self, name: str, token: int) -> None:
        self.name = name
        self.token = token
        self.result: tuple[str, ...] = ()
        self.parameters: list[Variable] = []
        self.template: list[str] = []  # names of its template parameters and of those of its class
        self.body: list[Statement] = []
        self.macro = False
        self.scope = ""

    def statements(self) -> Iterator[Statement]:
        for statement in self.body:
            yield from statement.statements()

    def calls(self) -> Iterator[Node]:
        """Every call in the function, those in lambdas included."""
        for node in expressions_of(self.body):
            if node.kind == "call":
                yield node


def expressions_of(body: list[Statement]) -> Iterator[Node]:
    """Every expression in the statements, lambdas included."""
    for outer in body:
        for statement in outer.statements():
            roots = list(statement.expressions)
            if statement.variable is not None:
                roots += statement.variable.bounds
                if statement.variable.initial is not None:
                    roots.append(statement.variable.initial)
            for root in roots:
                for node in root.walk():
                    yield node
                    if node.body:
                        yield from expressions_of(node.body)
