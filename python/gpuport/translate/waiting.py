"""Whether a loop can go on only because of another thread.

A turn of such a loop leaves all that its condition is made of as it was: it stores nothing, calls
nothing, and what it assigns comes from values that no turn changes and from memory. `i` in
`while (a[i] != x) ++i;` or in `i = next[i]` comes of itself, and that loop gets somewhere alone. So
does, as far as this goes, a loop that is not understood.
"""

from __future__ import annotations

import re

_HEAD = re.compile(r"\bif\s*(?:constexpr\s*)?(?=\()", re.ASCII)
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
# What may stand in front of a parenthesis without calling what nobody here knows.
_PLAIN = frozenset({
    "__ldca", "__ldcg", "__ldcs", "__ldcv", "__ldg", "__ldlu", "alignof", "if", "max", "min",
    "return", "sizeof",
})  # fmt: skip
_CALL = re.compile(r"(\w+)\s*\(", re.ASCII)
_CAST = re.compile(r"\b(?:static|reinterpret|const)_cast\s*<[^<>();]*>\s*(?=\()", re.ASCII)
_C_CAST = re.compile(
    r"\(\s*(?:(?:const|volatile|unsigned|signed|int|long|short|char|float|double|bool|void|\w+_t)\b"
    r"[\s*]*)+\)",
    re.ASCII,
)
# Inner loops and jumps, calls through an expression, lambdas, objects with a braced initialiser.
_OTHER = re.compile(
    r"\b(?:for|while|do|switch|case|goto|asm|new|delete|throw|try|catch|co_\w+)\b|#|<<<|"
    r"[\])>]\s*\(|\[\s*[&=\]]|\b(?!else\b)\w+\s*\{",
    re.ASCII,
)
_MAYBE = re.compile(r"&&|\|\||\?")
_CHANGE = re.compile(
    r"(?P<before>\+\+|--)|(?P<set>(?:<<|>>|[-+*/%&|^])=)|(?<![=!<>])=(?!=)", re.ASCII
)
_TARGET = re.compile(r"(?P<lead>[^\w\s]?)\s*(?P<name>[A-Za-z_]\w*)\s*\Z", re.ASCII)
_ELSE = re.compile(r"\s*else\b", re.ASCII)
_JUMP = re.compile(r"\s*\b(?:break|return|continue)\b", re.ASCII)
# A block that ends the loop runs once: what it does there changes no later turn.
_LAST_TURN = re.compile(
    r"\{(?:(?!\bcontinue\b)[^{}])*?(?<=[;{])\s*(?:break|return\b[^;{}]*);\s*\}", re.ASCII
)
_NEVER = re.compile(r"\s*(?:0|false|nullptr)\s*\Z", re.ASCII)
_LONGEST = 2000  # characters; no loop that only waits comes near


class _Unclear(Exception):  # noqa: N818 - no failure: the loop is left alone
    """The loop may do anything."""


def waits_for_others(condition: str, step: str, body: str) -> bool:
    """Of a loop's parts, as masked code; `step` is the last part of a `for`."""
    if len(body) > _LONGEST or _NEVER.match(condition):
        return False
    try:
        return _waits(condition, step, body)
    except _Unclear:
        return False


def _waits(condition: str, step: str, body: str) -> bool:
    turn = _LAST_TURN.sub("break;", body)
    code = _C_CAST.sub("", _CAST.sub("", f"{condition};{step};{turn}"))
    if _OTHER.search(code) or any(call not in _PLAIN for call in _CALL.findall(code)):
        raise _Unclear
    sources: dict[str, set[str]] = {}  # of each name that a turn assigns, what it is made of
    conditions: set[str] = set()
    ruling: set[str] = set()  # those under which more may stand than a jump
    statements = re.split(r"[;{}]", code)
    for statement, following in zip(statements, [*statements[1:], ""], strict=True):
        statement = _ELSE.sub("", statement)
        heads: set[str] = set()
        while head := _HEAD.search(statement):
            inner, statement = _parenthesis(statement, head.end())
            heads.update(_WORD.findall(inner))
            _note_changes(inner, sources)
            statement = _ELSE.sub("", statement)
        _note_changes(statement, sources)
        conditions |= heads
        if not _JUMP.match(statement) or _ELSE.match(following):
            ruling |= heads
    for made_of in sources.values():
        made_of |= ruling
    decisive = set(_WORD.findall(condition))
    if _JUMP.search(turn):
        decisive |= conditions
    return not _comes_of_itself(decisive, sources)


def _parenthesis(statement: str, opener: int) -> tuple[str, str]:
    """What is in the parenthesis, and what follows it."""
    depth = 0
    for at in range(opener, len(statement)):
        depth += {"(": 1, ")": -1}.get(statement[at], 0)
        if depth == 0:
            return statement[opener + 1 : at], statement[at + 1 :]
    raise _Unclear


def _note_changes(statement: str, sources: dict[str, set[str]]) -> None:
    """Note each assignment of one statement; a store to memory is unclear."""
    for match in _CHANGE.finditer(statement):
        left, right = statement[: match.start()], statement[match.end() :]
        if match["before"]:
            after = re.match(r"\s*([A-Za-z_]\w*)\s*(?!\s*[\w.\[(]|->)", right, re.ASCII)
            name = after[1] if after and not _TARGET.search(left) else _target(left)
            sources.setdefault(name, set()).add(name)
            continue
        name = _target(left)
        made_of = sources.setdefault(name, set())
        made_of.update(_WORD.findall(right))
        if match["set"]:
            made_of.add(name)
        if _MAYBE.search(left):  # `full && (done = true)`
            made_of.update(set(_WORD.findall(left)) - {name})


def _target(left: str) -> str:
    """The variable at the end of what stands on the left; no member, and not what it points to."""
    found = _TARGET.search(left)
    if found is None or found["lead"] in (".", ">", ":", "]", ")"):
        raise _Unclear
    if found["lead"] in ("*", "&") and not re.search(r"\w[\s*&]*\Z", left[: found.start("lead")]):
        raise _Unclear  # `*p = 1`, and not `int* p = q`
    if found["lead"] == "&":
        raise _Unclear  # another name for something
    return found["name"]


def _comes_of_itself(names: set[str], sources: dict[str, set[str]]) -> bool:
    """Whether one of the names is made, over any others, of what it was the turn before."""

    harmless: set[str] = set()

    def reaches(name: str, path: tuple[str, ...]) -> bool:
        if name in path:
            return True
        if name in harmless or name not in sources:
            return False
        found = any(reaches(other, (*path, name)) for other in sources[name])
        if not found:
            harmless.add(name)
        return found

    return any(reaches(name, ()) for name in names)
