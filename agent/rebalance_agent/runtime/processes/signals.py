"""Stops cleanly on a signal."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["stop_on_signals"]


@contextmanager
def stop_on_signals(stop: threading.Event, heard: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Set ``stop`` on SIGINT and SIGTERM, and call ``heard``; a second one of the same kind does what it did before.

    That is, it ends the process at once. Main thread only.

    A thread of its own is told of signals and sets ``stop``. Python runs handlers in the main thread alone, which goes
    on waiting where the system gave the signal to another one; and a handler that comes while that thread enters its
    wait could not take the event's lock.
    """
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}

    def handle(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, before[signal.Signals(number)])

    def listen() -> None:
        while told := listened.recv(1):
            if told[0] in numbers and not stop.is_set():
                stop.set()
                heard()

    listened, telling = socket.socketpair()
    telling.setblocking(False)
    listening = threading.Thread(target=listen, name="signals", daemon=True)
    listening.start()
    told_before = signal.set_wakeup_fd(telling.fileno(), warn_on_full_buffer=False)
    for number in numbers:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, before[number])
        signal.set_wakeup_fd(told_before)
        telling.close()
        listening.join()
        listened.close()
