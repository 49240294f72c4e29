"""Interrupts reach one process of a check: a terminal sends them to all that it began."""

import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.resource_tracker import ensure_running
from typing import TypeVar

T = TypeVar("T")


def out_of_reach(begin: Callable[[], T]) -> T:
    """Calls `begin`, to its end also where an interrupt comes meanwhile, which is then raised.

    The processes that it starts never see SIGINT, from their first instruction on: they inherit
    what the thread that starts them has blocked. Blocked in the main thread, where Python raises
    interrupts, it would be raised all the same: any thread of the process may receive it.
    """
    with ThreadPoolExecutor(1, initializer=_block) as thread:
        return thread.submit(begin).result()


def _block() -> None:
    ensure_running()  # multiprocessing's tracker, whose own start would unblock the signal
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
