"""Named integer constants of a file, and the value of constant expressions."""

from __future__ import annotations

from typing import NamedTuple

from .lexer import integer
from .syntax import Node


class Constant(NamedTuple):
    """A name with its value, and the offset of the name where it is defined."""

    name: str
    value: Node
    offset: int
    macro: bool


class Constants:
    """The constants of one file; a name with two different definitions has no value."""

    def __init__(self) -> None:
        self._defined: dict[str, list[Constant]] = {}
        self._values: dict[str, int | None] = {}

    def add(self, name: str, value: Node, offset: int, *, macro: bool = False) -> None:
        self._defined.setdefault(name, []).append(Constant(name, value, offset, macro))
        self._values.clear()

    def all(self) -> list[Constant]:
        return [constant for defined in self._defined.values() for constant in defined]

    def find(self, name: str) -> Constant | None:
        defined = self._defined.get(name)
        return defined[0] if defined else None

    def _named(self, name: str) -> int | None:
        if name not in self._values:
            self._values[name] = None  # of a name that is defined by itself
            values = {self.value(constant.value) for constant in self._defined.get(name, ())}
            self._values[name] = values.pop() if len(values) == 1 else None
        return self._values[name]

    def value(self, node: Node) -> int | None:
        """The value of a constant expression, in integers without bounds, or None."""
        if node.kind == "number":
            literal = integer(node.text)
            return literal[0] if literal else None
        if node.kind == "name":
            if node.scoped and node.text not in self._defined:
                return None
            return self._named(node.text)
        if (
            node.kind == "call" and not node.kids[0].scoped
        ):  # of a macro with parameters that it does not use
            constant = self.find(node.callee)
            return self._named(node.callee) if constant is not None and constant.macro else None
        if node.kind == "cast" or (node.kind == "braces" and len(node.kids) == 1):
            return self.value(node.kids[0])
        if node.kind == "unary" and len(node.kids) == 1:
            value = self.value(node.kids[0])
            if value is None:
                return None
            return {"-": -value, "+": value, "~": ~value}.get(node.text)
        if node.kind == "binary":
            left, right = (self.value(kid) for kid in node.kids)
            return None if left is None or right is None else _apply(node.text, left, right)
        return None

    def is_derived(self, constant: Constant) -> bool:
        """Whether a constant is computed from another of the file."""
        return any(
            self.find(node.text) is not None
            for node in constant.value.walk()
            if node.kind == "name"
        )

    def literal(self, node: Node) -> Node:
        """The node itself, or the node that the constant it names is defined by."""
        for _ in range(8):
            if node.kind == "cast":
                node = node.kids[0]
                continue
            constant = self.find(node.text) if node.kind == "name" else None
            if constant is None:
                return node
            node = constant.value
        return node


def _apply(operator: str, left: int, right: int) -> int | None:
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return left // right if right > 0 and left >= 0 else None
        case "%":
            return left % right if right > 0 and left >= 0 else None
        case "<<":
            return left << right if 0 <= right < 64 else None
        case ">>":
            return left >> right if 0 <= right < 64 else None
        case "&":
            return left & right
        case "|":
            return left | right
        case "^":
            return left ^ right
        case _:
            return None
