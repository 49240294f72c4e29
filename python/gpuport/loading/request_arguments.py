"""The arguments of a request, made plain, or refused by a TypeError that names the parameter."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping


def strings_of(name: str, values: object) -> tuple[str, ...]:
    """A sequence of strings; None is an empty one."""
    if values is None:
        return ()
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a sequence of strings, not {_given(values)}")
    found = tuple(values)
    for value in found:
        if not isinstance(value, str):
            raise TypeError(f"{name} must hold strings, not {_given(value)}")
    return found


def mapping_of(name: str, values: object) -> dict[str, object]:
    """A mapping from strings; None is an empty one."""
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise TypeError(f"{name} must be a mapping, as a dict, not {_given(values)}")
    for key in values:
        if not isinstance(key, str):
            raise TypeError(f"{name} must have strings as keys, not {_given(key)}")
    return dict(values)


def texts_of(name: str, values: object) -> dict[str, bytes]:
    """A mapping from strings to strings, as the bytes of files."""
    texts = {}
    for key, value in mapping_of(name, values).items():
        if not isinstance(value, str):
            raise TypeError(f"{name}[{key!r}] must be a string, not {_given(value)}")
        texts[key] = value.encode("utf-8", "surrogateescape")
    return texts


def folders_of(name: str, values: object) -> tuple[str, ...]:
    """A sequence of paths of folders; None is an empty one. ValueError where one is not there."""
    if values is None:
        return ()
    if isinstance(values, str | bytes | os.PathLike) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a sequence of paths, not {_given(values)}")
    found = []
    for value in values:
        if not isinstance(value, str | os.PathLike):
            raise TypeError(f"{name} must hold paths, not {_given(value)}")
        folder = os.fsdecode(value)
        if not os.path.isdir(folder):
            raise ValueError(f"{name}: there is no folder {folder!r}")
        found.append(folder)
    return tuple(found)


def _given(value: object) -> str:
    if isinstance(value, str):
        return f"the one string {value!r}"
    return repr(value) if value is None else f"a value of type {type(value).__name__}"
