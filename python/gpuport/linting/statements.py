"""Statements and declarations of function bodies."""

from __future__ import annotations

from .expressions import BUILTIN, MOST_NESTED, ExpressionParser
from .lexer import Tokens
from .syntax import Node, Statement, Variable

_SPECIFIERS = frozenset(
    "static const constexpr constinit volatile extern register inline thread_local mutable "
    "typename struct class enum union friend virtual explicit "
    "__shared__ __constant__ __device__ __managed__ __restrict__".split()
)
_KEYWORDS = frozenset(
    "return delete throw goto break continue else case default new using typedef if for while do "
    "switch try catch sizeof operator public private protected this template "
    "co_return co_yield co_await not static_assert".split()
)
_ATTRIBUTES = frozenset(
    ["alignas", "__align__", "__attribute__", "__declspec", "_CCCL_ALIGNAS", "_CCCL_ALIGNAS_TYPE"]
)
_AFTER_NAME = frozenset(["=", ";", "(", "{", "[", ",", ":"])


class StatementParser:
    """Parses the statements of a token range."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.expressions = ExpressionParser(tokens, self.statements)
        self._depth = 0

    def statements(self, at: int, end: int) -> list[Statement]:
        """Every statement of a range."""
        found: list[Statement] = []
        end = min(end, len(self.tokens))
        while at < end:
            at = self._statement(at, end, found)
        return found

    def _statement(self, at: int, end: int, found: list[Statement]) -> int:
        """Appends the statement at `at`; the token after it."""
        self._depth += 1
        try:
            return self._any(at, end, found) if self._depth <= MOST_NESTED else end
        finally:
            self._depth -= 1

    def _any(self, at: int, end: int, found: list[Statement]) -> int:
        tokens = self.tokens
        text = tokens.text[at]
        if text in (";", "}", ")", "]", ","):
            return at + 1
        if text == "{":
            close = tokens.close(at, end)
            block = Statement("block", at)
            block.body = self.statements(at + 1, close)
            found.append(block)
            return close + 1
        if text in ("if", "while", "switch", "for", "catch"):
            return self._headed(at, end, found)
        if text == "do":
            loop = Statement("do", at)
            at = self._statement(at + 1, end, loop.body) if at + 1 < end else end
            if at < end and tokens.text[at] == "while":
                at += 1
                if at < end and tokens.text[at] == "(":
                    close = tokens.close(at, end)
                    loop.expressions.append(self.expressions.whole(at + 1, close))
                    at = close + 1
            found.append(loop)
            return at
        if text in ("try", "else", "public", "private", "protected"):
            return at + 1
        if text in ("return", "co_return"):
            statement = Statement("return", at)
            after = at + 1
            if after < end and tokens.text[after] != ";":
                value, after = self.expressions.parse(after, end)
                statement.expressions.append(value)
            found.append(statement)
            return self._past_semicolon(after, end)
        if text in ("break", "continue", "goto"):
            statement = Statement("jump", at)
            found.append(statement)
            return self._past_semicolon(at + 1, end)
        if text in ("case", "default"):
            return self._label(at, end, found)
        if text in ("using", "typedef"):
            return self._past_semicolon(at, end)
        if text in ("struct", "class", "union", "enum"):
            body = self._local_type(at, end)
            if body > 0:
                return body
        return self._simple(at, end, found)

    def _headed(self, at: int, end: int, found: list[Statement]) -> int:
        tokens = self.tokens
        keyword = tokens.text[at]
        statement = Statement("block" if keyword == "catch" else keyword, at)
        at += 1
        while (
            at < end and tokens.kind[at] == "name"
        ):  # if constexpr, a macro such as _CCCL_CONSTEXPR
            at += 1
        if keyword == "if" and at < end and tokens.text[at] == "!":
            at += 1
        if at >= end or tokens.text[at] != "(":
            return at
        close = tokens.close(at, end)
        if keyword == "for":
            self._for_head(statement, at + 1, close)
        elif keyword != "catch":
            stop = self._semicolon(at + 1, close)
            if stop < close:  # if (init; condition)
                self._simple(at + 1, stop, statement.body)
                at = stop
            if not self._declaration(at + 1, close, statement.body):
                statement.expressions.append(self.expressions.whole(at + 1, close))
            elif (
                statement.body
                and statement.body[-1].variable
                and statement.body[-1].variable.initial
            ):
                statement.expressions.append(statement.body[-1].variable.initial)
        found.append(statement)
        at = close + 1
        while at < end and tokens.text[at] == "[":  # [[likely]]
            at = tokens.close(at, end) + 1
        if at < end:
            at = self._statement(at, end, statement.body)
        if keyword == "if" and at < end and tokens.text[at] == "else":
            at = self._statement(at + 1, end, statement.orelse) if at + 1 < end else end
        return at

    def _for_head(self, statement: Statement, start: int, end: int) -> None:
        first = self._semicolon(start, end)
        if first >= end:  # for (declaration : range)
            self._declaration(start, end, statement.body)
            return
        second = self._semicolon(first + 1, end)
        self._simple(start, first, statement.body)
        if first + 1 < second:
            statement.expressions.append(self.expressions.whole(first + 1, second))
        if second + 1 < end:
            statement.expressions.append(self.expressions.whole(second + 1, end))

    def _label(self, at: int, end: int, found: list[Statement]) -> int:
        tokens = self.tokens
        label = Statement("case", at)
        stop = at + 1
        while stop < end and tokens.text[stop] != ":":
            stop = tokens.close(stop, end) + 1 if tokens.text[stop] in ("(", "{") else stop + 1
        stop = min(stop, end)
        if at + 1 < stop:
            label.expressions.append(self.expressions.whole(at + 1, stop))
        found.append(label)
        return stop + 1

    def _local_type(self, at: int, end: int) -> int:
        """The token after a local class, whose members are not looked at here; -1 if this is no
        definition.
        """
        tokens = self.tokens
        while at < end and tokens.text[at] not in ("{", ";", "(", "="):
            at += 1
        if at < end and tokens.text[at] == "{":
            return self._past_semicolon(tokens.close(at, end) + 1, end)
        return -1

    def _simple(self, at: int, end: int, found: list[Statement]) -> int:
        """A declaration or an expression, up to its semicolon."""
        after = self._declaration(at, end, found)
        if after:
            return after
        node, after = self.expressions.parse(at, end)
        statement = Statement("expression", at)
        statement.expressions.append(node)
        found.append(statement)
        after = max(after, at + 1)
        if after < end and self.tokens.text[after] == ";":
            after += 1
        return after

    def _declaration(self, at: int, end: int, found: list[Statement]) -> int:
        """Appends a declaration per declarator; the token after them, 0 if there is none."""
        head = self.type_head(at, end)
        if head is None:
            return 0
        name_at, words, pointer = head
        tokens = self.tokens
        if name_at >= end or tokens.kind[name_at] != "name" or tokens.text[name_at] in _KEYWORDS:
            return 0
        if name_at + 1 < end and tokens.text[name_at + 1] not in _AFTER_NAME:
            return 0
        at = name_at
        while at < end and tokens.kind[at] == "name":
            variable = Variable(tokens.text[at], at, words, pointer)
            at = self._declarator(variable, at + 1, end)
            statement = Statement("declaration", name_at)
            statement.variable = variable
            found.append(statement)
            if at >= end or tokens.text[at] != ",":
                break
            at += 1
            pointer = False
            while at < end and tokens.text[at] in ("*", "&", "const", "__restrict__"):
                pointer = pointer or tokens.text[at] == "*"
                at += 1
        return (
            self._past_semicolon(at, end)
            if at < end and tokens.text[at] == ";"
            else max(at, name_at + 1)
        )

    def _declarator(self, variable: Variable, at: int, end: int) -> int:
        tokens = self.tokens
        while at < end and tokens.text[at] == "[":
            close = tokens.close(at, end)
            if at + 1 < close:
                variable.bounds.append(self.expressions.whole(at + 1, close))
            at = close + 1
        if at >= end:
            return at
        if tokens.text[at] in ("=", ":"):
            variable.initial, at = self.expressions.parse(at + 1, end, 2)
        elif tokens.text[at] in ("(", "{"):
            close = tokens.close(at, end)
            items = self.expressions.items(at + 1, close)
            variable.initial = items[0] if len(items) == 1 else Node("braces", "", at, items)
            at = close + 1
        return at

    def type_head(self, at: int, end: int) -> tuple[int, tuple[str, ...], bool] | None:
        """Reads specifiers and a type: the token after them, their words, and whether it is a
        pointer.
        """
        tokens = self.tokens
        words: list[str] = []
        typed = pointer = False
        while at < end:
            text = tokens.text[at]
            if text in _ATTRIBUTES and at + 1 < end and tokens.text[at + 1] == "(":
                at = tokens.close(at + 1, end) + 1
            elif text == "[" and at + 1 < end and tokens.text[at + 1] == "[":
                at = tokens.close(at, end) + 1
            elif text in BUILTIN:
                words.append(text)
                typed = True
                at += 1
            elif text in _SPECIFIERS:
                words.append(text)
                at += 1
            elif text in ("*", "&", "&&"):
                if not typed:
                    return None
                pointer = pointer or text == "*"
                at += 1
            elif text == "decltype" and not typed and at + 1 < end and tokens.text[at + 1] == "(":
                words.append(text)
                typed = True
                at = tokens.close(at + 1, end) + 1
            elif (
                (tokens.kind[at] == "name" or text == "::") and not typed and text not in _KEYWORDS
            ):
                at = self._type_name(at, end, words)
                typed = True
            else:
                break
        return (at, tuple(words), pointer) if typed else None

    def _type_name(self, at: int, end: int, words: list[str]) -> int:
        tokens = self.tokens
        while at < end:
            text = tokens.text[at]
            if text in ("::", "template"):
                at += 1
                continue
            if tokens.kind[at] != "name":
                break
            words.append(text)
            at += 1
            if at < end and tokens.text[at] == "<":
                after = tokens.angle(at, end)
                if after > 0:
                    at = after
            if at >= end or tokens.text[at] != "::":
                break
        return at

    def _semicolon(self, at: int, end: int) -> int:
        """The next semicolon outside brackets, or `end`."""
        tokens = self.tokens
        while at < end and tokens.text[at] != ";":
            at = tokens.close(at, end) + 1 if tokens.text[at] in ("(", "[", "{") else at + 1
        return min(at, end)

    def _past_semicolon(self, at: int, end: int) -> int:
        return self._semicolon(at, end) + 1
