"""The translator's one exception, importable with nothing but the standard library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .findings import Finding


class TranslationError(RuntimeError):
    """A source that cannot be translated; `findings` holds everything that was found in it."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(finding.render() for finding in self.findings))
