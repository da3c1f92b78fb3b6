"""Sets a stop event on SIGINT and SIGTERM, and calls back on SIGHUP."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["stop_on_signals"]


@contextmanager
def stop_on_signals(
    stop: threading.Event, on_stop: Callable[[], None] = lambda: None, on_hangup: Callable[[], None] | None = None
) -> Iterator[None]:
    """Set ``stop`` and call ``on_stop`` on the first SIGINT or SIGTERM; the same signal again has its former effect.

    ``on_hangup`` is called on each SIGHUP; without ``on_hangup``, SIGHUP ends the process.

    Call this in the main thread only. A separate thread receives the signals through a wakeup descriptor and sets
    ``stop``. Python runs handlers only in the main thread, which keeps waiting if the system delivers the signal to
    another thread. A handler that runs while the main thread begins to wait could not take the event's lock.
    """
    numbers = (signal.SIGINT, signal.SIGTERM)
    handled = numbers if on_hangup is None else (*numbers, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in handled}

    def handle(number: int, _frame: FrameType | None) -> None:
        if number in numbers:
            signal.signal(number, before[signal.Signals(number)])

    def receive() -> None:
        while received := receiver.recv(1):
            if received[0] in numbers and not stop.is_set():
                stop.set()
                on_stop()
            elif received[0] == signal.SIGHUP and on_hangup and not stop.is_set():
                on_hangup()

    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    thread = threading.Thread(target=receive, name="signals", daemon=True)
    thread.start()
    wakeup_before = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    for number in handled:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, before[number])
        signal.set_wakeup_fd(wakeup_before)
        sender.close()
        thread.join()
        receiver.close()
