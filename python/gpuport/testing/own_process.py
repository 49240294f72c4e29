"""A user's kernel in a process of its own: one that writes anywhere may take its process along."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, Final

from gpuport.testing.case import Case, Difference, Target
from gpuport.testing.engine import Failure, Outcome
from gpuport.testing.interrupts import out_of_reach

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

TIME_LIMIT: Final = 60  # seconds for a case, its inputs and its reference among them
_TO_END: Final = 5.0  # seconds for an idle process to end by itself

_source: Any = None


class OwnProcess:
    """Runs cases of a source one after the other; started anew after one that ended it, or that
    did not end within `limit` seconds."""

    def __init__(
        self, file: str, spec_file: str, options: tuple[str, ...], limit: int = TIME_LIMIT
    ) -> None:
        self._arguments = (file, spec_file, options)
        self._limit = limit
        self._process: SpawnProcess | None = None
        self._connection: Connection[Any, Any] | None = None

    def run(self, kernel: str, case: Case, target: Target) -> Outcome:
        connection = self._connection or self._start()
        try:
            connection.send((kernel, case, target))
            connection.recv()  # the module is there: compilation is not the kernel's time
            if not connection.poll(self._limit):
                self._kill()
                late = Difference(f"did not end within {self._limit} s")
                return Outcome("failed", Failure(kernel, target, case, "timed out", late))
            outcome: Outcome = connection.recv()
        except (EOFError, OSError):
            self.close()
            died = Difference("the process ended: the kernel wrote or read far outside its arrays")
            return Outcome("failed", Failure(kernel, target, case, "crashed", died))
        if target.is_gpu and outcome.failure is not None and outcome.failure.check == "raised":
            self.close()  # after a fault on the device all that this process asks of it fails
        return outcome

    def _start(self) -> Connection[Any, Any]:
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        # A daemon, so that an interrupted sweep leaves no kernel behind that never ends.
        self._process = context.Process(target=_serve, args=(theirs, *self._arguments), daemon=True)
        out_of_reach(self._process.start)
        theirs.close()  # else its end would not be seen here
        self._connection = ours
        return ours

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()  # what an idle process ends by
        if self._process is not None:
            self._process.join(_TO_END)
        self._kill()

    def _kill(self) -> None:
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.kill()
            self._process.join(_TO_END)
        self._connection = self._process = None


def _serve(connection: Connection[Any, Any], *arguments: Any) -> None:
    """The process: answers each case by a word that it is ready, and then by the outcome."""
    global _source
    from gpuport.testing.own_sweep import OwnSource, run_own

    _source = OwnSource(*arguments)
    with suppress(EOFError, BrokenPipeError):  # the other side is done, or was interrupted
        while True:
            kernel, case, target = connection.recv()
            module = _module(target)
            connection.send("ready")
            connection.send(run_own(_source.kernels[kernel], case, target, module))


@cache
def _module(target: Target) -> Any:
    from gpuport.testing.own_sweep import compile_own

    return compile_own(_source, target)
