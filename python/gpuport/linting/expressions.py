"""Expressions, by precedence. What is not understood becomes an `other` node, never an error."""

from __future__ import annotations

from collections.abc import Callable

from .lexer import Tokens
from .syntax import Node, Statement

_BINARY = {
    **dict.fromkeys(["*", "/", "%"], 14),
    **dict.fromkeys(["+", "-"], 13),
    **dict.fromkeys(["<<", ">>"], 12),
    "<=>": 11,
    **dict.fromkeys(["<", ">", "<=", ">="], 10),
    **dict.fromkeys(["==", "!="], 9),
    "&": 8,
    "^": 7,
    "|": 6,
    "&&": 5,
    "||": 4,
    "and": 5,
    "or": 4,
    "->*": 15,
}
_UNARY = 16  # binds closer than any binary operator
MOST_NESTED = 100
_ASSIGN = frozenset(["=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^="])
_PREFIX = frozenset(["+", "-", "!", "~", "*", "&", "&&", "++", "--", "not", "compl"])
BUILTIN = frozenset(
    "bool char short int long float double void signed unsigned auto wchar_t char8_t char16_t "
    "char32_t __int128".split()
)
_NAMED_CAST = frozenset(
    ["static_cast", "reinterpret_cast", "const_cast", "dynamic_cast", "bit_cast"]
)
_NOT_OPERAND = frozenset(
    "return if else for while do switch case default break continue goto try catch using typedef "
    "struct class enum union namespace template public private protected typename".split()
)


