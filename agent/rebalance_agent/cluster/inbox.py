"""The bounded queue of observations between the collectors' threads and the tracker's thread."""

from __future__ import annotations

import threading
from collections import deque

from rebalance_agent.tracking.observations import Observation

__all__ = ["INBOX_MAX", "Inbox"]

INBOX_MAX = 10_000
"""Observations in the queue: about a second of a busy cluster. They are decoded already, so this bounds memory."""


class Inbox:
    """A first-in-first-out queue. When it is full, records wait (Kafka keeps the rest) and polls are dropped."""

    def __init__(self, size: int = INBOX_MAX) -> None:
        """Hold at most ``size`` observations."""
        self._size = size
        self._items: deque[Observation] = deque()
        self._changed = threading.Condition()
        self._closed = False

    def put(self, observation: Observation) -> None:
        """Add an observation that must not be lost, waiting while the queue is full; after `close` it is dropped."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._items) < self._size)
            if not self._closed:
                self._items.append(observation)
                self._changed.notify_all()

    def offer(self, observation: Observation) -> bool:
        """Add an observation that the next poll brings again; False if the queue is full or closed."""
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
        """Wake all waiting callers; queued observations can still be taken."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def __len__(self) -> int:
        """The number of queued observations."""
        return len(self._items)
