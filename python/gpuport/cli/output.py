"""Standard output that may stop taking text: the reader of a pipe leaves, a disk fills up."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

import click

CANNOT_WRITE = 2


class _Guarded:
    """A stream that keeps its first failure to itself, and drops what is written after it.

    The command goes on, so its exit code says what it found and not how much of it was read.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.error: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError as error:
            self._give_up(error)
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self.error = self.error or error
        # What is left in the buffer goes nowhere, or Python would complain of it at exit.
        with suppress(OSError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


@contextmanager
def guarded_stdout() -> Iterator[None]:
    """Run a command; exit with 2 if its output could not be written, unless a pipe was closed."""
    stream: TextIO | None = sys.stdout
    if stream is None:  # closed before the start
        yield
        return
    guarded = _Guarded(stream)
    sys.stdout = cast(TextIO, guarded)
    try:
        yield
    finally:
        guarded.flush()
        sys.stdout = stream
        if guarded.error is not None and not isinstance(guarded.error, BrokenPipeError):
            click.echo(f"Error: standard output: {guarded.error.strerror}", err=True)
            sys.exit(CANNOT_WRITE)
