"""What reading a binary can fail with."""

from __future__ import annotations

try:
    from ..errors import Error
except ImportError:  # run by the build, as `python -m inspection`

    class Error(RuntimeError):  # type: ignore[no-redef]
        """Base of the errors."""


class FormatError(Error):
    """The file is damaged, cut short, or of a format that is not read here."""
