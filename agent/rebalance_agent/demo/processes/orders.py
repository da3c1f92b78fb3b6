"""What the demo tells a member over its standard input: ``leave``, or ``slow SECONDS``."""

from __future__ import annotations

import threading

__all__ = ["Orders"]

SLOW_SECONDS_MAX = 60.0
"""Longer than any demonstration; a session timeout would strike first."""


class Orders:
    """The orders so far. Written by the leash's thread, read by the consumer's."""

    def __init__(self) -> None:
        """Begin without any."""
        self.leave = threading.Event()
        """Set once the member is to close its consumer and end."""
        self._slow_seconds = 0.0
        self._lock = threading.Lock()

    def take(self, line: str) -> None:
        """Obey one line; what is no order is ignored."""
        match line.split():
            case ["leave"]:
                self.leave.set()
            case ["slow", seconds] if seconds.replace(".", "", 1).isdigit():
                with self._lock:
                    self._slow_seconds = min(float(seconds), SLOW_SECONDS_MAX)

    def finish_work_in_hand(self) -> None:
        """Take as long as the last ``slow`` said, once: called where a member lets go of its partitions."""
        with self._lock:
            seconds, self._slow_seconds = self._slow_seconds, 0.0
        if seconds:
            # Not self.leave.wait: work in hand is not cut short by an order to leave.
            threading.Event().wait(seconds)
