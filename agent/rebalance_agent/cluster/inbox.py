"""The bounded queue of observations between the collectors' threads and the tracker's thread."""

from __future__ import annotations

import threading
from collections import deque

from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.model.events import MemberEvent
from rebalance_agent.tracking.evidence.report_budget import report_bytes
from rebalance_agent.tracking.observations import CommitsSeen, MemberReported, Observation

__all__ = ["COMMIT_BYTES", "DECODED", "INBOX_BYTES_MAX", "INBOX_MAX", "Inbox"]

INBOX_MAX = 10_000
"""Observations in the queue: about a second of a busy cluster."""

INBOX_BYTES_MAX = 48 * 2**20
"""Bytes of memory that the queued observations take."""

DECODED = 10
"""How many times as much memory as in the topic a decoded record takes at most."""

COMMIT_BYTES = 250
"""Bytes of memory of one partition's commit."""


class Inbox:
    """A first-in-first-out queue. When it is full, records wait (Kafka keeps the rest) and polls are dropped."""

    def __init__(self, size: int = INBOX_MAX, size_bytes: int = INBOX_BYTES_MAX, clock: Clock | None = None) -> None:
        """Hold at most ``size`` observations and ``size_bytes`` of them; a larger one waits until it is alone."""
        self._size, self._size_bytes = size, size_bytes
        self._clock = clock or SystemClock()
        self._items: deque[tuple[float, int, Observation]] = deque()
        self._bytes = 0
        self._changed = threading.Condition()
        self._closed = False
        self._in_work_since: float | None = None

    def put(self, observation: Observation, record_bytes: int = 0) -> None:
        """Add an observation that must not be lost, waiting while the queue is full; after `close` it is dropped.

        ``record_bytes``: of the key and value that it was decoded from.
        """
        size = _bytes(observation, record_bytes)
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._fits(size))
            if not self._closed:
                self._append(observation, size)

    def offer(self, observation: Observation) -> bool:
        """Add an observation that the next poll brings again; False if the queue is full or closed."""
        size = _bytes(observation, 0)
        with self._changed:
            if self._closed or not self._fits(size):
                return False
            self._append(observation, size)
            return True

    def take(self, observations_max: int, timeout: float) -> list[Observation]:
        """Up to ``observations_max`` observations in order; empty after ``timeout`` seconds without any.

        Those taken before have been processed.
        """
        with self._changed:
            self._in_work_since = None
            self._changed.wait_for(lambda: self._items or self._closed, timeout)
            self._in_work_since = self._items[0][0] if self._items else None
            taken = [self._items.popleft() for _ in range(min(observations_max, len(self._items)))]
            if taken:
                self._bytes -= sum(size for _, size, _ in taken)
                self._changed.notify_all()
            return [observation for _, _, observation in taken]

    def close(self) -> None:
        """Wake all waiting callers; queued observations can still be taken."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    @property
    def age(self) -> float:
        """The seconds since the oldest observation that is not processed yet was added; 0 if there is none."""
        with self._changed:
            since = self._in_work_since
            if since is None and self._items:
                since = self._items[0][0]
            return 0.0 if since is None else self._clock.monotonic() - since

    def __len__(self) -> int:
        """The number of queued observations."""
        return len(self._items)

    def _fits(self, size: int) -> bool:
        return not self._items or (len(self._items) < self._size and self._bytes + size <= self._size_bytes)

    def _append(self, observation: Observation, size: int) -> None:
        self._items.append((self._clock.monotonic(), size, observation))
        self._bytes += size
        self._changed.notify_all()


def _bytes(observation: Observation, record_bytes: int) -> int:
    """Return the memory of an observation; without a record (``record_bytes`` 0), others than these are small."""
    match observation:
        case MemberReported(event=MemberEvent() as event):  # its ranges of partitions are not decoded
            return report_bytes(event)
        case CommitsSeen(commits=commits):
            return COMMIT_BYTES * len(commits)
        case _:
            return record_bytes * DECODED
