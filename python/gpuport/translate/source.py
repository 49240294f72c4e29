"""One source file: its text, the view of its live code, and the edits that a translation makes."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import cached_property

from .conditions import Directive, Macros, branches, directives
from .findings import ERROR, WARNING, Finding
from .macros import expanded_macros, macro_name
from .tokens import HeaderName, mask, mask_tested_headers, tight_splices

# Errors of what a macro's body holds. Of one that nothing expands they are warnings.
_OF_BODIES = frozenset({"inline-ptx", "no-hip-name", "pasted-name", "texture-reference"})
_IMPLEMENTATIONS = (".cu", ".cpp", ".cc", ".cxx", ".c", ".hip", ">")
BYTE_ORDER_MARK = "\xef\xbb\xbf"
_LAST_CHARACTER_CR = re.compile(r"\r\Z")


class Source:
    """A file for one target.

    `code` is the text with the line continuations inside tokens taken out; `live` has the same
    length, with everything blank that is not code of the target. All offsets are offsets into these
    two.
    """

    def __init__(self, text: str, name: str, macros: Macros) -> None:
        self.text = text
        self.name = name
        self.findings: list[Finding] = []
        self._reported: set[Finding] = set()
        # Whether another file of the project has a word; None: nobody knows.
        self.elsewhere: Callable[[str], bool] | None = None
        self._splices = tight_splices(text)
        self.code = self._without_splices()
        masked, headers = mask(self.code)
        masked, tested = mask_tested_headers(self.code, masked)
        self._edits: list[tuple[int, int, str]] = []
        lines = directives(masked) if "#" in masked else []
        found = branches(masked, lines, macros)
        dead = found.dead
        self._own = found.own
        self.live = _blank(masked, dead)
        starts = [start for start, _ in dead]
        self.directives = [d for d in lines if not _inside(d.start, dead, starts)]
        self.headers: list[HeaderName] = [h for h in headers if not _inside(h.start, dead, starts)]
        # Those that `__has_include` asks for.
        self.tested_headers = [h for h in tested if not _inside(h.start, dead, starts)]
        if self.code.startswith(("\xff\xfe", "\xfe\xff")):
            self.report("encoding", 0, "the file is UTF-16", "save it as UTF-8")

    @classmethod
    def from_bytes(cls, data: bytes, name: str, macros: Macros) -> Source:
        """A source from the bytes of a file."""
        return cls(data.decode("latin-1"), name, macros)

    def _without_splices(self) -> str:
        if not self._splices:
            return self.text
        pieces = []
        done = 0
        for start, end in self._splices:
            pieces.append(self.text[done:start])
            done = end
        pieces.append(self.text[done:])
        return "".join(pieces)

    @cached_property
    def _splice_offsets(self) -> tuple[list[int], list[int]]:
        """Where in `code` continuations were taken out, and how much up to and with each."""
        at, removed, total = [], [], 0
        for start, end in self._splices:
            at.append(start - total)
            total += end - start
            removed.append(total)
        return at, removed

    def _physical(self, offset: int) -> int:
        """The offset into `text` of the character at `offset` of `code`."""
        if not self._splices:
            return offset
        at, removed = self._splice_offsets
        index = bisect_right(at, offset)
        return offset + (removed[index - 1] if index else 0)

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(m.end() for m in re.finditer("\n", self.text))]

    def position(self, offset: int) -> tuple[int, int, str]:
        """Line and column, from 1, in characters, and the text of that line."""
        physical = self._physical(offset)
        number = bisect_right(self._line_starts, physical)
        start = self._line_starts[number - 1]
        end = self.text.find("\n", start)
        line = self.text[start : end if end >= 0 else len(self.text)]
        if start == 0 and line.startswith(BYTE_ORDER_MARK):
            start, line = len(BYTE_ORDER_MARK), line[len(BYTE_ORDER_MARK) :]
        line = _LAST_CHARACTER_CR.sub("", line)
        return number, len(_readable(self.text[start:physical])) + 1, _readable(line)

    def report(
        self,
        rule: str,
        offset: int,
        message: str,
        hint: str,
        *,
        severity: str = ERROR,
        length: int = 1,
    ) -> None:
        """Note a finding at `offset`."""
        if severity == ERROR and rule in _OF_BODIES and self._is_unexpanded(offset):
            severity, message = WARNING, f"{message}, in a macro that nothing expands"
        line, column, text = self.position(offset)
        finding = Finding(rule, severity, self.name, line, column, message, hint, text, length)
        if finding not in self._reported:
            self._reported.add(finding)
            self.findings.append(finding)

    def _is_unexpanded(self, offset: int) -> bool:
        """Whether an offset is in the body of a macro that nothing expands."""
        directive = self.directive_at(offset)
        name = macro_name(self.live, directive) if directive else ""
        if not name or name in self._expanded_macros:
            return False
        if self.elsewhere is None:
            return self.name.endswith(_IMPLEMENTATIONS)  # a header's are for others
        return not self.elsewhere(name)

    @cached_property
    def _expanded_macros(self) -> set[str]:
        return expanded_macros(self.live, self.directives)

    def replace(self, start: int, end: int, new: str) -> None:
        """Put `new` in the place of a range of `code`. Ranges must not overlap."""
        self._edits.append((start, end, new))

    def is_own(self, offset: int) -> bool:
        """Whether `offset` is in a branch that is live because of the target."""
        return any(start <= offset < end for start, end in self._own)

    def directive_at(self, offset: int) -> Directive | None:
        """The preprocessor line that holds `offset`, if one does."""
        index = bisect_right(self._directive_starts, offset) - 1
        if index >= 0 and offset < self.directives[index].end:
            return self.directives[index]
        return None

    def last_directive_end(self, offset: int) -> int:
        """The end of the last preprocessor line before `offset`, 0 if there is none."""
        index = bisect_right(self._directive_starts, offset) - 1
        return self.directives[index].end if index >= 0 else 0

    @cached_property
    def _directive_starts(self) -> list[int]:
        return [directive.start for directive in self.directives]

    def render(self) -> str:
        """The text with the edits applied."""
        if not self._edits:
            return self.text
        pieces = []
        done = 0
        for start, end, new in sorted(self._edits):
            first = self._physical(start)
            last = self._physical(end - 1) + 1 if end > start else first
            assert first >= done, "edits overlap"
            pieces.append(self.text[done:first])
            pieces.append(self._respliced(start, end, new) if last - first != end - start else new)
            done = last
        pieces.append(self.text[done:])
        return "".join(pieces)

    def _respliced(self, start: int, end: int, new: str) -> str:
        """`new` with the continuations of the range that it replaces, so that no line is lost."""
        old = self.code[start:end]
        common = 0
        while common < min(len(old), len(new)) and old[-1 - common] == new[-1 - common]:
            common += 1
        pieces = [new[: len(new) - common]]
        at, _ = self._splice_offsets
        done = end - common
        for index in range(bisect_right(at, start), bisect_right(at, end - 1)):
            here = max(at[index], done)
            pieces.append(self.code[done:here])
            pieces.append(self.text[slice(*self._splices[index])])
            done = here
        pieces.append(self.code[done:end])
        return "".join(pieces)


def _readable(text: str) -> str:
    return text.encode("latin-1").decode("utf-8", "replace")


def _blank(masked: str, ranges: list[tuple[int, int]]) -> str:
    pieces = []
    done = 0
    for start, end in ranges:
        pieces.append(masked[done:start])
        pieces.append(" " * (end - start))
        done = end
    pieces.append(masked[done:])
    return "".join(pieces)


def _inside(offset: int, ranges: list[tuple[int, int]], starts: list[int]) -> bool:
    index = bisect_right(starts, offset) - 1
    return index >= 0 and offset < ranges[index][1]
