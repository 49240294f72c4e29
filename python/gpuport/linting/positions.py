"""Where things are in a file: looked up once for a file, asked for once a launch."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cached_property

from . import names

_WORD = re.compile(r"\w+")
_LAST_ERROR = re.compile(r"\b(?:cuda|hip)(?:GetLastError|PeekAtLastError)\b")
# As a look-ahead, so that a call among the arguments of another is seen, too.
_CALL = re.compile(r"\b(?=(\w+)\s*\(\s*([\w:]*)\s*(\(?))", re.ASCII)

Body = tuple[int, int, str]


class Positions:
    """Offsets in `live`; `bodies` are those of its functions, with start, end and name."""

    def __init__(self, live: str, bodies: list[Body]) -> None:
        self._live = live
        self._bodies: list[Body] = []  # the outermost, which do not overlap
        for body in sorted(bodies, key=lambda body: (body[0], -body[1])):
            if not self._bodies or body[0] >= self._bodies[-1][1]:
                self._bodies.append(body)
        self._starts = [body[0] for body in self._bodies]

    def function_around(self, offset: int) -> Body:
        """Where the function around an offset starts and ends, and its name."""
        index = bisect_right(self._starts, offset) - 1
        if index >= 0 and offset < self._bodies[index][1]:
            return self._bodies[index]
        return 0, len(self._live), ""

    def uses_of(self, name: str) -> list[int]:
        """Where a word stands."""
        return self._words.get(name, [])

    @cached_property
    def _words(self) -> dict[str, list[int]]:
        words: dict[str, list[int]] = {}
        for match in _WORD.finditer(self._live):
            words.setdefault(match.group(), []).append(match.start())
        return words

    def is_checked(self, start: int, end: int) -> bool:
        """Whether code looks at the error of a launch, itself or through a macro or helper."""
        index = bisect_left(self._checks, start)
        return index < len(self._checks) and self._checks[index] < end

    @cached_property
    def _checks(self) -> list[int]:
        found = {match.start() for match in _LAST_ERROR.finditer(self._live)}
        for match in _CALL.finditer(self._live):
            name, argument, called = match.groups()
            if names.CHECKS.search(name) and name not in ("static_assert",):
                # CHECK(cudaMemcpy(...)) looks at the copy: a refused launch is not reported there.
                if called and argument.startswith(("cuda", "hip")):
                    continue
                found.add(match.start())
        return sorted(found)
