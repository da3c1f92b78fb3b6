"""Tracks the readiness of the clients beside the process, for /readyz/member: once they are ready, it stays ready."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rebalance_agent.clock import Clock

__all__ = ["CLIENTS_MAX", "LatchedReadiness"]

CLIENTS_MAX = 1_000
"""Maximum number of clients whose state is kept; further clients are left out."""


@dataclass(slots=True)
class _Client:
    """``reason``: why the client is not ready; ``ready_at``: clock time (s) from which it counts as ready."""

    reason: str
    ready_at: float


class LatchedReadiness:
    """Becomes ready as soon as there is a client and no client waits, and then stays ready. Thread-safe.

    A later failure, for example of the broker, must not take all clients out of service.
    """

    def __init__(self, clock: Clock, nobody: str) -> None:
        """``nobody``: the reason text while there is no client."""
        self._clock, self._nobody = clock, nobody
        self._lock = threading.Lock()
        self._clients: dict[Hashable, _Client] = {}
        self._latched = False

    @property
    def latched(self) -> bool:
        """Whether the clients were ready once, so that further reports have no effect."""
        return self._latched

    def waits(self, client: Hashable, reason: str) -> None:
        """Record that a client is not ready, for ``reason`` (a sentence)."""
        self._set(client, _Client(reason, float("inf")))

    def works(self, client: Hashable) -> None:
        """Record that a client is ready."""
        self._set(client, _Client("", float("-inf")))

    def gone(self, client: Hashable) -> None:
        """Record that a client has ended and no longer counts."""
        with self._lock:
            self._clients.pop(client, None)
            self._look()

    @contextmanager
    def held(self, client: Hashable, seconds: float) -> Iterator[None]:
        """In this block, a client waits on purpose; it counts as ready if the block takes longer than ``seconds``."""
        with self._lock:
            waiting = self._clients.get(client)
            if waiting is not None:
                waiting.ready_at = self._clock.monotonic() + seconds
        try:
            yield
        finally:
            with self._lock:
                self._look()
                if waiting is not None:
                    waiting.ready_at = float("inf")

    def reason(self) -> str:
        """Return why the clients are not ready; an empty string once they were ready."""
        with self._lock:
            return self._look()

    def _set(self, client: Hashable, state: _Client) -> None:
        with self._lock:
            if not self._latched and (client in self._clients or len(self._clients) < CLIENTS_MAX):
                self._clients[client] = state
                self._look()

    def _look(self) -> str:
        if self._latched:
            return ""
        now = self._clock.monotonic()
        reason = next((client.reason for client in self._clients.values() if now < client.ready_at), "")
        if self._clients and not reason:
            self._latched = True
            self._clients.clear()
        return reason or ("" if self._latched else self._nobody)
