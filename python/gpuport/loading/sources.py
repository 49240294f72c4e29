"""The files of a project that a compiler of one target reads, and the `#if` lines around them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpuport.loading.request import Project, Request, display_name
from gpuport.loading.signature import conditions_at
from gpuport.translate.conditions import TARGET_MACROS
from gpuport.translate.source import Source


@dataclass(frozen=True)
class ProjectFile:
    """One file. `conditions` stand around the include that leads to it."""

    path: str
    name: str  # for messages
    text: bytes
    source: Source
    conditions: tuple[str, ...]


def live_files(request: Request, project: Project, target: str) -> list[ProjectFile]:
    """The main file, and the headers that live code includes, each once, where it is first met.

    What stands in a branch that is certainly dead is left out; where nobody can say, it is in, and
    the conditions tell.
    """
    macros = {**TARGET_MACROS.get(target, {}), **request.options.decided()}
    found: dict[str, ProjectFile] = {}

    def visit(path: str, name: str, text: bytes, around: tuple[str, ...]) -> None:
        if path in found:
            return
        source = Source.from_bytes(text, name, macros)
        found[path] = ProjectFile(path, name, text, source, around)
        for included, conditions in _includes(source):
            target_path = project.edges.get((path, included))
            if target_path is not None:
                header = project.files[target_path]
                visit(target_path, display_name(target_path), header, around + conditions)

    visit(request.path, request.name, request.text, ())
    return list(found.values())


def _includes(source: Source) -> Iterator[tuple[str, tuple[str, ...]]]:
    for header in source.headers:
        name = header.name.encode("latin-1").decode("utf-8", "surrogateescape")
        yield name, conditions_at(source, header.start)
