"""A thread that runs one function until it is stopped, and restarts it after every failure."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from rebalance_agent.cluster.backoff import Backoff
from rebalance_agent.errors import AccessDeniedError, ClusterError
from rebalance_agent.health import Health

__all__ = ["DENIED_RETRY_S", "Worker"]

DENIED_RETRY_S = 60.0
"""Seconds until work that lacks a right is tried again: more often would only fill the broker's log."""

_log = logging.getLogger(__name__)


class Worker:
    """Runs ``work(stop)`` in a daemon thread. Failures are reported under ``part``; ``work`` itself reports ready."""

    def __init__(
        self,
        part: str,
        work: Callable[[threading.Event], None],
        health: Health,
        *,
        denied: Callable[[str], None] | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        """``denied`` is called with the reason when a right is missing; it then reports the readiness itself."""
        self.part = part
        self._work = work
        self._health = health
        self._denied = denied
        self._backoff = backoff or Backoff()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=part, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end; returns at once."""
        self._stop.set()

    def join(self, timeout: float) -> None:
        """Wait for the thread to end, ``timeout`` seconds at most."""
        self._thread.join(timeout)

    def working(self) -> None:
        """Reset the back-off: the work has made progress."""
        self._backoff.reset()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._work(self._stop)
                continue
            except AccessDeniedError as error:
                if self._denied:
                    self._denied(str(error))
                else:
                    self._health.unready(self.part, str(error))
                wait = DENIED_RETRY_S
            except ClusterError as error:
                self._health.unready(self.part, str(error))
                wait = self._backoff.next()
            except Exception as error:  # noqa: BLE001 - a bug of ours must not stop a part for good
                _log.exception("%s failed", self.part)
                self._health.unready(self.part, f"internal error: {error!r}")
                wait = self._backoff.next()
            self._stop.wait(wait)
