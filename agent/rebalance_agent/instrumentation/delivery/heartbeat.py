"""A periodic heartbeat of a process, which lets the sidecar distinguish an idle consumer from a dead one.

One daemon thread per process beats for every reporter, from its first event until its consumer has left. The thread
never ends: stopping and restarting it with the reporters would need a lock, which a fork may leave held.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from rebalance_agent.instrumentation.suppress import quietly

__all__ = ["PERIOD_SECONDS", "Heartbeat"]

PERIOD_SECONDS = 120.0
"""Interval between two beats. A beat is one small request to the sidecar on the same machine."""


class Heartbeat:
    """Calls ``beat`` every period on a daemon thread. A forked child must call `start` itself."""

    def __init__(self, beat: Callable[[], None], period_seconds: float = PERIOD_SECONDS) -> None:
        """Set the callback; `start` starts the thread."""
        self._beat = beat
        self._period_seconds = period_seconds
        self._pid = 0
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread if it is not running.

        Raises:
            RuntimeError: no more threads are allowed.
        """
        if self._pid == os.getpid() and self._thread is not None and self._thread.is_alive():
            return
        thread = threading.Thread(target=self._run, name="rebalance-agent-heartbeat", daemon=True)
        thread.start()
        self._pid, self._thread = os.getpid(), thread

    def _run(self) -> None:
        pause = threading.Event()
        while not pause.wait(self._period_seconds):
            with quietly("report that the process is alive"):
                self._beat()
