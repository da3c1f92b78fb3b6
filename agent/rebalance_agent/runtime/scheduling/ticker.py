"""A call repeated several times a second, in a thread of its own: `schedule` would cost as much as the call itself."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from rebalance_agent.clock import Clock

__all__ = ["Ticker"]

_log = logging.getLogger(__name__)


class Ticker:
    """Repeats one call at an interval. Calls never overlap, and missed ones are not repeated."""

    def __init__(self, seconds: float, call: Callable[[], None], name: str, clock: Clock) -> None:
        """``call`` is made every ``seconds`` from `start` on; what it raises is logged."""
        self._seconds, self._call, self._clock = seconds, call, clock
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start, with a call at once."""
        self._thread.start()

    def stop(self) -> None:
        """Make no more calls; a running one is not waited for."""
        self._stop.set()

    def _run(self) -> None:
        due, wait_s = self._clock.monotonic(), 0.0
        while not self._stop.wait(wait_s):
            try:
                self._call()
            except Exception:  # noqa: BLE001 - an error of one call must not end the others
                _log.exception("%s failed", self._thread.name)
            now = self._clock.monotonic()
            due = max(due + self._seconds, now)
            wait_s = due - now
