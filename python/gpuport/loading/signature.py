"""The `__global__` functions and device variables of a source, found in its text.

Types are not judged here: the compiler tells them, through `reflect.h`. What only the text knows
are the names, the namespaces, and under which `#if` something stands.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from gpuport.translate.brackets import closing, closing_angle, skip_blank
from gpuport.translate.source import Source
from gpuport.translate.tokens import without_comments

_KERNEL = re.compile(r"\b__global__\b")
_OBJECT_MACRO = re.compile(r"[ \t]*([A-Za-z_]\w*)(?![\w(])")
_VOID_FUNCTION = re.compile(r"\bvoid\s+([A-Za-z_]\w*)\s*\(")
_VARIABLE = re.compile(r"\b(?:__device__|__constant__|__managed__)\b")
_WORD = re.compile(r"[A-Za-z_]\w*")
_LAST_WORD = re.compile(r"[A-Za-z_]\w*\s*\Z")
_BEHIND_PARAMETERS = re.compile(r"(?:noexcept|requires)\b")
_NAMESPACE = re.compile(r"\b(?:inline\s+)?namespace\b([\w\s:]*)\Z")
_EXTERN = re.compile(r"\bextern\s*\" *\"\s*\Z")
_TEMPLATE = re.compile(r"\s*(?:extern\s+)?template\b(\s*<)?(\s*>)?")
_BUILTIN = frozenset({
    "bool", "char", "const", "double", "float", "int", "long", "short", "signed", "size_t",
    "unsigned", "void", "volatile",
})  # fmt: skip
# What may stand between the type and the name of a declaration, beside declarators.
_QUALIFIER = re.compile(
    r"(?:\b(?:__device__|__constant__|__managed__|static|extern|inline|const|constexpr|volatile)\b|"
    r"\b__align__\s*\([^)]*\)|\balignas\s*\([^)]*\)|\b__attribute__\s*\(\(.*?\)\)|\[\[.*?\]\])\s*",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class KernelSource:
    """One `__global__` function. `expression` names it, or an instantiation, inside `scope`."""

    name: str
    expression: str
    scope: tuple[str, ...]
    parameters: tuple[str, ...]  # their names, "" where they have none
    types: tuple[str, ...]
    is_template: bool  # one that the source does not instantiate here
    conditions: tuple[str, ...]  # the preprocessor lines that it stands under
    place: str = field(default="", compare=False)  # file and line

    @property
    def qualified(self) -> str:
        return "::".join((*filter(None, self.scope), self.expression))


@dataclass(frozen=True, slots=True)
class GlobalSource:
    """One variable of the device at namespace scope."""

    name: str
    scope: tuple[str, ...]
    conditions: tuple[str, ...]

    @property
    def qualified(self) -> str:
        return "::".join((*filter(None, self.scope), self.name))


def kernel_macros(source: Source) -> Iterator[str]:
    """The macros without arguments that stand for `__global__`, and for more besides."""
    for directive in source.directives:
        name = _OBJECT_MACRO.match(source.live, directive.body, directive.end)
        if directive.keyword == "define" and name is not None:
            if _KERNEL.search(source.live, name.end(), directive.end):
                yield name[1]


def find_kernels(source: Source, macros: Collection[str] = ()) -> Iterator[KernelSource]:
    """Every kernel that the live code declares, in order; `macros` say `__global__` too."""
    code = source.live
    words = re.compile(rf"\b(?:{'|'.join(['__global__', *macros])})\b") if macros else _KERNEL
    for match in words.finditer(code):
        if source.directive_at(match.start()) is not None:
            continue  # a macro with arguments: what it makes has to be named by name_expressions
        found = _declarator(code, match.end())
        scope = _scope(code, match.start())
        if found is None or scope is None:
            continue
        name, expression, opener, close = found
        start = _declaration_start(source, match.start())
        template = _TEMPLATE.match(code, start)
        pieces = [_text(source, *part) for part in _parts(code, opener + 1, close)]
        if pieces in ([""], ["void"]):
            pieces = []
        names, types = zip(*map(_parameter, pieces), strict=True) if pieces else ((), ())
        yield KernelSource(
            name,
            expression,
            scope,
            tuple(names),
            tuple(types),
            # `template <typename T>` but neither `template <>` nor `template __global__`.
            template is not None and template[1] is not None and template[2] is None,
            conditions_at(source, match.start()),
            f"{source.name}:{source.position(match.start())[0]}",
        )


def host_functions(source: Source, macros: Collection[str] = ()) -> Iterator[str]:
    """The names of functions that return nothing, as a kernel, and are none."""
    kernel = re.compile(rf"\b(?:{'|'.join(['__global__', *macros])})\b")
    for match in _VOID_FUNCTION.finditer(source.live):
        start = _declaration_start(source, match.start())
        if not kernel.search(source.live, start, match.start()):
            yield match[1]


def find_globals(source: Source) -> Iterator[GlobalSource]:
    """Every device variable at namespace scope of the live code, in order."""
    code = source.live
    for match in _VARIABLE.finditer(code):
        if source.directive_at(match.start()) is not None:
            continue
        start = _declaration_start(source, match.start())
        end = _statement_end(code, match.end())
        scope = _scope(code, match.start())
        text = code[start:end]
        if scope is None or end < 0 or _TEMPLATE.match(text) or "__shared__" in text:
            continue
        if code[start : match.start()].strip() and _VARIABLE.search(code, start, match.start()):
            continue  # the second word of `__constant__ __device__ int x;`
        for name in _variables(text):
            yield GlobalSource(name, scope, conditions_at(source, match.start()))


def _variables(text: str) -> Iterator[str]:
    plain = _QUALIFIER.sub(lambda m: " " * len(m.group()), text)
    for first, last in _parts(plain, 0, len(plain)):
        piece = plain[first:last]
        piece = re.split(r"[=\[{]", piece, maxsplit=1)[0]
        if "(" in piece or re.search(r"\boperator\b", piece):
            return  # a function
        word = _LAST_WORD.search(piece)
        if word is not None and not (
            first == 0 and word.start() == skip_blank(piece, 0, len(piece))
        ):
            yield word.group().strip()


def _declarator(code: str, at: int) -> tuple[str, str, int, int] | None:
    """Name, name with template arguments, and the brackets of the parameters of a kernel."""
    while word := _WORD.search(code, at):
        if re.search(r"[;{}]", code[at : word.start()]):
            return None
        at = skip_blank(code, word.end(), len(code))
        name = expression = word.group()
        if code[at : at + 1] == "<":
            angle = closing_angle(code, at, len(code)) if at == word.end() else -1
            if angle >= 0:
                expression = code[word.start() : angle + 1]
                at = skip_blank(code, angle + 1, len(code))
        if code[at : at + 1] == "(":
            close = closing(code, at, len(code))
            if close < 0:
                return None
            after = skip_blank(code, close + 1, len(code))
            if code[after : after + 1] in ("{", ";") or _BEHIND_PARAMETERS.match(code, after):
                return name, expression, at, close
            at = close + 1  # an attribute, as __launch_bounds__(256)
    return None


def _parts(code: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The ranges between the commas of a declaration, where each `<` opens a template list."""
    first, at, angles = start, start, 0
    while at < end:
        c = code[at]
        if c in "([{":
            at = max(at, closing(code, at, end))
        elif c == "<":
            angles += 1
        elif c == ">" and code[at - 1] != "-":
            angles -= 1
        elif c == "," and angles == 0:
            yield first, at
            first = at + 1
        at += 1
    yield first, end


