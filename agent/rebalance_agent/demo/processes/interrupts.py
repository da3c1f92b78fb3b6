"""Ctrl-C, SIGTERM and a closed terminal end the demo once, and in order: cleaning up is not interrupted again."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["EXIT_INTERRUPTED", "orderly_end"]

EXIT_BASE = 128
"""A process ended by signal N is reported as this + N, as shells do."""

EXIT_INTERRUPTED = EXIT_BASE + signal.SIGINT

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def orderly_end() -> Iterator[None]:
    """Within: the first of these signals raises in the main thread, all later ones are ignored.

    Ctrl-C raises KeyboardInterrupt as ever, the others SystemExit with their exit code.
    """
    former = {number: signal.getsignal(number) for number in _SIGNALS}

    def end(number: int, _frame: FrameType | None) -> None:
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)
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
