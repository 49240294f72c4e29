"""Target `cpu`: `__shared__` declarations become macros of the SIMT runtime."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache
from typing import NamedTuple

from .brackets import closing, opening, skip_blank, skip_blank_back
from .source import Source
from .tokens import without_comments

_SHARED = re.compile(r"__shared__(?<!\w__shared__)(?!\w)", re.ASCII)
_SPECIFIER = re.compile(
    r"(?P<drop>\b(?:__shared__|static|extern|inline|register)\b)"
    r"|(?P<refused>\b(?:constexpr|constinit|thread_local|typedef|using)\b)"
    r"|(?P<align>\b(?:alignas|__align__|__builtin_align__)\s*(?=\())"
    r"|(?P<gnu>\b__attribute__\s*(?=\())"
    r"|(?P<standard>\[\s*\[)",
    re.ASCII,
)
_ALIGNED = re.compile(
    r"(?:gnu\s*::\s*)?(?:__)?aligned(?:__)?\s*\((.*)\)\s*\Z", re.ASCII | re.DOTALL
)
_HARMLESS = re.compile(
    r"\s*(?:(?:gnu\s*::\s*)?(?:__)?(?:maybe_)?unused(?:__)?\s*,?\s*)*\Z", re.ASCII
)
_NUMERIC = re.compile(r"\A[\d(]|\b(?:sizeof|alignof)\b|[\w)]\s*[-+*/%?=!|]|<<", re.ASCII)
_NAME = re.compile(r"(?:\w+\s*##\s*)*\w+\Z", re.ASCII)
_POINTERS = re.compile(
    r"(?:\s*\*\s*(?:(?:const|volatile|__restrict__|__restrict)\b\s*)*)+\Z", re.ASCII
)
# In front of a parenthesis: a function's declarator, decltype, or what looks like a macro.
_TAKES_PARENTHESIS = re.compile(
    r"(?:\)|\b(?:decltype|typeof|__typeof__|__decltype)|\b[A-Z_][A-Z0-9_]+)\s*\Z", re.ASCII
)
_DYNAMIC_NAME = re.compile(
    r"DYNAMIC_SHARED(?:_ALIGNED\((?:\([^()]*\)|[^,()]+), |\()(\w+)", re.ASCII
)
_MACRO = re.compile(r"GPUPORT_SIMT_(DYNAMIC_)?SHARED(?=\(|_ALIGNED\()", re.ASCII)
_RECORD = re.compile(
    r"\s*(?P<qualifiers>(?:(?:const|volatile)\s+)*)(?P<key>struct|union|class|enum(?:\s+class)?)\b(?P<name>[^{;(]*)\{",
    re.ASCII,
)
_NAMESPACE = re.compile(r"(?:\bnamespace(?:\s+[\w:]+)?|\bextern\s*\" *\")\Z", re.ASCII)


class _Declaration(NamedTuple):
    """`rest` is the code of the range [start, end) with specifiers and attributes blanked."""

    start: int
    end: int
    rest: str
    alignment: str
    dynamic: bool


class _UnclearError(Exception):
    """A declaration that is not taken apart: what is wrong with it, and what to write."""


def rewrite_shared(source: Source) -> None:
    """Add the edits for every `__shared__` declaration of the live code."""
    done = 0
    for match in _SHARED.finditer(source.live):
        if match.start() < done:
            continue
        try:
            done = _rewrite(source, match.start())
        except _UnclearError as error:
            message, hint = error.args
            source.report("shared-memory", match.start(), message, hint, length=len("__shared__"))


def _rewrite(source: Source, at: int) -> int:
    start, end = _statement(source, at)
    if end <= at:
        return end
    declaration = _read(source, start, end)
    directive = source.directive_at(at)
    if directive and not re.search(r"\w", declaration.rest):
        raise _UnclearError(
            "a macro that hides '__shared__' from the declarations that use it",
            "let the macro take the type and the name, or write __shared__ at the declaration",
        )
    outer = directive is None and is_namespace_scope(source.live, at)
    new = _macros(source, declaration)
    if outer:
        new = _MACRO.sub(r"GPUPORT_SIMT_OUTER_\1SHARED", new)
        _cast_pointers(source, _DYNAMIC_NAME.findall(new))
    lost = source.code.count("\n", start, end) - new.count("\n")
    line_break = "\\\n" if directive else "\n"
    source.replace(start, end, new + line_break * max(0, lost))
    return end


def _cast_pointers(source: Source, names: list[str]) -> None:
    """`reinterpret_cast<T*>(name)` takes a pointer, and not what becomes one."""
    for name in names:
        cast = re.compile(
            rf"\breinterpret_cast\s*<[^;<>()]*>\s*\(\s*(?=(?:\w*::)*{name}\s*\))", re.ASCII
        )
        for match in cast.finditer(source.live):
            source.replace(match.end(), match.end(), "+")


def _statement(source: Source, at: int) -> tuple[int, int]:
    """The range of the declaration around `at`, without its semicolon."""
    code = source.live
    directive = source.directive_at(at)
    limit, stop = 0, len(code)
    if directive is not None:
        head = re.compile(r"[ \t]*\w+(?:\([^()]*\))?", re.ASCII).match(
            code, directive.body, directive.end
        )
        if directive.keyword != "define" or head is None or at < head.end():
            return at, at
        limit, stop = head.end(), directive.end
    else:
        limit = source.last_directive_end(at)
    start = max(limit, *(code.rfind(c, limit, at) + 1 for c in ";{}"))
    label = re.compile(r".*(?<!:):(?!:)", re.DOTALL).match(code, start, at)
    start = skip_blank(code, label.end() if label else start, at)
    end = at
    while end < stop and code[end] != ";":
        if code[end] in "([{":
            end = closing(code, end, stop)
            if end < 0:
                raise _UnclearError(
                    "a '__shared__' declaration that does not end",
                    "close its brackets in one place",
                )
        elif code[end] in ")]}":
            raise _UnclearError(
                "'__shared__' is not part of a declaration here", "pass a plain pointer"
            )
        end += 1
    if end == len(code):
        raise _UnclearError(
            "a '__shared__' declaration that does not end", "end it with a semicolon"
        )
    return start, skip_blank_back(code, end, start)


def _read(source: Source, start: int, end: int) -> _Declaration:
    code = source.live
    rest = list(code[start:end])
    alignments: list[str] = []
    dynamic = False
    at = start
    while match := _SPECIFIER.search(code, at, end):
        kind = match.lastgroup
        last = match.end()
        if kind == "refused":
            raise _UnclearError(
                f"'{match.group()}' in a declaration of shared memory",
                "shared memory is a plain object",
            )
        if kind == "drop":
            dynamic = dynamic or match.group() == "extern"
        else:
            bracket = match.start() if kind == "standard" else skip_blank(code, last, end)
            last = closing(code, bracket, end) + 1
            if last <= 0:
                raise _UnclearError("an attribute that does not end", "close its brackets")
            inner = without_comments(source.code[bracket + 1 : last - 1]).strip()
            alignments += [inner] if kind == "align" else _attribute_alignment(inner[1:-1])
        rest[match.start() - start : last - start] = " " * (last - match.start())
        at = last
    if len(alignments) > 1:
        raise _UnclearError("more than one alignment", "keep the strictest one")
    return _Declaration(start, end, "".join(rest), alignments[0] if alignments else "", dynamic)


def _attribute_alignment(text: str) -> list[str]:
    """The alignment that the inside of `__attribute__((...))` or `[[...]]` asks for, if it does."""
    aligned = _ALIGNED.match(text.strip())
    if aligned:
        return [aligned[1].strip()]
    if _HARMLESS.match(text):
        return []
    raise _UnclearError(
        f"attribute '{text.strip()}' on shared memory", "use alignas(N), or drop the attribute"
    )


def _macros(source: Source, declaration: _Declaration) -> str:
    """The text that stands for the declaration, without the last semicolon."""
    rest = declaration.rest
    definition = ""
    offset = 0
    base: str | None = None
    record = _RECORD.match(rest)
    if record:
        close = closing(rest, record.end() - 1, len(rest))
        first = _declarator(rest, *_declarators(rest, close + 1)[0])[1]
        name = record["name"].split(":")[0].strip() or f"gpuport_shared_{first}"
        body = source.code[declaration.start + record.end() - 1 : declaration.start + close + 1]
        bases = record["name"].partition(":")[2]
        definition = f"{record['key']} {name}{' :' + bases if bases else ''} {body}; "
        base = record["qualifiers"] + name
        offset = close + 1
    macros = []
    for first_at, last_at in _declarators(rest, offset):
        type_end, name, bounds = _declarator(rest, first_at, last_at)
        dimensions = _text(source, declaration, *bounds)
        prefix = _text(source, declaration, first_at, type_end)
        if base is None:
            pointers = _POINTERS.search(prefix)
            base = prefix[: pointers.start()] if pointers else prefix
            type_ = prefix
        else:
            type_ = base + prefix
        if not re.search(r"\w", type_) or "&" in prefix:
            raise _UnclearError(
                "a '__shared__' declaration without a type and a name to be seen",
                "write __shared__ T name[N]; with the keyword, the type and the name in one place",
            )
        if declaration.alignment and not _NUMERIC.search(declaration.alignment):
            # A type, or a constant: `alignas` alone takes either.
            aligned = f"gpuport_alignment_{name}"
            definition += f"struct alignas({declaration.alignment}) {aligned} {{}}; "
            declaration = declaration._replace(alignment=f"alignof({aligned})")
        macros.append(_macro(declaration, name, type_, dimensions))
    return definition + "; ".join(macros)


def _macro(declaration: _Declaration, name: str, type_: str, dimensions: str) -> str:
    macro = "GPUPORT_SIMT_SHARED"
    if declaration.dynamic:
        macro = "GPUPORT_SIMT_DYNAMIC_SHARED"
        empty = re.fullmatch(r"\[\s*\]", dimensions)
        if not empty:
            raise _UnclearError(
                "dynamic shared memory that is no array of unknown bound",
                "write extern __shared__ T name[];",
            )
        dimensions = ""
    elif re.search(r"\[\s*\]", dimensions):
        raise _UnclearError(
            "a shared array of unknown bound",
            "give it a size, or write extern __shared__ T name[];",
        )
    if declaration.alignment:
        bytes_ = declaration.alignment
        if "," in bytes_:
            bytes_ = f"({bytes_})"
        return f"{macro}_ALIGNED({bytes_}, {name}, {type_}{dimensions})"
    return f"{macro}({name}, {type_}{dimensions})"


def _declarators(rest: str, start: int) -> list[tuple[int, int]]:
    """The ranges between the commas of a declaration, the first with the type in front."""
    commas = [start + m.start() for m in re.finditer(",", _outside_brackets(rest, start))]
    return list(zip([start, *(at + 1 for at in commas)], [*commas, len(rest)], strict=True))


def _outside_brackets(rest: str, start: int) -> str:
    """`rest` from `start` on with the insides of brackets and template lists blanked.

    Outside round, square and curly brackets a declaration without initialisers compares nothing:
    each `<` there opens a list.
    """
    flat = list(rest[start:])
    at, depth = start, 0
    while at < len(rest):
        first = at
        if rest[at] in "([{":
            at = max(at, closing(rest, at, len(rest)))
            flat[first + 1 - start : at - start] = " " * (at - first - 1)
        elif rest.startswith(("<<", "<=", "->"), at):
            at += 1
        elif rest[at] == "<":
            depth += 1
        elif rest[at] == ">":
            depth -= 1
        if depth < 0:
            break
        if depth:
            flat[first - start : at + 1 - start] = " " * (at + 1 - first)
        at += 1
    if depth:
        raise _UnclearError(
            "template arguments of shared memory whose '<' and '>' do not pair",
            "put comparisons among template arguments in parentheses",
        )
    return "".join(flat)


def _declarator(rest: str, start: int, end: int) -> tuple[int, str, tuple[int, int]]:
    """Where the type of a declarator ends, its name, and where its array bounds are."""
    end = skip_blank_back(rest, end, start)
    at = end
    while at > start and rest[at - 1] == "]":
        at = opening(rest, at - 1, start)
        if at < 0:
            raise _UnclearError("an array bound that does not close", "close its brackets")
        at = skip_blank_back(rest, at, start)
    if re.search(r"[={}]", _outside_brackets(rest, start)[: end - start]):
        raise _UnclearError(
            "shared memory with an initialiser", "assign after the declaration, then synchronise"
        )
    name, type_end = _declared_name(rest, start, at)
    if name is None:
        raise _UnclearError(
            "a declarator of shared memory that is more than a name and array bounds",
            "give its type a name: using Table = int (*)[4]; __shared__ Table name;",
        )
    return type_end, name.group(), (at, end)


def _declared_name(rest: str, start: int, end: int) -> tuple[re.Match[str] | None, int]:
    """The name that ends at `end`, maybe in parentheses of its own, and where its type ends."""
    first, last = start, end
    while last > first and rest[last - 1] == ")":
        opener = opening(rest, last - 1, first)
        if opener < 0 or (first == start and _TAKES_PARENTHESIS.search(rest, start, opener)):
            return None, end
        if first == start:
            end = opener
        first = skip_blank(rest, opener + 1, last - 1)
        last = skip_blank_back(rest, last - 1, first)
    name = _NAME.search(rest, first, last)
    if name is None or first == start:
        return name, name.start() if name else end
    return (name, end) if name.start() == first else (None, end)


def _text(source: Source, declaration: _Declaration, start: int, end: int) -> str:
    """The source text of a part of `rest`, in one line, without comments."""
    pieces = []
    for at in range(start, end):
        was = source.live[declaration.start + at]
        blanked = declaration.rest[at] != was
        pieces.append(" " if blanked else source.code[declaration.start + at])
    text = without_comments("".join(pieces))
    return re.sub(r"(?:[ \t\r\n\f\v]|\\\r?\n)+", " ", text).strip()


def is_namespace_scope(code: str, at: int) -> bool:
    """Whether `at` is outside every brace but those of namespaces and `extern "C"`."""
    offsets, inside = _scopes(code)
    index = bisect_left(offsets, at) - 1
    return index < 0 or inside[index] == 0


@lru_cache(maxsize=2)  # the file: every declaration asks
def _scopes(code: str) -> tuple[list[int], list[int]]:
    """The braces of a file, and how many that are no namespace's are open behind each."""
    offsets, inside, stack = [], [], [0]
    for match in re.finditer("[{}]", code):
        at = match.start()
        if match.group() == "{":
            end = skip_blank_back(code, at, 0)
            stack.append(stack[-1] + (_NAMESPACE.search(code, max(0, end - 300), end) is None))
        elif len(stack) > 1:
            stack.pop()
        offsets.append(at)
        inside.append(stack[-1])
    return offsets, inside