def _parameter(text: str) -> tuple[str, str]:
    """Name and type of one parameter."""
    text = text.split("=")[0].strip()
    array = re.search(r"\s*(?:\[[^\]]*\]\s*)+\Z", text)
    head = text[: array.start()] if array else text
    word = _LAST_WORD.search(head)
    name = word.group().strip() if word else ""
    before = head[: word.start()].strip() if word else ""
    # A lone word is a type, and so is `unsigned int`.
    if not before or name in _BUILTIN or name.startswith("__restrict") or before.endswith("::"):
        return "", _type(text)
    if re.fullmatch(r"(?:\b(?:const|volatile|struct|enum|class|typename)\b|\s)+", before):
        return "", _type(text)
    rest = array.group().partition("]")[2].strip() if array else ""  # of more dimensions than one
    pointer = f" (*){rest}" if rest else " *" if array else ""
    return name, _type(before + pointer)


def _type(text: str) -> str:
    text = re.sub(r"\b(?:__restrict__|__restrict|__grid_constant__)\b", "", text)
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"\s*([*&<>,])\s*", r"\1", text).strip()
    return text.replace("*const", "*").replace(",", ", ")


def _text(source: Source, start: int, end: int) -> str:
    return " ".join(without_comments(source.code[start:end]).split())


def _declaration_start(source: Source, at: int) -> int:
    code = source.live
    start = max(code.rfind(c, 0, at) + 1 for c in ";{}")
    return max(start, source.last_directive_end(at))


def _statement_end(code: str, at: int) -> int:
    while at < len(code):
        c = code[at]
        if c == ";":
            return at
        if c in "([{":
            at = closing(code, at, len(code))
            if at < 0:
                return -1
            if c == "{" and code[skip_blank(code, at + 1, len(code)) :][:1] not in (";", ","):
                return -1  # the body of a function
        elif c in ")]}":
            return -1
        at += 1
    return -1


def _scope(code: str, at: int) -> tuple[str, ...] | None:
    """The namespaces around an offset, "" for one without a name; None inside anything else."""
    stack: list[tuple[str, ...] | None] = []
    for match in re.finditer("[{}]", code[:at]):
        if match.group() == "}":
            if stack:
                stack.pop()
            continue
        before = code[max(0, match.start() - 300) : match.start()]
        if namespace := _NAMESPACE.search(before):
            stack.append(tuple(part.strip() for part in namespace[1].split("::")))
        else:
            stack.append(() if _EXTERN.search(before) else None)
    names: list[str] = []
    for entry in stack:
        if entry is None:
            return None
        names += entry
    return tuple(names)


def conditions_at(source: Source, at: int) -> tuple[str, ...]:
    """The `#if` lines that decide whether the code at `at` is there, to be repeated elsewhere.

    An include guard is none of them: repeated below its own `#define` it would be false.
    """
    stack: list[list[str]] = []
    lines = source.directives
    for index, line in enumerate(lines):
        if line.start > at:
            break
        text = " ".join(
            without_comments(source.code[line.start : line.end]).replace("\\\n", " ").split()
        )
        if line.keyword in ("if", "ifdef", "ifndef"):
            following = lines[index + 1] if index + 1 < len(lines) else None
            is_guard = (
                line.keyword == "ifndef"
                and following is not None
                and (
                    following.keyword == "define"
                    and source.code[following.body : following.end].split()[:1] == text.split()[1:2]
                )
            )
            stack.append([] if is_guard else [text])
        elif line.keyword in ("elif", "else", "elifdef", "elifndef") and stack and stack[-1]:
            stack[-1].append(text)
        elif line.keyword == "endif" and stack:
            stack.pop()
    return tuple(line for entry in stack for line in [*entry, ""] if entry)
