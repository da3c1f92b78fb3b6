"""A sign of life from a process whose consumers have nothing to tell: without it nobody knows a quiet one from a dead.

One daemon thread of the process lets each reporter beat, from its first event until its consumer has left. It stays,
and sleeps nearly always: to end and begin anew with the reporters would take a lock, which a fork may leave held.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from rebalance_agent.instrumentation.suppress import quietly

__all__ = ["PERIOD_SECONDS", "Heartbeat"]

PERIOD_SECONDS = 120.0
"""Between two beats: each is one small request to the sidecar beside the process."""


class Heartbeat:
    """Calls ``beat`` now and then, from `start` on. In a forked child it begins with the `start` there."""

    def __init__(self, beat: Callable[[], None], period_seconds: float = PERIOD_SECONDS) -> None:
        """Nothing runs before `start`."""
        self._beat = beat
        self._period_seconds = period_seconds
        self._pid = 0
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """See to it that it beats; raises RuntimeError where no more threads are allowed."""
        if self._pid == os.getpid() and self._thread is not None and self._thread.is_alive():
            return
        thread = threading.Thread(target=self._run, name="rebalance-agent-pulse", daemon=True)
        thread.start()
        self._pid, self._thread = os.getpid(), thread

    def _run(self) -> None:
        pause = threading.Event()
        while not pause.wait(self._period_seconds):
            with quietly("say that the consumer lives"):
                self._beat()