class ExpressionParser:
    """Parses expressions of a token list. `statements` parses the body of a lambda."""

    def __init__(self, tokens: Tokens, statements: Callable[[int, int], list[Statement]]) -> None:
        self._tokens = tokens
        self._statements = statements
        self._depth = 0

    def whole(self, start: int, end: int) -> Node:
        """The expression that fills a range; a `code` node where statements fill it."""
        end = min(end, len(self._tokens))
        if not self._holds_statements(start, end):
            node, at = self.parse(start, end)
            if at >= end:
                return node
            first = Statement("expression", start)
            first.expressions.append(node)
            code = Node("code", "", start)
            code.body = [first, *self._statements(at, end)]
            return code
        code = Node("code", "", start)
        code.body = self._statements(start, end)
        return code

    def _holds_statements(self, at: int, end: int) -> bool:
        tokens = self._tokens
        while at < end:
            if tokens.text[at] == ";":
                return True
            at = tokens.close(at, end) + 1 if tokens.text[at] in ("(", "[", "{") else at + 1
        return False

    def parse(self, at: int, end: int, least: int = 0) -> tuple[Node, int]:
        """The longest expression from `at` on, and the token after it."""
        self._depth += 1
        try:
            if self._depth > MOST_NESTED:
                return Node("other", "", min(at, end - 1)), end
            return self._parse(at, end, least)
        finally:
            self._depth -= 1

    def _parse(self, at: int, end: int, least: int) -> tuple[Node, int]:
        tokens = self._tokens
        left, at = self._unary(at, end)
        while at < end:
            text = tokens.text[at]
            if (
                text == ">"
                and at + 1 < end
                and tokens.text[at + 1] in (">", ">=")
                and tokens.start[at + 1] == tokens.start[at] + 1
            ):
                break
            power = _BINARY.get(text)
            if power is not None:
                if power < least:
                    break
                right, after = self.parse(at + 1, end, power + 1)
                left = Node("binary", text, at, [left, right])
            elif text in _ASSIGN:
                if least > 2:
                    break
                right, after = self.parse(at + 1, end, 2)
                left = Node("assign", text, at, [left, right])
            elif text == "?":
                if least > 3:
                    break
                first, middle = self.parse(at + 1, end, 2)
                if middle >= end or tokens.text[middle] != ":":
                    return Node("conditional", "?", at, [left, first]), middle
                second, after = self.parse(middle + 1, end, 2)
                left = Node("conditional", "?", at, [left, first, second])
            elif text == ",":
                if least > 0:
                    break
                right, after = self.parse(at + 1, end, 1)
                left = Node("binary", ",", at, [left, right])
            else:
                break
            at = after
        return left, at

    def items(self, start: int, end: int) -> list[Node]:
        """A comma-separated list that fills a range."""
        items = []
        at = start
        while at < end:
            stop = self._item_end(at, end)
            items.append(self.whole(at, stop))
            at = stop + 1
        return items

    def _item_end(self, at: int, end: int) -> int:
        tokens = self._tokens
        while at < end:
            text = tokens.text[at]
            if text in ("(", "[", "{"):
                at = tokens.close(at, end)
            elif (
                text == "<" and at and (tokens.kind[at - 1] == "name" or tokens.text[at - 1] == "]")
            ):
                after = tokens.angle(at, end)
                at = after - 1 if after > 0 else at
            elif text == ",":
                return at
            at += 1
        return end

    def _unary(self, at: int, end: int) -> tuple[Node, int]:
        tokens = self._tokens
        if at >= end:
            return Node("other", "", max(0, min(at, len(tokens) - 1))), at
        text = tokens.text[at]
        if text in _PREFIX:
            operand, after = self.parse(at + 1, end, _UNARY)
            return Node("unary", text, at, [operand]), after
        if text in ("sizeof", "alignof", "decltype", "noexcept"):
            after = at + 1
            if after < end and tokens.text[after] == "...":
                after += 1
            if after < end and tokens.text[after] == "(":
                return Node("other", text, at), tokens.close(after, end) + 1
            _, after = self.parse(after, end, _UNARY)
            return Node("other", text, at), after
        if text in ("new", "delete", "throw", "co_await", "co_yield"):
            _, after = self.parse(at + 1, end, _UNARY)
            return Node("other", text, at), after
        if text == "(":
            close = tokens.close(at, end)
            if (
                close < end
                and self._is_type(at + 1, close)
                and self._starts_operand(close + 1, end)
            ):
                operand, after = self.parse(close + 1, end, _UNARY)
                words = tokens.text[at + 1 : close]
                return Node("cast", " ".join(words), at, [operand]), after
        node, at = self._primary(at, end)
        return self._postfix(node, at, end)

    def _is_type(self, start: int, end: int) -> bool:
        """Whether a range between parentheses reads as a type: `unsigned long`, `std::uint32_t`,
        `T*`.
        """
        tokens = self._tokens
        if start >= end:
            return False
        certain = False
        at = start
        while at < end:
            text = tokens.text[at]
            if text in BUILTIN or text in ("const", "volatile") or text.endswith("_t"):
                certain = True
            elif text in ("*", "&"):
                if at == start:
                    return False
                certain = certain or all(t in ("*", "&", "const") for t in tokens.text[at:end])
            elif text == "<" and at > start:
                after = tokens.angle(at, end)
                if after < 0:
                    return False
                at = after - 1
            elif tokens.kind[at] != "name" and text != "::":
                return False
            at += 1
        plain = end - start == 1 and tokens.kind[start] == "name"
        # `(T)x`: one name in parentheses before a name or a number can only be a cast.
        return certain or (
            plain and end + 1 < len(tokens) and tokens.kind[end + 1] in ("name", "number")
        )

    def _starts_operand(self, at: int, end: int) -> bool:
        if at >= end:
            return False
        tokens = self._tokens
        if tokens.kind[at] in ("name", "number", "char"):
            return tokens.text[at] not in _NOT_OPERAND
        return tokens.text[at] in ("(", "~", "!", "-", "::", "&", "*", "++", "--")

    def _primary(self, at: int, end: int) -> tuple[Node, int]:
        tokens = self._tokens
        text, kind = tokens.text[at], tokens.kind[at]
        if kind == "number":
            return Node("number", text, at), at + 1
        if kind in ("string", "char", "raw"):
            return Node("string", text, at), at + 1
        if kind == "name" or text == "::":
            return self._name(at, end)
        if text == "(":
            close = tokens.close(at, end)
            return self.whole(at + 1, close), close + 1
        if text == "{":
            close = tokens.close(at, end)
            return Node("braces", "", at, self.items(at + 1, close)), close + 1
        if text == "[":
            return self._lambda(at, end)
        return Node("other", text, at), at + 1

    def _name(self, at: int, end: int) -> tuple[Node, int]:
        """A qualified name, with the template arguments of its last part."""
        tokens = self._tokens
        node = Node("other", "", at)
        scoped = False
        while at < end:
            if tokens.text[at] == "::":
                scoped = scoped or node.kind == "name"
                at += 1
                continue
            if tokens.text[at] == "template" and at + 1 < end:
                at += 1
            if tokens.kind[at] != "name" or (
                tokens.text[at] in _NOT_OPERAND
                and node.kind == "other"
                and tokens.text[at] != "typename"
            ):
                return node, max(at, node.token + 1)
            if tokens.text[at] == "typename":
                at += 1
                continue
            node = Node("name", tokens.text[at], at)
            node.scoped = scoped
            at += 1
            if tokens.text[node.token] == "operator":
                while at < end and tokens.text[at] != "(":
                    at += 1
                return node, at
            if node.text in BUILTIN:
                while at < end and tokens.text[at] in BUILTIN:  # unsigned long long(x)
                    node.text += " " + tokens.text[at]
                    at += 1
            if at < end and tokens.text[at] == "<":
                after = tokens.angle(at, end)
                if after > 0:
                    node.template = (at + 1, after - 1)
                    at = after
            if at >= end or tokens.text[at] != "::":
                break
        return node, at

    def _postfix(self, node: Node, at: int, end: int) -> tuple[Node, int]:
        tokens = self._tokens
        while at < end:
            text = tokens.text[at]
            if text == "(":
                close = tokens.close(at, end)
                node = self._call(node, at, close)
            elif (
                text == "{"
                and node.kind == "name"
                and (node.template or node.scoped or self._brace_follows_type(node, at))
            ):
                close = tokens.close(at, end)
                node = self._call(node, at, close)
            elif text == "[":
                close = tokens.close(at, end)
                node = Node("index", "[", at, [node, *self.items(at + 1, close)])
            elif text in (".", "->"):
                after = at + 1
                if after < end and tokens.text[after] == "template":
                    after += 1
                if after < end and tokens.text[after] == "~":
                    after += 1
                if after >= end or tokens.kind[after] != "name":
                    return node, max(after, at + 1)
                member, after = self._name(after, end)
                result = Node("member", member.text, member.token, [node])
                result.template = member.template
                result.scoped = True
                node, close = result, after - 1
            elif text in ("++", "--"):
                node, close = Node("unary", text, at, [node]), at
            elif text == "...":
                close = at
            else:
                break
            at = close + 1
        return node, at

    def _brace_follows_type(self, node: Node, at: int) -> bool:
        """`lane_mask_t{1}`, `unsigned{x}`: braces that hug a name are an initialiser."""
        tokens = self._tokens
        return tokens.start[at] == tokens.start[node.token] + len(node.text)

    def _call(self, callee: Node, opener: int, close: int) -> Node:
        tokens = self._tokens
        arguments = self.items(opener + 1, close)
        if callee.kind == "name" and len(arguments) == 1:
            if callee.text in _NAMED_CAST and callee.template:
                words = tokens.text[slice(*callee.template)]
                return Node("cast", " ".join(words), callee.token, arguments)
            if callee.text.split(" ")[0] in BUILTIN or callee.text.endswith("_t"):
                return Node("cast", callee.text, callee.token, arguments)
        return Node("call", callee.text, callee.token, [callee, *arguments])

    def _lambda(self, at: int, end: int) -> tuple[Node, int]:
        tokens = self._tokens
        node = Node("lambda", "", at)
        after = tokens.close(at, end) + 1
        if after < end and tokens.text[after] == "[":  # an attribute
            return node, after
        while after < end and tokens.text[after] != "{":
            if tokens.text[after] in ("(", "["):
                after = tokens.close(after, end) + 1
            elif tokens.text[after] == "<":
                stop = tokens.angle(after, end)
                after = stop if stop > 0 else after + 1
            elif tokens.kind[after] == "name" or tokens.text[after] in (
                "->",
                "::",
                "*",
                "&",
                ">",
                ",",
            ):
                after += 1
            else:
                return node, after
        if after >= end:
            return node, end
        close = tokens.close(after, end)
        node.body = self._statements(after + 1, close)
        return node, close + 1
