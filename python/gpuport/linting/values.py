"""Where values come from: the thread index, a lane or warp number, a mask of lanes.

A value is a set of flags. Only what is derived from a thread index, a lane or a vote has any; loads
and results of unknown functions are data, which at most differ from thread to thread.
"""

from __future__ import annotations

import re

from . import names
from .syntax import Node, Variable
from .unit import Unit

THREAD = 1  # index of the thread in its block
GLOBAL = 2  # index of the thread in the grid
LANE = 4
WARP = 8  # number of the warp in its block or grid
MASK = 16  # one bit a lane
MASK32 = 32  # the same, cut down to 32 bits
IN_BLOCK = 64  # may differ between threads of a block
IN_WARP = 128  # may differ between lanes of a warp
THREADS = 256  # number of threads in the block
VARIES = IN_BLOCK | IN_WARP
INDEX = THREAD | GLOBAL

_COMPARE = frozenset(["==", "!=", "<", ">", "<=", ">=", "<=>", "&&", "||", "and", "or"])


def is_constant_name(name: str) -> bool:
    """Whether a name is spelled as one of a constant: `THREAD_BASE`, `kFirst`."""
    return name.isupper() or (name[:1] == "k" and name[1:2].isupper())


def is_thread_count(name: str) -> bool:
    """Whether a constant is called a number of threads, which is one of whole warps:
    `kLoadThreads`.
    """
    return (
        is_constant_name(name) and re.search(r"thread|warp|group", name, re.IGNORECASE) is not None
    )


class Known:
    """What is known of a variable."""

    __slots__ = ("flags", "literal", "variable")

    def __init__(
        self, flags: int, variable: Variable | None = None, literal: Node | None = None
    ) -> None:
        self.flags = flags
        self.variable = variable
        self.literal = literal  # what it was last given, where that is an integer literal


