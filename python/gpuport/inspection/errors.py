"""What reading a binary can fail with."""

from __future__ import annotations

from gpuport.errors import Error


class FormatError(Error):
    """The file is damaged, cut short, or of a format that is not read here."""
