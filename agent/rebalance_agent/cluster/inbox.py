"""The bounded queues of observations between the collectors' threads and the tracker's thread."""

from __future__ import annotations

import threading
from collections import deque
from typing import NamedTuple

from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.model.events import MemberEvent
from rebalance_agent.tracking.evidence.kept_reports import report_bytes
from rebalance_agent.tracking.observations import CommitsSeen, MemberReported, Observation

__all__ = ["COMMIT_BYTES", "DECODED", "INBOX_BYTES_MAX", "INBOX_MAX", "REPORTS_AT_ONCE", "REPORTS_BYTES_MAX", "Inbox"]

INBOX_MAX = 10_000
"""Maximum number of observations in their queue, and maximum reports in theirs: about one second's worth in a busy
cluster."""

INBOX_BYTES_MAX = 32 * 2**20
"""Maximum memory (bytes) of the queued observations, without reports."""

REPORTS_BYTES_MAX = 16 * 2**20
"""Maximum memory (bytes) of the queued reports."""

REPORTS_AT_ONCE = 50
"""Maximum number of reports that one `Inbox.take` returns, about 15 ms of work: many reports delay only other
reports."""

DECODED = 10
"""Largest ratio of a decoded record's memory to its size in the topic."""

COMMIT_BYTES = 250
"""Memory (bytes) of one partition's commit besides its key, which contains names of up to 32 kB."""


class _Queued(NamedTuple):
    """``at``: when it was added (monotonic seconds). ``work_s``: estimated seconds of work to process it."""

    observation: Observation
    at: float
    size_bytes: int
    work_s: float


class _Lane:
    """A bounded first-in-first-out queue."""

    def __init__(self, size: int, size_bytes: int) -> None:
        self.items: deque[_Queued] = deque()
        self._size, self._size_bytes, self._bytes = size, size_bytes, 0

    def fits(self, size_bytes: int) -> bool:
        """Whether one more entry fits; into an empty lane, any entry does."""
        return not self.items or (len(self.items) < self._size and self._bytes + size_bytes <= self._size_bytes)

    def append(self, queued: _Queued) -> None:
        self.items.append(queued)
        self._bytes += queued.size_bytes

    def take(self, items_max: int) -> list[_Queued]:
        taken = [self.items.popleft() for _ in range(min(items_max, len(self.items)))]
        self._bytes -= sum(queued.size_bytes for queued in taken)
        return taken


class Inbox:
    """A first-in-first-out queue of records, polls and topics, and another queue of members' and gateways' reports.

    If a queue is full, observations that must not be lost wait (Kafka keeps the rest), and polls are dropped.
    """

    def __init__(
        self,
        size: int = INBOX_MAX,
        size_bytes: int = INBOX_BYTES_MAX,
        reports_bytes: int = REPORTS_BYTES_MAX,
        clock: Clock | None = None,
    ) -> None:
        """Allow ``size`` observations of ``size_bytes`` in total, and ``size`` reports of ``reports_bytes`` in total.

        A larger observation waits until its queue is empty.
        """
        self._clock = clock or SystemClock()
        self._lane, self._reports = _Lane(size, size_bytes), _Lane(size, reports_bytes)
        self._changed = threading.Condition()
        self._closed = False
        self._work_s = self._in_work_s = 0.0
        self._in_work_since: float | None = None

    def put(self, observation: Observation, record_bytes: int = 0, work_s: float = 0.0) -> None:
        """Add an observation that must not be lost, waiting while its queue is full; after `close` it is dropped.

        ``record_bytes``: the size of the key and value from which it was decoded. ``work_s``: see `work_s`.
        """
        lane, size_bytes = self._lane_of(observation), _bytes(observation, record_bytes)
        with self._changed:
            self._changed.wait_for(lambda: self._closed or lane.fits(size_bytes))
            if not self._closed:
                self._append(lane, observation, size_bytes, work_s)

    def offer(self, observation: Observation) -> bool:
        """Add an observation that the next poll would repeat; return False if its queue is full or the inbox closed."""
        lane, size_bytes = self._lane_of(observation), _bytes(observation, 0)
        with self._changed:
            if self._closed or not lane.fits(size_bytes):
                return False
            self._append(lane, observation, size_bytes, 0.0)
            return True

    def take(self, observations_max: int, timeout: float) -> list[Observation]:
        """Remove and return up to ``observations_max`` observations, then up to `REPORTS_AT_ONCE` reports, in order.

        The result is empty after ``timeout`` seconds without any. A call means that the results of the last call have
        been processed.
        """
        with self._changed:
            self._in_work_s, self._in_work_since = 0.0, None
            self._changed.wait_for(lambda: self._lane.items or self._reports.items or self._closed, timeout)
            taken = self._lane.take(observations_max)
            self._in_work_since = taken[0].at if taken else None
            self._in_work_s = sum(queued.work_s for queued in taken)
            self._work_s = self._work_s - self._in_work_s if self._lane.items else 0.0
            taken += self._reports.take(REPORTS_AT_ONCE)
            if taken:
                self._changed.notify_all()
            return [queued.observation for queued in taken]

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
        """Return the seconds since the oldest unprocessed observation was added; 0 if there is none.

        Reports do not count: their senders cannot make an observer unready.
        """
        with self._changed:
            since = self._in_work_since
            if since is None and self._lane.items:
                since = self._lane.items[0].at
            return 0.0 if since is None else self._clock.monotonic() - since

    @property
    def work_s(self) -> float:
        """Return the estimated seconds of work of all unprocessed observations, as given to `put`."""
        return self._work_s + self._in_work_s

    def __len__(self) -> int:
        """The number of queued observations."""
        return len(self._lane.items) + len(self._reports.items)

    def _lane_of(self, observation: Observation) -> _Lane:
        return self._reports if isinstance(observation, MemberReported) else self._lane

    def _append(self, lane: _Lane, observation: Observation, size_bytes: int, work_s: float) -> None:
        lane.append(_Queued(observation, self._clock.monotonic(), size_bytes, work_s))
        self._work_s += work_s
        self._changed.notify_all()


def _bytes(observation: Observation, record_bytes: int) -> int:
    """Return the memory of an observation; without a record (``record_bytes`` 0), others than these are small."""
    match observation:
        case MemberReported(event=MemberEvent() as event):  # its ranges of partitions are not decoded
            return report_bytes(event)
        case CommitsSeen(commits=commits):
            return COMMIT_BYTES * len(commits) + sum(map(len, commits))
        case _:
            return record_bytes * DECODED
