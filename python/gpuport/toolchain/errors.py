"""What the search for a toolchain ends with where it finds none."""

from __future__ import annotations


class ToolchainError(Exception):
    """The toolchain cannot be used as asked; the message says what and where."""


class NotFoundError(ToolchainError):
    """Nothing was found. Under AUTO this is the reason for a backend that is not built."""