class Values:
    """The variables of one function, and the flags of expressions over them."""

    def __init__(self, unit: Unit, results: dict[str, int]) -> None:
        self.unit = unit
        self.known: dict[str, Known] = {}
        self._results = results  # of the functions of the file
        self._members = {variable.name for variable in unit.variables}

    def declare(self, variable: Variable, *, parameter: bool = False) -> int:
        """Note a declaration; the flags of its value."""
        initial = variable.initial
        flags = self.flags(initial) if initial is not None else 0
        by_name = parameter or initial is None or (initial.kind == "call" and not flags & ~VARIES)
        if by_name and not variable.pointer and not variable.bounds and not variable.shared:
            flags |= self._by_name(variable.name)
        if variable.pointer or variable.bounds:
            flags &= VARIES
        elif "bool" in variable.type or "float" in variable.type or "double" in variable.type:
            flags &= VARIES
        elif flags & MASK and names.is_narrow(variable.type, self.unit.aliases):
            flags = flags & ~MASK | MASK32
        literal = (
            initial if initial is not None and not parameter and self._is_literal(initial) else None
        )
        self.known[variable.name] = Known(flags, variable, literal)
        return flags

    def assign(self, name: str, operator: str, value: Node) -> None:
        """Note an assignment."""
        known = self.known.setdefault(name, Known(self._by_name(name)))
        if known.variable is not None and known.variable.shared:
            return  # whoever wrote it, all threads read the same
        flags = self.flags(value)
        if (
            known.variable is not None
            and flags & MASK
            and names.is_narrow(known.variable.type, self.unit.aliases)
        ):
            flags = flags & ~MASK | MASK32
        if operator == "=":
            known.flags |= flags
            known.literal = value if self._is_literal(value) else known.literal
        elif operator in ("+=", "-=", "*="):
            known.flags = (known.flags | flags) & VARIES
        elif operator in ("/=", "%=", ">>=", "<<="):
            known.flags &= ~(INDEX | LANE)
        else:
            known.flags |= flags

    def _is_literal(self, node: Node) -> bool:
        if node.kind == "number":
            return True
        return node.kind in ("unary", "cast") and bool(node.kids) and self._is_literal(node.kids[0])

    def literal(self, node: Node) -> Node:
        """The literal behind a name: of a constant of the file or of a local variable."""
        while node.kind == "cast":
            node = node.kids[0]
        if node.kind == "name" and not node.scoped and node.text in self.known:
            return self.known[node.text].literal or node
        return self.unit.constants.literal(node)

    def number(self, node: Node) -> int | None:
        """The value of a constant expression."""
        return self.unit.constants.value(node)

    def is_width(self, node: Node) -> bool:
        """Whether an operand is a warp width: 32, 64, or a name that says so."""
        while node.kind == "cast":
            node = node.kids[0]
        if self.number(node) in (32, 64):
            return True
        return node.kind in ("name", "member") and (
            node.text == "warpSize" or names.WIDTH.match(node.text) is not None
        )

    def is_width_less_one(self, node: Node) -> bool:
        if self.number(node) in (31, 63):
            return True
        return (
            node.kind == "binary"
            and node.text == "-"
            and self.is_width(node.kids[0])
            and self.number(node.kids[1]) == 1
        )

    def is_log_width(self, node: Node) -> bool:
        if self.number(node) in (5, 6):
            return True
        return node.kind in ("name", "member") and names.LOG_WIDTH.match(node.text) is not None

    @staticmethod
    def _by_name(name: str) -> int:
        if names.LANE.match(name):
            return LANE | VARIES
        if names.WARP.match(name):
            return WARP | IN_BLOCK
        if names.THREAD.match(name):
            return THREAD | VARIES
        return 0

    def flags(self, node: Node) -> int:
        """Where the value of an expression comes from."""
        match node.kind:
            case "name":
                known = self.known.get(node.text) if not node.scoped else None
                if known is not None:
                    return known.flags
                if node.text in self._members or node.text.endswith("_"):
                    return self._by_name(node.text)
                return self._by_name(node.text) if names.LANE.match(node.text) else 0
            case "member":
                return self._member(node)
            case "unary":
                flags = self.flags(node.kids[0])
                return flags & VARIES if node.text in ("!", "not", "*", "&") else flags
            case "cast":
                return self._cast(node)
            case "call":
                return self._call(node)
            case "index":
                return self._union(node.kids) & VARIES
            case "conditional":
                return self._union(node.kids[1:]) | self.flags(node.kids[0]) & VARIES
            case "assign":
                return self.flags(node.kids[1])
            case "braces":
                return self.flags(node.kids[0]) if len(node.kids) == 1 else 0
            case "binary":
                return self._binary(node)
        return 0

    def _union(self, nodes: list[Node]) -> int:
        flags = 0
        for node in nodes:
            flags |= self.flags(node)
        return flags

    def _member(self, node: Node) -> int:
        base = node.kids[0]
        if base.kind == "name" and base.text == "threadIdx":
            return THREAD | VARIES if node.text == "x" else IN_BLOCK
        if base.kind == "name" and base.text == "blockDim":
            return THREADS if node.text == "x" else 0
        if base.kind == "name" and base.text == "this" and node.text in self.known:
            return self.known[node.text].flags
        return self._by_name(node.text)

    def _cast(self, node: Node) -> int:
        flags = self.flags(node.kids[0])
        words = tuple(node.text.split(" "))
        if "*" in words or "bool" in words or "float" in words or "double" in words:
            return flags & VARIES
        if flags & MASK and names.is_narrow(words, self.unit.aliases):
            return flags & ~MASK | MASK32
        return flags

    def _call(self, node: Node) -> int:
        name = node.callee
        if name in names.BALLOTS:
            # Every lane gets the same votes; who is active, and who matches, depends on the lane.
            return MASK | (IN_BLOCK if "ballot" in name else VARIES)
        if name in names.VOTES:
            return IN_BLOCK
        if names.CALLS_MASK32.search(name):
            return MASK32 | VARIES
        if name in names.SHUFFLES:
            source = node.arguments[2:3] if name.endswith("_sync") else node.arguments[1:2]
            from_one = name in ("__shfl", "__shfl_sync") and not self._union(source) & IN_WARP
            return IN_BLOCK if from_one else VARIES
        if name in ("__ffs", "__ffsll"):
            flags = self._union(node.arguments)
            return flags & IN_WARP | (LANE if flags & (MASK | MASK32) else 0)
        if name in names.PASSED_ON:
            return self._union(node.arguments)
        if name in names.CALLS_THREAD:
            return THREAD | VARIES
        if self._results.get(name):
            return self._results[name]
        if names.CALLS_LANE.match(name) and len(node.arguments) <= 1:
            return LANE | VARIES
        if names.CALLS_WARP.match(name) and not node.arguments:
            return WARP | IN_BLOCK
        return 0

    def _binary(self, node: Node) -> int:
        left, right = node.kids
        operator = node.text
        a, b = self.flags(left), self.flags(right)
        varies = (a | b) & VARIES
        if operator == ",":
            return b
        if operator in _COMPARE:
            return self._compare(left, right, a, b)
        mask = (a | b) & (MASK | MASK32)
        if mask and operator in ("&", "|", "^", ">>", "<<"):
            return (MASK32 if mask & MASK32 else MASK) | varies
        if operator in ("%", "&"):
            narrowed = self.is_width(right) if operator == "%" else self.is_width_less_one(right)
            return varies | (LANE if a & INDEX and narrowed else 0)
        if operator in ("/", ">>"):
            by_warp = self.is_width(right) if operator == "/" else self.is_log_width(right)
            return WARP | IN_BLOCK if a & INDEX and by_warp else varies
        if operator == "<<":
            if b & LANE:
                return varies | (MASK32 if self.is_narrow_one(left) else MASK)
            return varies
        if operator in ("+", "-"):
            return self._sum(left, right, a, b)
        if operator == "^":
            return varies | a & LANE
        return varies

    def _compare(self, left: Node, right: Node, a: int, b: int) -> int:
        """A comparison of a thread index with a multiple of the width is the same in all lanes of a
        warp.
        """
        varies = (a | b) & VARIES
        for index, other in ((a, right), (b, left)):
            if index & INDEX and not index & LANE:
                value = self.number(other)
                whole = value % 32 == 0 if value else value is None and is_thread_count(other.text)
                if whole or self.is_width(other):
                    return varies & ~IN_WARP
        return varies

    def _sum(self, left: Node, right: Node, a: int, b: int) -> int:
        varies = (a | b) & VARIES
        if (a | b) & (MASK | MASK32):
            return varies | (a | b) & (MASK | MASK32)
        for flags, other, other_flags in ((a, right, b), (b, left, a)):
            if not flags & (INDEX | LANE | WARP | THREADS):
                continue
            plain = other.kind in ("number", "name")
            if flags & THREAD:
                words = {n.text for n in other.walk()}
                if "blockIdx" in words:
                    return GLOBAL | varies
                if "blockDim" in words or (
                    plain and (self.number(other) is not None or is_constant_name(other.text))
                ):
                    return THREAD | varies
                return varies
            if plain and not other_flags & (INDEX | LANE | WARP):
                return varies | flags & (LANE | WARP | GLOBAL | THREADS)
        return varies

    def is_narrow_one(self, node: Node) -> bool:
        """Whether a `1` that is shifted has 32 bits."""
        if node.kind == "cast":
            return names.is_narrow(tuple(node.text.split(" ")), self.unit.aliases)
        return node.kind == "number" and "l" not in node.text.lower()
