"""Two accesses of shared memory with no barrier in between: whether they may be of two threads."""

from __future__ import annotations

from typing import NamedTuple


class Access(NamedTuple):
    """A read or a write of an element: the text of its index, and where it stands."""

    place: str
    parts: tuple[str, ...]  # the indices, of several; "" for what other threads may have too
    linear: bool
    guard: tuple[int, ...]
    single: bool  # only one thread is here
    statement: int
    token: int
    above: frozenset[tuple[str, str, int]] = frozenset()  # what is less than an index of the thread


def is_exchange(write: Access, read: Access) -> bool:
    """Whether another thread may have written what is read."""
    if _shares_part(write, read):
        return False
    if write.linear:
        return write.place != read.place and not _is_behind(write, read)
    return bool(write.guard) and write.single and read.guard[: len(write.guard)] != write.guard


def is_reuse(read: Access, write: Access) -> bool:
    """Whether another thread may still have to read what is written."""
    if read.statement == write.statement or read.single or read.place == write.place:
        return False
    if _shares_part(read, write) or (read.guard and read.guard == write.guard):
        return False
    return write.linear and not (read.guard and write.guard and read.guard[0] == write.guard[0])


def _shares_part(one: Access, other: Access) -> bool:
    """Whether both are in the same row, or in a column that only this thread has."""
    return any(a and a == b for a, b in zip(one.parts, other.parts, strict=False))


def _is_behind(write: Access, read: Access) -> bool:
    """Whether every thread that writes has a greater index there than what is read."""
    entries = {(index, at) for index, _, at in write.above}
    known = {(index, less) for index, less, at in read.above if (index, at) in entries}
    pairs = zip(write.place.split("]["), read.place.split("]["), strict=False)
    return any(pair in known for pair in pairs)
