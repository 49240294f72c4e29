"""Which files a translation reads and where it writes them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

SOURCE_SUFFIXES = frozenset({
    ".cu", ".cuh", ".hip", ".c", ".cc", ".cpp", ".cxx", ".c++", ".h", ".hh", ".hpp", ".hxx", ".h++",
    ".inl", ".inc", ".ipp", ".tpp", ".txx", ".def",
})  # fmt: skip


class UsageError(Exception):
    """Arguments that make no plan: what is wrong with them."""


class Job(NamedTuple):
    """A file to read and the file to write; its place is counted from the folder `root`."""

    source: Path
    output: Path
    root: Path


def plan(sources: Sequence[Path], output: Path) -> list[Job]:
    """The files of `sources` (files and folders) and their places under `output`.

    One file goes to `output` itself, unless that is a folder; several and folders go under it.
    """
    single = len(sources) == 1 and not sources[0].is_dir() and not output.is_dir()
    jobs: list[Job] = []
    for source in sources:
        if source.is_dir():
            jobs += [
                Job(path, output / path.relative_to(source), source)
                for path in _walk(source, output)
            ]
        elif source.is_file():
            jobs.append(Job(source, output if single else output / source.name, source.parent))
        else:
            raise UsageError(f"{source}: no such file or folder")
    if not jobs:
        raise UsageError(f"no source files in {', '.join(map(str, sources))}")
    check_outputs(jobs)
    return jobs


def check_outputs(jobs: Iterable[Job]) -> None:
    """Refuse a plan that writes a file twice or writes over a source."""
    jobs = list(jobs)
    writers: dict[Path, Path] = {}
    inputs = {job.source.resolve() for job in jobs}
    for job in jobs:
        place = job.output.resolve()
        if place in inputs:
            raise UsageError(f"{job.output} is a source: the output needs a place of its own")
        if place in writers:
            raise UsageError(f"{writers[place]} and {job.source} both go to {job.output}")
        writers[place] = job.source


def included(
    job: Job, includes: Iterable[tuple[str, bool]], output: Path, folders: Sequence[Path]
) -> Iterator[Job]:
    """Jobs for the headers that `job` includes: in quotes from its own tree, or from `folders`."""
    for name, quoted in includes:
        places = [(folder, folder) for folder in folders]
        if quoted:
            places.insert(0, (job.source.parent, job.root))
        for folder, root in places:
            path = Path(os.path.normpath(folder / name))
            if not path.is_file():
                continue
            try:
                place = path.relative_to(Path(os.path.normpath(root)))
            except ValueError:
                break  # outside the tree: reached over an include path, as before
            yield Job(path, output / place, root)
            break


def _walk(folder: Path, output: Path) -> Iterator[Path]:
    skipped = output.resolve()
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and (Path(parent) / name).resolve() != skipped
        )
        for name in sorted(files):
            if os.path.splitext(name)[1].lower() in SOURCE_SUFFIXES:
                yield Path(parent) / name
