"""Parses the commands that a member reads from its standard input: ``leave`` and ``slow SECONDS``."""

from __future__ import annotations

import threading

__all__ = ["MemberCommands"]

SLOW_SECONDS_MAX = 60.0
"""Maximum delay in seconds; a longer delay would exceed the session timeout anyway."""


class MemberCommands:
    """The commands received so far; the thread of `exit_with_parent` writes them, the consumer's thread reads them."""

    def __init__(self) -> None:
        """Start without a command."""
        self.leave = threading.Event()
        """Set when the member is to close its consumer and end."""
        self._slow_seconds = 0.0
        self._lock = threading.Lock()

    def receive(self, line: str) -> None:
        """Parse one line; unknown commands are ignored."""
        match line.split():
            case ["leave"]:
                self.leave.set()
            case ["slow", seconds] if seconds.replace(".", "", 1).isdigit():
                with self._lock:
                    self._slow_seconds = min(float(seconds), SLOW_SECONDS_MAX)

    def finish_current_work(self) -> None:
        """Wait once for the seconds of the last ``slow``. Call this when the member's partitions are revoked."""
        with self._lock:
            seconds, self._slow_seconds = self._slow_seconds, 0.0
        if seconds:
            # Not self.leave.wait: the command to leave does not interrupt work in progress.
            threading.Event().wait(seconds)
