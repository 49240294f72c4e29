"""Which files a translation reads and where it writes them."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
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
                for path in source_files(source, SOURCE_SUFFIXES, output)
            ]
        elif source.exists():
            jobs.append(Job(source, output if single else output / source.name, source.parent))
        else:
            raise UsageError(f"{source}: no such file or folder")
    if not jobs:
        raise UsageError(f"no source files in {', '.join(map(str, sources))}")
    check_outputs(jobs)
    return jobs


def check_outputs(jobs: Iterable[Job]) -> None:
    """Refuse a plan that writes a file twice, over a source, or over what is no regular file."""
    jobs = list(jobs)
    writers: dict[Path, Path] = {}
    inputs = {_real(job.source) for job in jobs}
    for job in jobs:
        place = _real(job.output)
        if job.output.is_symlink() and place.is_symlink():
            raise UsageError(f"{job.output} is a link that leads nowhere")
        if place.exists() and not place.is_file():
            raise UsageError(f"{job.output} exists and is not a regular file")
        if place in inputs:
            raise UsageError(f"{job.output} is a source: the output needs a place of its own")
        if place in writers:
            raise UsageError(f"{writers[place]} and {job.source} both go to {job.output}")
        writers[place] = job.source


def _real(path: Path) -> Path:
    """`path` with its links followed; `resolve` raises where links go in a circle."""
    return Path(os.path.realpath(path))


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


def source_files(
    folder: Path, suffixes: Collection[str], skipped: Path | None = None
) -> Iterator[Path]:
    """The files below `folder` with one of `suffixes`; nothing in hidden folders or in `skipped`.

    A folder that cannot be read is an error: its files would be missing from the result unnoticed.
    """
    left_out = skipped.resolve() if skipped is not None else None
    for parent, folders, files in os.walk(folder, onerror=_raise):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and (Path(parent) / name).resolve() != left_out
        )
        for name in sorted(files):
            if os.path.splitext(name)[1].lower() in suffixes:
                yield Path(parent) / name


def _raise(error: OSError) -> None:
    raise error


def read_source(path: Path) -> bytes:
    """The bytes of a regular file. Anything else is refused: a pipe would be waited for."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise UsageError(f"{path} is not a regular file")
        return file.read()
