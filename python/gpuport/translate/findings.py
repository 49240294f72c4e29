"""What the translator has to say about a source: one record a place, with a stable rule id."""

from __future__ import annotations

from typing import Any, NamedTuple

ERROR = "error"
WARNING = "warning"


# A NamedTuple and not a dataclass: `dataclasses` imports `inspect`, which costs more than the rest
# of the start-up of this tool, and the build starts it once a file.
class Finding(NamedTuple):
    """One fault, with where it is, what it is and what to do about it."""

    rule: str
    severity: str
    file: str
    line: int
    column: int
    message: str
    hint: str
    source: str
    length: int = 1

    def render(self) -> str:
        """The finding as a compiler would print it: place, message, line, caret, what to do."""
        head = (
            f"{self.file}:{self.line}:{self.column}: {self.severity}: {self.message} [{self.rule}]"
        )
        before = self.source[: self.column - 1]
        # Tabs stay tabs under the line, so that the caret stands right at any tab width.
        pad = "".join(c if c == "\t" else " " for c in before)
        room = max(1, min(self.length, len(self.source) - len(before)))
        lines = [head, f"  {self.source}", f"  {pad}^{'~' * (room - 1)}"]
        if self.hint:
            lines.append(f"  {self.hint}")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The finding for `--json`."""
        return self._asdict()
