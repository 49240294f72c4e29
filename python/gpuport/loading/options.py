"""Compiler options, and those among them that have a meaning to the loader.

`options` go to the compiler of the backend as they are. Include folders and macros are taken out,
since the loader has to know them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import NamedTuple

from gpuport.loading.request_arguments import strings_of

_INCLUDE = ("-I", "--include-path", "-isystem")
_DEFINE = ("-D", "--define-macro")
_UNDEFINE = ("-U", "--undefine-macro")


# These end with something else than a module, or put it somewhere else.
_ENDS = frozenset(
    (
        *("-c", "-E", "-S", "-o", "-M", "-MM", "-fsyntax-only"),
        *("--compile", "--preprocess", "--output-file", "--syntax-only"),
        *("-ptx", "--ptx", "-cubin", "--cubin", "-fatbin", "--fatbin", "-link", "-run", "--run"),
    )
)

# Macros with reserved names configure headers, and so does this one.
_EARLY = "NDEBUG"


class Options(NamedTuple):
    """Options taken apart. A macro without a value is "1"; one that is not defined is None."""

    folders: tuple[str, ...] = ()
    macros: Mapping[str, str | None] = MappingProxyType({})
    rest: tuple[str, ...] = ()

    def macro_flags(self) -> list[str]:
        return [_flag(name, value) for name, value in self.macros.items()]

    def early_flags(self) -> list[str]:
        """Flags for the macros that a compiler's own headers ask for."""
        return [_flag(name, value) for name, value in self.macros.items() if _is_early(name)]

    def late_lines(self) -> list[str]:
        """The other macros, as lines for behind the runtime's headers: `T` may be a name there."""
        lines = ['#line 1 "<defines>"']
        for name, value in self.macros.items():
            if not _is_early(name):
                lines.append(f"#undef {name.partition('(')[0]}")
                if value is not None:
                    lines.append(f"#define {name} {value}")
        return lines

    def decided(self) -> dict[str, int | None]:
        """The macros as the translator takes them: integers, or certainly not defined."""
        found: dict[str, int | None] = {}
        for name, value in self.macros.items():
            if value is None:
                found[name] = None
            else:
                with suppress(ValueError):
                    found[name] = int(value, 0)
        return found


def _is_early(name: str) -> bool:
    return name.startswith("_") or name == _EARLY


def _flag(name: str, value: str | None) -> str:
    return f"-U{name}" if value is None else f"-D{name}={value}"


def parse_options(options: Iterable[str], defines: Mapping[str, object] | None) -> Options:
    """Take options apart; `defines` come after the macros among the options, and win."""
    words = list(strings_of("options", options))
    folders: list[str] = []
    macros: dict[str, str | None] = {}
    rest: list[str] = []
    for option, value in _pairs(words):
        if option in _INCLUDE:
            folders.append(value)
        elif option in _DEFINE:
            name, _, body = value.partition("=")
            macros[name] = body if "=" in value else "1"
        elif option in _UNDEFINE:
            macros[value] = None
        elif value.partition("=")[0] in _ENDS:
            raise ValueError(f"options: {value} does not end with a module that can be loaded")
        else:
            rest.append(value)
    for name, definition in (defines or {}).items():
        macros[name] = _macro_value(definition)
    return Options(tuple(folders), macros, tuple(rest))


def _pairs(words: list[str]) -> Iterator[tuple[str, str]]:
    """(option, value) for include folders and macros, in all their spellings; ("", word) else."""
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        for option in (*_INCLUDE, *_DEFINE, *_UNDEFINE):
            if word == option and at < len(words):
                yield option, words[at]
                at += 1
                break
            long = option.startswith("--")
            if word.startswith(option + "=" if long else option) and word != option:
                yield option, word[len(option) + long :]
                break
        else:
            yield "", word


def _macro_value(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return "" if value is None else value
    if isinstance(value, bool):
        return str(int(value))
    return str(value)
