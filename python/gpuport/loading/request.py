"""What is asked to be compiled: a source, the headers of its project, and how."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gpuport.loading.hashing import blake2b
from gpuport.loading.options import Options, parse_options
from gpuport.loading.request_arguments import folders_of, mapping_of, strings_of, texts_of

SOURCE_NAME = "<source>"
# Headers that were passed as text stand in a folder of this name, which no disk has.
VIRTUAL = "/<headers>"

_INCLUDE = re.compile(
    rb'^[ \t]*#[ \t]*(?:include|include_next|import)[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>|([^"<\s]))',
    re.MULTILINE,
)
_TESTED = rb'__has_include(?:_next)?[ \t]*\([ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)'


class Request(NamedTuple):
    """A source for one backend. `archs` is empty where the backend has none, or chooses."""

    backend: str
    name: str
    text: bytes
    headers: Mapping[str, bytes]
    options: Options
    archs: tuple[str, ...] = ()
    expressions: tuple[str, ...] = ()

    @property
    def is_file(self) -> bool:
        return self.name != SOURCE_NAME

    @property
    def path(self) -> str:
        """Where the source stands, for the includes in it."""
        return os.path.abspath(self.name) if self.is_file else f"/{SOURCE_NAME}/{SOURCE_NAME}"

    @property
    def folders(self) -> list[str]:
        """Where headers are looked for, in order."""
        return [VIRTUAL, *(os.path.abspath(folder) for folder in self.options.folders)]


def make_request(
    source: str | os.PathLike[str],
    *,
    backend: str,
    headers: Mapping[str, str] | None = None,
    defines: Mapping[str, object] | None = None,
    options: Iterable[str] | None = (),
    include_dirs: Sequence[str | os.PathLike[str]] | None = (),
    archs: Iterable[str] | None = (),
    name_expressions: Iterable[str] | None = (),
) -> Request:
    """Read the source; a `str` with a newline in it is source text, anything else a path.

    Raises what `gpuport.load` says of its arguments.
    """
    parsed = parse_options(options or (), mapping_of("defines", defines))
    texts = texts_of("headers", headers)
    named = strings_of("archs", archs)
    expressions = strings_of("name_expressions", name_expressions)
    given = folders_of("include_dirs", include_dirs)
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"source must be a string or a path, not {type(source).__name__}")
    if isinstance(source, str) and "\n" in source:
        name, text = SOURCE_NAME, source.encode("utf-8", "surrogateescape")
    else:
        name = os.fspath(source)
        with open(name, "rb") as file:
            text = file.read()
        if b"\0" in text and not text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise ValueError(f"{name} is no source text: byte {text.index(0)} of it is zero")
    folders = (*given, *parsed.folders)
    if backend != "cuda":  # in CUDA's own folder are headers that only NVIDIA's compilers take
        folders = tuple(f for f in folders if not os.path.exists(f"{f}/cuda_runtime_api.h"))
    return Request(
        backend,
        name,
        text,
        texts,
        Options(folders, parsed.macros, parsed.rest),
        named,
        tuple(dict.fromkeys(expressions)),
    )


class Project(NamedTuple):
    """The project's own headers that a source may include, by path, and what they amount to.

    What is found nowhere in the project is the toolchain's. `is_complete` is False where an
    include is computed by a macro: then nobody can say beforehand what the compiler will read.
    """

    files: Mapping[str, bytes]
    edges: Mapping[tuple[str, str], str]  # (including file, name) -> included file
    digest: bytes
    is_complete: bool


def read_project(request: Request) -> Project:
    """Follow every include of the source, in live and in dead branches alike."""
    virtual = {
        os.path.normpath(f"{VIRTUAL}/{name}"): text for name, text in request.headers.items()
    }
    files: dict[str, bytes] = {}
    edges: dict[tuple[str, str], str] = {}
    digest = blake2b(digest_size=32)
    is_complete = True
    # The source's own folder comes last, as the compilers are told.
    folders = [*request.folders, os.path.dirname(request.path)]
    waiting = [(request.path, request.text)]
    while waiting:
        path, text = waiting.pop()
        tested = re.finditer(_TESTED, text) if b"__has_include" in text else ()
        for match in (*_INCLUDE.finditer(text), *tested):
            if match.re is _INCLUDE and match[3] is not None:
                is_complete = False
                continue
            name = os.fsdecode(match[1] or match[2])
            here = [os.path.dirname(path)] if match[1] else []
            found = _find(name, [*here, *folders], virtual)
            digest.update(f"{path}\0{name}\0{found[0] if found else ''}\0".encode(errors="replace"))
            if found is None:
                continue
            edges[path, name] = found[0]
            if found[0] not in files:
                files[found[0]] = found[1]
                waiting.append(found)
    for place, content in sorted(files.items()):
        digest.update(place.encode(errors="replace") + b"\0" + str(len(content)).encode() + b"\0")
        digest.update(content)
    return Project(files, edges, digest.digest(), is_complete)


def _find(
    name: str, folders: Iterable[str], virtual: Mapping[str, bytes]
) -> tuple[str, bytes] | None:
    for folder in folders:
        path = os.path.normpath(os.path.join(folder, name))
        if path in virtual:
            return path, virtual[path]
        try:
            with open(path, "rb") as file:
                return path, file.read()
        except OSError:
            continue
    return None


def display_name(path: str) -> str:
    """The name of a file for messages: a header passed as text has its own."""
    return path.removeprefix(f"{VIRTUAL}/")
