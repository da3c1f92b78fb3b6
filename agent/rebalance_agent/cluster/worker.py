"""A thread that runs one function until it is stopped, and restarts it after every failure."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from rebalance_agent.cluster.backoff import Backoff
from rebalance_agent.errors import AccessDeniedError, ClusterError
from rebalance_agent.health import Health

__all__ = ["DENIED_RETRY_S", "Worker", "failure_reason"]

DENIED_RETRY_S = 60.0
"""Seconds until work that lacks a permission is retried: more frequent attempts would only fill the broker's log."""

_log = logging.getLogger(__name__)


def failure_reason(error: Exception, part: str, log: logging.Logger) -> str:
    """Return in words why ``part`` fails; log an error that is not a `ClusterError`, since it is a bug of ours."""
    if isinstance(error, ClusterError):
        return str(error)
    log.error("%s failed", part, exc_info=error)
    return f"internal error: {error!r}"


@dataclass(eq=False)
class Worker:
    """Runs ``work(stop)`` in a daemon thread. Failures are reported under ``part``; ``work`` itself reports ready.

    ``denied`` is called with the reason if a permission is missing; the callback then reports readiness itself.
    """

    part: str
    work: Callable[[threading.Event], None]
    health: Health
    denied: Callable[[str], None] | None = None
    backoff: Backoff = field(default_factory=Backoff)

    def __post_init__(self) -> None:
        """Prepare the thread; `start` starts it."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=self.part, daemon=True)

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
        self.backoff.reset()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.work(self._stop)
                continue
            except Exception as error:  # noqa: BLE001 - a bug in this package must not stop a part for good
                reason, is_denied = failure_reason(error, self.part, _log), isinstance(error, AccessDeniedError)
                if is_denied and self.denied:
                    self.denied(reason)
                else:
                    self.health.unready(self.part, reason)
                self._stop.wait(DENIED_RETRY_S if is_denied else self.backoff.next())
