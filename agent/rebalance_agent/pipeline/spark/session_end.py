"""Ends a session: at the end of its work, or on Ctrl-C or SIGTERM in the middle of it.

Spark's own handler of Ctrl-C cancels its jobs over the connection on which the main thread is waiting for Java, which
fails with tracebacks. SIGTERM would end Python without removing what Spark leaves behind.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

__all__ = ["stopping"]


@contextmanager
def stopping(session: SparkSession) -> Iterator[None]:
    """Stop the session at the end of the block, or on the first Ctrl-C or SIGTERM; a second Ctrl-C ends at once.

    Raises:
        KeyboardInterrupt: Ctrl-C ended the block; the errors of the work that was stopped are its context.
        SystemExit: SIGTERM ended the block.
    """
    received: list[int] = []

    def stop_at_once(number: int, _frame: FrameType | None) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)
        # Another thread has another connection to Java. The main thread's call then fails, and so ends the block.
        threading.Thread(target=_stop, args=(session,), daemon=True).start()

    signals = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    before = {number: signal.signal(number, stop_at_once) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _stop(session)
        if signal.SIGINT in received:
            raise KeyboardInterrupt
        if received:
            raise SystemExit(128 + received[0])


def _stop(session: SparkSession) -> None:
    with suppress(Py4JError, ConnectionError):  # raised if Java has already ended
        session.stop()
