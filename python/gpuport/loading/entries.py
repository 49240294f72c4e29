"""The lines that are put behind a source, so that the binary tells of its kernels and variables.

They stand at the end of the main file, under the same `#if` lines and in the same namespaces as
what they name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gpuport.errors import CompileError
from gpuport.loading.options import Options
from gpuport.loading.signature import (
    GlobalSource,
    KernelSource,
    find_globals,
    find_kernels,
    host_functions,
    kernel_macros,
)
from gpuport.loading.sources import ProjectFile

REFLECT = Path(__file__).with_name("reflect.h")
# The name that compilers give to errors in an entry.
EXPRESSIONS = "name_expressions"


@dataclass(frozen=True, slots=True)
class KernelEntry:
    """A kernel that the binary shall tell of, under a number."""

    number: int
    name: str
    expression: str  # of function type, or a pointer to a function
    parameters: tuple[str, ...]
    types: tuple[str, ...]
    scope: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    asked_for: str = ""  # the name expression
    place: str = ""  # file and line

    @property
    def qualified(self) -> str:
        """The expression outside all namespaces; "" where its types may not be known there."""
        named = [name for name in self.scope if name]
        if self.expression.startswith("static_cast"):
            return "" if named else self.expression
        return "::".join([*named, self.expression])


@dataclass(frozen=True, slots=True)
class GlobalEntry:
    number: int
    variable: GlobalSource


@dataclass(frozen=True, slots=True)
class Entries:
    kernels: tuple[KernelEntry, ...]
    globals: tuple[GlobalEntry, ...]


def find_entries(files: Iterable[ProjectFile], expressions: Sequence[str]) -> Entries:
    """The kernels and variables of the files, and the kernels that name expressions ask for."""
    kernels: list[KernelSource] = []
    variables: list[GlobalSource] = []
    files = list(files)
    macros = {name for file in files for name in kernel_macros(file.source)}
    hosts = {name for file in files for name in host_functions(file.source, macros)}
    for file in files:
        for kernel in find_kernels(file.source, macros):
            kernels.append(replace(kernel, conditions=file.conditions + kernel.conditions))
        for variable in find_globals(file.source):
            variables.append(replace(variable, conditions=file.conditions + variable.conditions))
    if not (kernels or expressions) and any("__global__" in file.source.live for file in files):
        raise CompileError(
            "the source has __global__, but no kernel was found: a macro with arguments makes it? "
            "Name it in name_expressions"
        )
    return Entries(
        tuple(_kernel_entries(kernels, expressions, hosts)),
        tuple(GlobalEntry(i, v) for i, v in enumerate(dict.fromkeys(variables))),
    )


def _kernel_entries(
    kernels: Sequence[KernelSource], expressions: Sequence[str], hosts: Collection[str]
) -> Iterable[KernelEntry]:
    chosen: dict[tuple[object, ...], KernelSource] = {}
    for kernel in kernels:
        if not kernel.is_template:
            # A definition after its declaration has the better names.
            key = (kernel.scope, kernel.expression, kernel.types, kernel.conditions)
            chosen[key] = kernel
    # The same under two conditions is one kernel with two forms, of which the compiler sees one.
    count = Counter((k.scope, k.expression) for k in chosen.values())
    number = 0
    for kernel in chosen.values():
        expression = kernel.expression
        names = kernel.parameters
        if not any(names) and expression != kernel.name:  # an instantiation may leave them out
            template = _named(kernels, kernel.qualified)
            names = template.parameters if template else names
        # Outside of namespaces a library may have a function of that name, as C has div and index.
        may_be_another = not any(kernel.scope) and expression == kernel.name
        overloaded = count[kernel.scope, kernel.expression] > 1 or kernel.expression in hosts
        if overloaded or may_be_another:
            expression = f"static_cast<void (*)({', '.join(kernel.types)})>({expression})"
        yield KernelEntry(
            number,
            kernel.qualified,
            expression,
            names,
            kernel.types,
            kernel.scope,
            kernel.conditions,
            place=kernel.place,
        )
        number += 1
    plain = {kernel.qualified for kernel in chosen.values()}
    for asked in expressions:
        if asked.removeprefix("::") in plain:  # is there already
            continue
        named = _named(kernels, asked)
        yield KernelEntry(
            number,
            asked,
            asked,
            named.parameters if named else (),
            named.types if named else (),
            asked_for=asked,
            place=named.place if named else "",
        )
        number += 1


def _named(kernels: Sequence[KernelSource], expression: str) -> KernelSource | None:
    """The kernel of the source that an expression most likely names, for the parameters' names."""
    head = expression.partition("<")[0].strip().lstrip("&").strip()
    found = [k for k in kernels if "::".join((*filter(None, k.scope), k.name)) == head]
    found = found or [k for k in kernels if k.name == head.rpartition("::")[2]]
    templates = [k for k in found if k.is_template]
    return next(iter(templates or found), None)


def wrapped(scope: tuple[str, ...], conditions: tuple[str, ...], line: str) -> list[str]:
    """A line in its namespaces, under its conditions."""
    # What a namespace without a name holds is known around it; a variable put there would not be.
    named = [name for name in scope if name]
    opened = " ".join(f"namespace {name} {{" for name in named)
    return [
        *(condition for condition in conditions if condition),
        f"{opened} {line} {'}' * len(named)}".strip(),
        *("#endif" for condition in conditions if not condition),
    ]


def expression_line(entry: KernelEntry) -> list[str]:
    """The directive under which a compiler names the expression that it does not like."""
    return [f'#line 1 "{EXPRESSIONS}"'] if entry.asked_for else []


def device_tail(entries: Entries) -> Iterator[str]:
    """The lines for a compiler of device code."""
    yield '#line 1 "<gpuport>"'
    for entry in entries.kernels:
        yield from expression_line(entry)
        # A compiler that also sees the host's half instantiates what that half uses.
        line = (
            f"GPUPORT_PARAMETERS({entry.number}, __device__, {entry.expression}) "
            f"GPUPORT_SYMBOL({entry.number}, {entry.expression}) "
            f"GPUPORT_USE({entry.number}, {entry.expression})"
        )
        yield from wrapped(entry.scope, entry.conditions, line)
    for variable in entries.globals:
        found = variable.variable
        line = f"GPUPORT_ELEMENT({variable.number}, __device__, {found.name})"
        yield from wrapped(found.scope, found.conditions, line)


def name_expressions(entries: Entries) -> list[str]:
    """What a run-time compiler is asked to name; under an `#if` it may not be there."""
    kernels = [
        entry.qualified for entry in entries.kernels if not entry.conditions and entry.qualified
    ]
    variables = [
        f"&{entry.variable.qualified}" for entry in entries.globals if not entry.variable.conditions
    ]
    return [*filter(None, kernels), *variables]


def prelude(options: Options) -> list[str]:
    """The lines in front of a source: what the lines behind it need, then the macros.

    In this order, and in front, since macros of a user may have any name.
    """
    reflect = REFLECT.read_text(encoding="utf-8").replace("#pragma once\n", "")
    return ['#line 1 "<gpuport>"', reflect, *options.late_lines()]
