"""A call that is made several times a second, in a thread of its own: to schedule it costs as much as to make it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from rebalance_agent.clock import Clock

__all__ = ["Ticker"]

_log = logging.getLogger(__name__)


class Ticker:
    """One call at an interval. It never overlaps itself, and calls that were missed are not made up for."""

    def __init__(self, seconds: float, call: Callable[[], None], name: str, clock: Clock) -> None:
        """``call`` every ``seconds`` from `start` on, whatever it raises."""
        self._seconds, self._call, self._clock = seconds, call, clock
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin, with a call at once."""
        self._thread.start()

    def stop(self) -> None:
        """Make no more calls; one that runs is not waited for."""
        self._stop.set()

    def _run(self) -> None:
        due, wait_s = self._clock.monotonic(), 0.0
        while not self._stop.wait(wait_s):
            try:
                self._call()
            except Exception:  # noqa: BLE001 - a fault of one call must not end the others
                _log.exception("%s failed", self._thread.name)
            now = self._clock.monotonic()
            due = max(due + self._seconds, now)
            wait_s = due - now
