"""Turns SIGINT, SIGTERM and SIGHUP into one orderly end of the demo; later signals do not interrupt the cleanup."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["EXIT_INTERRUPTED", "orderly_end"]

EXIT_BASE = 128
"""Exit code of a process that a signal ended, minus the signal's number, as in shells."""

EXIT_INTERRUPTED = EXIT_BASE + signal.SIGINT

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def orderly_end() -> Iterator[None]:
    """In the block, the first of these signals raises an exception in the main thread; all later signals are ignored.

    SIGINT (Ctrl-C) raises KeyboardInterrupt, the others SystemExit with the exit code of the signal.
    """
    former = {number: signal.getsignal(number) for number in _SIGNALS}

    def end(number: int, _frame: FrameType | None) -> None:
        for signal_number in _SIGNALS:
            signal.signal(signal_number, signal.SIG_IGN)
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(EXIT_BASE + number)

    for number in _SIGNALS:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
