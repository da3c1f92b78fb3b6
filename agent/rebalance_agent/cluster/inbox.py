"""The one bounded queue between the collectors' threads and the tracker's."""

from __future__ import annotations

import threading
from collections import deque

from rebalance_agent.tracking.observations import Observation

__all__ = ["INBOX_MAX", "Inbox"]

INBOX_MAX = 10_000
"""Observations that wait: a second of a busy cluster. What they hold is already decoded, so memory follows this."""


class Inbox:
    """First in, first out. Records wait for room (Kafka keeps the rest); polls are dropped when it is full."""

    def __init__(self, size: int = INBOX_MAX) -> None:
        """Hold at most ``size`` observations."""
        self._size = size
        self._items: deque[Observation] = deque()
        self._changed = threading.Condition()
        self._closed = False

    def put(self, observation: Observation) -> None:
        """Add what must not be lost, waiting for room; after `close` it is dropped, since nobody will read it."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._items) < self._size)
            if not self._closed:
                self._items.append(observation)
                self._changed.notify_all()

    def offer(self, observation: Observation) -> bool:
        """Add what the next poll brings again; False if there is no room."""
        with self._changed:
            if self._closed or len(self._items) >= self._size:
                return False
            self._items.append(observation)
            self._changed.notify_all()
            return True

    def take(self, observations_max: int, timeout: float) -> list[Observation]:
        """Up to ``observations_max`` observations in order; empty after ``timeout`` seconds without any."""
        with self._changed:
            self._changed.wait_for(lambda: self._items or self._closed, timeout)
            taken = [self._items.popleft() for _ in range(min(observations_max, len(self._items)))]
            if taken:
                self._changed.notify_all()
            return taken

    def close(self) -> None:
        """Let nobody wait any more; what is inside can still be taken."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def __len__(self) -> int:
        """How many observations wait."""
        return len(self._items)
