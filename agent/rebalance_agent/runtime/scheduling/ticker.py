"""Repeats a call several times a second in a separate thread: `schedule` would cost as much as the call itself."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from rebalance_agent.clock import Clock

__all__ = ["Ticker"]

_log = logging.getLogger(__name__)


class Ticker:
    """Repeats one call at an interval. Calls never overlap, and missed calls are not repeated."""

    def __init__(self, seconds: float, call: Callable[[], None], name: str, clock: Clock) -> None:
        """Prepare to make ``call`` every ``seconds`` after `start`; an exception that ``call`` raises is logged."""
        self._seconds, self._call, self._clock = seconds, call, clock
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start, and make the first call at once."""
        self._thread.start()

    def stop(self) -> None:
        """Make no more calls, without waiting for a running call."""
        self._stop.set()

    def _run(self) -> None:
        due, wait_s = self._clock.monotonic(), 0.0
        while not self._stop.wait(wait_s):
            try:
                self._call()
            except Exception:  # noqa: BLE001 - an error in one call must not prevent the next calls
                _log.exception("%s failed", self._thread.name)
            now = self._clock.monotonic()
            due = max(due + self._seconds, now)
            wait_s = due - now
