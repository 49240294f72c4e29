"""A file as the lint sees it: its functions, macros, constants, aliases and members."""

from __future__ import annotations

import re
from functools import cached_property

from ._reader import Directive, Launch, Source, find_launches
from .constants import Constant, Constants
from .expressions import BUILTIN
from .lexer import Tokens
from .positions import Positions
from .statements import StatementParser
from .syntax import Function, Node, Statement, Variable

_MACRO_HEAD = re.compile(r"[ \t]*(?P<name>\w+)(?P<parameters>\([^()]*\))?", re.ASCII)
_NOT_A_FUNCTION = frozenset(
    "alignas __align__ __attribute__ __declspec noexcept decltype requires __launch_bounds__ "
    "throw explicit sizeof if "
    "while for switch return static_assert defined asm __cluster_dims__".split()
)
_AFTER_PARAMETERS = frozenset("const noexcept override final volatile & && mutable try".split())


class Unit:
    """One view of a file: the code that one target compiles."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.functions: list[Function] = []
        self.variables: list[Variable] = []  # of namespaces and classes
        self.asserts: list[Node] = []
        self.aliases: dict[str, tuple[str, ...]] = {}
        self.constants = Constants()
        self.widths: dict[str, Constant] = {}  # that a rule saw used as the width of a warp
        self.bodies: list[tuple[int, int, str]] = []  # of functions: start, end and name
        self.tokens = Tokens(_without_directives(source.live, source.directives))
        self._parser = StatementParser(self.tokens)
        self._scope(0, len(self.tokens), "", [])
        self._macros()
        for function in self.functions:
            for statement in function.statements():
                if statement.variable is not None:
                    self.add_constant(statement.variable)

    def refuses(self, name: str) -> bool:
        """Whether something in the file asks if `name` is a power of two."""
        text = self.tokens.text
        for at in self._token_places.get(name, ()):
            if at + 6 > len(text):
                continue
            if text[at + 1 : at + 6] == ["&", "(", name, "-", "1"] or text[at - 6 : at - 1] == [
                name,
                "-",
                "1",
                ")",
                "&",
            ]:
                return True
            near = "".join(text[max(0, at - 8) : at]).lower().replace("_", "")
            if any(
                word in near
                for word in ("singlebit", "poweroftwo", "popcount", "ispow2", "powof2", "powerof2")
            ):
                return True
        return False

    @cached_property
    def _token_places(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for at, token in enumerate(self.tokens.text):
            places.setdefault(token, []).append(at)
        return places

    @cached_property
    def positions(self) -> Positions:
        return Positions(self.source.live, self.bodies)

    @cached_property
    def launches(self) -> list[Launch]:
        return list(find_launches(self.source))

    @cached_property
    def by_name(self) -> dict[str, Function]:
        return {function.name: function for function in self.functions}

    def _macros(self) -> None:
        """The bodies of `#define`s, as functions of their own; their tokens follow those of the
        file.
        """
        live = self.source.live
        for directive in self.source.directives:
            if directive.keyword != "define":
                continue
            head = _MACRO_HEAD.match(live, directive.body, directive.end)
            if head is None or not live[head.end() : directive.end].strip(" \t\r\n\\"):
                continue
            tokens = Tokens(live[head.end() : directive.end], head.end())
            first = len(self.tokens)
            for name in ("text", "kind", "start"):
                getattr(self.tokens, name).extend(getattr(tokens, name))
            self.tokens.pair.update((a + first, b + first) for a, b in tokens.pair.items())
            last = len(self.tokens)
            value, after = self._parser.expressions.parse(first, last)
            if after == last:
                self.constants.add(head["name"], value, head.start("name"), macro=True)
            function = Function(head["name"], first)
            function.macro = True
            function.body = self._parser.statements(first, last)
            self.functions.append(function)

    def _scope(self, at: int, end: int, scope: str, template: list[str]) -> None:
        """Declarations of a namespace or of a class."""
        tokens = self.tokens
        own: list[str] = []
        start = at
        while at < end:
            text = tokens.text[at]
            if text == ";":
                self._object(start, at)
                at, own = at + 1, []
                start = at
            elif text == "template" and at + 1 < end and tokens.text[at + 1] == "<":
                close = self._template_end(at + 1, end)
                own = own + self._template_names(at + 2, close)
                at = start = close + 1
            elif text in ("(", "["):
                at = tokens.close(at, end) + 1
            elif text == "{":
                at = self._braces(start, at, end, scope, template + own)
                own = []
                start = at
            elif text == "}":
                at += 1
                start = at
            elif (
                text in ("public", "private", "protected")
                and at + 1 < end
                and tokens.text[at + 1] == ":"
            ):
                at += 2
                start = at
            else:
                at += 1

    def _braces(self, start: int, at: int, end: int, scope: str, template: list[str]) -> int:
        """What opens with the brace at `at` and begins at `start`; the token after it."""
        tokens = self.tokens
        close = tokens.close(at, end)
        words = tokens.text[start:at]
        kind = next(
            (w for w in words if w in ("namespace", "class", "struct", "union", "enum", "extern")),
            "",
        )
        parameters = self._parameters(start, at)
        if kind == "enum" and parameters is None:
            self._enumerators(at + 1, close)
        elif kind in ("namespace", "class", "struct", "union") and parameters is None:
            index = words.index(kind)
            names = [w for w in words[index + 1 :] if w[0].isalpha() or w[0] == "_"]
            self._scope(
                at + 1, close, names[0] if names and kind != "namespace" else scope, template
            )
        elif parameters is not None:
            return self._function(start, parameters, at, end, scope, template)
        elif kind == "extern" or not words:
            self._scope(at + 1, close, scope, template)
        else:
            # An initialiser: T name{...}; or = {...};
            self._object(start, close + 1)
        return close + 1

    def _parameters(self, start: int, end: int) -> int | None:
        """The parenthesis of the parameter list, if the words declare a function."""
        tokens = self.tokens
        at = start
        while at < end:
            text = tokens.text[at]
            if text == "=":
                return None
            if text == "(":
                before = tokens.text[at - 1] if at > start else ""
                close = tokens.close(at, end)
                if before == "operator" and close + 1 < end and tokens.text[close + 1] == "(":
                    return close + 1
                named = at > start and (
                    tokens.kind[at - 1] == "name"
                    or "operator" in tokens.text[max(start, at - 4) : at]
                )
                if (
                    named
                    and before not in _NOT_A_FUNCTION
                    and self._is_declarator_end(close + 1, end)
                ):
                    return at
                at = close
            elif text == "<" and at > start and tokens.kind[at - 1] == "name":
                after = tokens.angle(at, end)
                at = after - 1 if after > 0 else at
            at += 1
        return None

    def _is_declarator_end(self, at: int, end: int) -> bool:
        """Whether what follows a parenthesis can follow a parameter list, and not a macro in front
        of it.
        """
        tokens = self.tokens
        if at >= end:
            return True
        return tokens.text[at] in _AFTER_PARAMETERS or tokens.text[at] in (
            "->",
            ":",
            "requires",
            "__attribute__",
        )

    def _function(
        self, start: int, opener: int, brace: int, end: int, scope: str, template: list[str]
    ) -> int:
        tokens = self.tokens
        close = tokens.close(opener, end)
        name = tokens.text[opener - 1] if tokens.kind[opener - 1] == "name" else "operator"
        function = Function(name, opener - 1)
        function.scope, function.template = scope, template
        function.result = tuple(tokens.text[start : opener - 1])
        for item_start, item_end in self._list(opener + 1, close):
            variable = self._parameter(item_start, item_end)
            if variable is not None:
                function.parameters.append(variable)
        body = brace
        if close + 1 < end and tokens.text[close + 1] == ":":  # constructor initialisers
            at = close + 2
            while at < end:
                while at < end and tokens.text[at] not in ("(", "{"):
                    after = tokens.angle(at, end) if tokens.text[at] == "<" else -1
                    at = after if after > 0 else at + 1
                if at >= end or (
                    tokens.text[at] == "{"
                    and tokens.kind[at - 1] != "name"
                    and tokens.text[at - 1] != ">"
                ):
                    break
                item_close = tokens.close(at, end)
                member = Variable(tokens.text[at - 1], at - 1, (), False)
                items = self._parser.expressions.items(at + 1, item_close)
                member.initial = items[0] if len(items) == 1 else None
                statement = Statement("declaration", at - 1)
                statement.variable = member
                function.body.append(statement)
                self.variables.append(member)
                at = item_close + 1
                if at < end and tokens.text[at] == "...":
                    at += 1
                if at >= end or tokens.text[at] != ",":
                    break
                at += 1
            if at >= end or tokens.text[at] != "{":
                return max(at, brace + 1)
            body = at
        body_close = tokens.close(body, end)
        function.body += self._parser.statements(body + 1, body_close)
        last = min(body_close, len(tokens) - 1)
        self.bodies.append((tokens.start[body], tokens.start[last], name))
        self.functions.append(function)
        return body_close + 1

    def _parameter(self, start: int, end: int) -> Variable | None:
        head = self._parser.type_head(start, end)
        if head is None or head[0] >= end or self.tokens.kind[head[0]] != "name":
            return None
        at, words, pointer = head
        variable = Variable(self.tokens.text[at], at, words, pointer)
        if at + 2 < end and self.tokens.text[at + 1] == "=":
            variable.initial = self._parser.expressions.whole(at + 2, end)
        return variable

    def _object(self, start: int, end: int) -> None:
        """A declaration of a namespace or class that is not a function: a constant, an alias, a
        member.
        """
        tokens = self.tokens
        end = min(end, len(tokens))
        if end - start < 2:
            return
        first = tokens.text[start]
        if first == "static_assert":
            node, _ = self._parser.expressions.parse(start, end)
            self.asserts.append(node)
        elif first == "using" and tokens.text[start + 2 : start + 3] == ["="]:
            self.aliases[tokens.text[start + 1]] = tuple(tokens.text[start + 3 : end])
        elif first == "typedef":
            self.aliases[tokens.text[end - 1]] = tuple(tokens.text[start + 1 : end - 1])
        else:
            while (
                start < end
                and first in ("typename", "friend")
                or first.isupper()
                and start + 2 < end
            ):
                start += 1  # a macro in front of the declaration
                first = tokens.text[start]
            for statement in self._parser.statements(start, end):
                if statement.variable is not None:
                    self.variables.append(statement.variable)
                    self.add_constant(statement.variable)

    def add_constant(self, variable: Variable) -> None:
        if variable.constant and variable.initial is not None and not variable.bounds:
            self.constants.add(variable.name, variable.initial, self.tokens.start[variable.token])

    def _enumerators(self, start: int, end: int) -> None:
        for item_start, item_end in self._list(start, end):
            if item_start + 2 < item_end and self.tokens.text[item_start + 1] == "=":
                value = self._parser.expressions.whole(item_start + 2, item_end)
                self.constants.add(
                    self.tokens.text[item_start], value, self.tokens.start[item_start]
                )

    def _list(self, start: int, end: int) -> list[tuple[int, int]]:
        parts, first, at = [], start, start
        tokens = self.tokens
        while at < end:
            text = tokens.text[at]
            if text in ("(", "[", "{"):
                at = tokens.close(at, end)
            elif text == "<" and at and tokens.kind[at - 1] == "name":
                after = tokens.angle(at, end)
                at = after - 1 if after > 0 else at
            elif text == ",":
                parts.append((first, at))
                first = at + 1
            at += 1
        if first < end:
            parts.append((first, end))
        return parts

    def _template_end(self, opener: int, end: int) -> int:
        """The token that closes a template parameter list."""
        tokens = self.tokens
        depth, at = 0, opener
        while at < end:
            text = tokens.text[at]
            if text == "<":
                depth += 1
            elif text in (">", ">>", ">>>"):
                depth -= len(text)
                if depth <= 0:
                    return at
            elif text in ("(", "[", "{"):
                at = tokens.close(at, end)
            elif text in (";", "}"):
                return at
            at += 1
        return end

    def _template_names(self, start: int, end: int) -> list[str]:
        """The names of integral template parameters."""
        tokens = self.tokens
        names = []
        for first, last in self._list(start, end):
            integral = tokens.text[first] in BUILTIN or tokens.text[first].endswith("_t")
            names += (
                [t for t in tokens.text[first + 1 : last] if t not in BUILTIN and t[0].isalpha()][
                    :1
                ]
                if integral
                else []
            )
        return names


def _without_directives(live: str, directives: list[Directive]) -> str:
    """The code with preprocessor lines blanked: they may stand in the middle of a statement."""
    pieces, done = [], 0
    for directive in directives:
        if (
            directive.start < done
        ):  # the `#` of a stringised parameter at the start of a continued line
            continue
        pieces.append(live[done : directive.start])
        pieces.append(" " * (directive.end - directive.start))
        done = directive.end
    pieces.append(live[done:])
    return "".join(pieces)
