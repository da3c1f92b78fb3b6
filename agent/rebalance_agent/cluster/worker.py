"""A thread that does one thing until it is told to stop, and starts over after every failure."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from rebalance_agent.cluster.backoff import Backoff
from rebalance_agent.errors import AccessDeniedError, ClusterError
from rebalance_agent.health import Health

__all__ = ["DENIED_RETRY_S", "Worker"]

DENIED_RETRY_S = 60.0
"""A right is given by a person: asking again more often only fills the broker's log."""

_log = logging.getLogger(__name__)


class Worker:
    """Runs ``work(stop)`` in a daemon thread; ``part`` names it in readiness. ``work`` itself reports ready."""

    def __init__(
        self,
        part: str,
        work: Callable[[threading.Event], None],
        health: Health,
        *,
        denied: Callable[[str], None] | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        """``denied`` is told why when a right is missing; it then answers for the part's readiness."""
        self.part = part
        self._work = work
        self._health = health
        self._denied = denied
        self._backoff = backoff or Backoff()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=part, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Ask it to end; returns at once."""
        self._stop.set()

    def join(self, timeout: float) -> None:
        """Wait for its end, ``timeout`` seconds at most."""
        self._thread.join(timeout)

    def working(self) -> None:
        """Forget earlier failures: the work has got somewhere."""
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
            except Exception as error:  # noqa: BLE001 - a fault of ours must not silence a part for good
                _log.exception("%s failed", self.part)
                self._health.unready(self.part, f"internal error: {error!r}")
                wait = self._backoff.next()
            self._stop.wait(wait)
