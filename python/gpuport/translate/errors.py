"""The translator's exception: the package's, or its twin where the translator runs alone."""

from __future__ import annotations

try:
    from ..errors import TranslationError
except ImportError:  # run from the source tree, as `python -m translate`

    class TranslationError(RuntimeError):  # type: ignore[no-redef]
        """The translator refused a source. `findings` holds what it found, in source order."""

        def __init__(self, message: str = "", findings: tuple[object, ...] = ()) -> None:
            super().__init__(message)
            self.findings = tuple(findings)


__all__ = ["TranslationError"]
