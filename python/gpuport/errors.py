"""What gpuport raises besides TypeError, ValueError, OverflowError and MemoryError, and warns with.

The native modules look these classes up here by name, so a failure in C++ arrives as one of them.
"""

from __future__ import annotations

__all__ = [
    "BackendUnavailableError",
    "CompileError",
    "Error",
    "LaunchError",
    "PortabilityWarning",
    "TranslationError",
    "UnsupportedArchError",
]


class Error(RuntimeError):
    """Base of every error that is gpuport's own."""


class BackendUnavailableError(Error):
    """The backend that was asked for is not built or has no device; the message says why."""


class UnsupportedArchError(Error):
    """The module holds no code for the device; the message names both architectures."""


class TranslationError(Error):
    """The translator refused a source. `findings` holds everything it found, in source order."""

    def __init__(self, message: str = "", findings: tuple[object, ...] = ()) -> None:
        super().__init__(message)
        self.findings = tuple(findings)


class CompileError(Error):
    """A compiler refused a source; the message holds the compiler's own output."""


class PortabilityWarning(UserWarning):
    """Something in a source means another thing on this backend; the message names the place."""


class LaunchError(Error):
    """A kernel could not be launched, or failed while it ran; the message names the kernel."""
