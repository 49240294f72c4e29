"""A brace without a partner, which compilers notice where the lines behind the source end."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Concatenate, ParamSpec

from gpuport.errors import CompileError
from gpuport.loading.records import ModuleRecord
from gpuport.loading.request import Project, Request
from gpuport.loading.sources import ProjectFile, live_files

Others = ParamSpec("Others")
Compile = Callable[Concatenate[Request, Project, Others], ModuleRecord]


def unbalanced_brace(files: Iterable[ProjectFile]) -> str:
    """Where a brace of a file has no partner, for a source that did not compile; "" otherwise.

    A macro may hold the partner, so that this is no error by itself.
    """
    for file in files:
        source = file.source
        open_braces: list[int] = []
        for match in re.finditer(r"[{}]", source.live):
            if source.directive_at(match.start()) is not None:
                continue
            if match.group() == "{":
                open_braces.append(match.start())
            elif open_braces:
                open_braces.pop()
            else:
                line, column, _ = source.position(match.start())
                return f"{file.name}:{line}:{column}: this '}}' closes nothing"
        if open_braces:
            line, column, _ = source.position(open_braces[0])
            return f"{file.name}:{line}:{column}: this '{{' is never closed"
    return ""


def tells_of_braces(target: str) -> Callable[[Compile[Others]], Compile[Others]]:
    """A function that compiles, with a brace that has no partner in front of what compilers say.

    They notice it at the end of what they read, which is no line of the source.
    """

    def wrap(compile_module: Compile[Others]) -> Compile[Others]:
        @wraps(compile_module)
        def told(
            request: Request, project: Project, /, *others: Others.args, **named: Others.kwargs
        ) -> ModuleRecord:
            try:
                return compile_module(request, project, *others, **named)
            except CompileError as error:
                place = unbalanced_brace(live_files(request, project, target))
                if not place:
                    raise
                raise CompileError(f"{place}\n{error}") from None

        return told

    return wrap
