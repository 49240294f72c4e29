"""Finding the host's C++ compiler: what is named must exist; only then is anything searched for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from .errors import NotFoundError, ToolchainError

USUAL_NAMES = ("c++", "g++", "clang++")
# Programs that start the compiler of the same name that comes later on PATH.
WRAPPERS = frozenset({"ccache", "sccache", "distcc", "icecc"})


class HostCompiler(NamedTuple):
    """The words that start the compiler, a launcher such as ccache among them.

    `programs` are the files that decide what it compiles to: behind a link to ccache stands the
    compiler that ccache starts.
    """

    command: tuple[str, ...]
    programs: tuple[str, ...]


def find_host_compiler(environ: Mapping[str, str] | None = None) -> HostCompiler:
    """`CXX` with its options, or the first of the usual names on PATH.

    `CMAKE_CXX_COMPILER_LAUNCHER` goes in front of it, as in a build by CMake.

    Raises:
        ToolchainError: a variable names a program that cannot be run.
        NotFoundError: there is no C++ compiler.
    """
    env = os.environ if environ is None else environ
    path = env.get("PATH", os.defpath)
    named = _words(env.get("CXX", ""))
    launcher = [word for word in env.get("CMAKE_CXX_COMPILER_LAUNCHER", "").split(";") if word]
    if not named:
        found = next((name for name in USUAL_NAMES if which(name, path)), None)
        if found is None:
            raise NotFoundError(
                f"no C++ compiler: CXX is not set, and PATH has no {', '.join(USUAL_NAMES)}"
            )
        named = [found]
    variables = {"CXX": named, "CMAKE_CXX_COMPILER_LAUNCHER": launcher}
    for variable, words in variables.items():
        if words and which(words[0], path) is None:
            raise ToolchainError(
                f"{variable}={env.get(variable, '')} is no program that can be run"
            )
    programs: list[str] = []
    for word in (*launcher[:1], *named):
        program = None if word.startswith("-") else which(word, path)
        if program:
            programs += _behind(program, path)
        if program and os.path.basename(os.path.realpath(program)) not in WRAPPERS:
            break
    return HostCompiler((*launcher, *named), tuple(programs))


def _words(text: str) -> list[str]:
    if not text.strip():
        return []
    import shlex

    return shlex.split(text)


def which(program: str, path: str) -> str | None:
    """As shutil.which, whose module takes longer to import than the search takes."""
    folders = [""] if os.path.dirname(program) else path.split(os.pathsep)
    for folder in folders:
        candidate = os.path.join(folder, program)
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    return None


def _behind(program: str, path: str) -> list[str]:
    """The program, and where it is a wrapper under the compiler's name, the compiler too."""
    found = os.path.realpath(program)
    own, name = os.path.split(program)
    if os.path.basename(found) in WRAPPERS and name not in WRAPPERS:
        folders = path.split(os.pathsep)
        later = folders[folders.index(own) + 1 :] if own in folders else []
        for folder in later:
            candidate = os.path.realpath(os.path.join(folder, name))
            if os.path.isfile(candidate) and os.path.basename(candidate) not in WRAPPERS:
                return [found, candidate]
    return [found]
