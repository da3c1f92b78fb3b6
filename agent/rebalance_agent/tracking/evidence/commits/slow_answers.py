"""Bounds how late commits may be recorded, from the durations of the observer's own requests and of other commits.

A busy coordinator answers commits and ListGroups in the order of arrival. A commit is answered, and can be read, when
the other replicas have it. Only then does the broker process the client's next commit. Clients send commits before they
have the answers to earlier ones, so the commits' times alone do not show how long each waited.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from rebalance_agent.tracking.evidence.known_times import Outage

__all__ = [
    "BACKLOG_MS",
    "COMMIT_DELAY_MS",
    "OLD_MS",
    "PROMPT_MS",
    "SLOW_MAX",
    "STUCK_MS",
    "UNANSWERED_MS",
    "SlowAnswers",
    "backlog_ms",
]

BACKLOG_MS = 15_000
"""How long (ms) clients may still send waiting commits after brokers are back or a new coordinator wrote its first
record: a broker processes the next commit of a connection when the other replicas have the last one. On two cores with
sixty runnable processes, one commit came 10 s later."""

COMMIT_DELAY_MS = 500
"""Longest time (ms) from the moment when a client determines offsets until the coordinator records them, while brokers
answer promptly. It includes the client's queue: on two cores with 80 runnable processes, 1 of 270 commits took nearly
as long."""

PROMPT_MS = 250
"""Longest duration (ms) of a prompt answer. A commit may wait for this long, plus the time between two requests of the
observer, which is about as long."""

STUCK_MS = 1_000
"""An answer that takes longer than this (ms) delays the answers behind it. Slow answers that follow each other within
this time form one period in which commits wait, the last of them for the whole period."""

UNANSWERED_MS = 4_000
"""A period of slow answers of this length (ms) counts as an outage: a client may have got no answer to its heartbeats
for its session timeout. Kafka's shortest session timeout is 6 s, and clients send heartbeats at most a third of it
apart. Heartbeats wait for the replicas, too, if records of the same partition do."""

OLD_MS = 30_000
"""A commit that is read later than this (ms) is an old record, for example one that a starting observer reads."""

SLOW_MAX = 64
"""Maximum number of periods of slow answers kept, and maximum periods in which commits waited: enough for at least a
minute."""


def backlog_ms(since_ms: int, until_ms: int) -> int:
    """Return how long (ms) clients may still send waiting commits after a period (epoch ms) of slow answers."""
    return min(until_ms - since_ms, BACKLOG_MS)


class _Slow(NamedTuple):
    """A period (epoch ms) in which answers took at most ``took_ms``."""

    since_ms: int
    until_ms: int
    took_ms: int

    def meets(self, other: _Slow) -> bool:
        """Whether less than `STUCK_MS` lies between the two periods."""
        return self.since_ms - STUCK_MS <= other.until_ms and other.since_ms <= self.until_ms + STUCK_MS

    def merged(self, other: _Slow) -> _Slow:
        """Return one period that covers both."""
        return _Slow(
            min(self.since_ms, other.since_ms),
            max(self.until_ms, other.until_ms),
            max(self.took_ms, other.took_ms),
        )


class SlowAnswers:
    """The recent requests that brokers answered slowly, by the coordinators' clock (epoch ms)."""

    def __init__(self) -> None:
        """Start without requests."""
        self._slow: deque[_Slow] = deque(maxlen=SLOW_MAX)
        self._stuck: deque[_Slow] = deque(maxlen=SLOW_MAX)

    def take(self, asked_ms: int, answered_ms: int) -> None:
        """Process the times when a request was sent and answered: ListGroups, or a commit written and readable."""
        slow = _Slow(asked_ms, answered_ms, answered_ms - asked_ms)
        if not PROMPT_MS < slow.took_ms <= OLD_MS:
            return
        if slow.took_ms > STUCK_MS:
            self._stuck.append(slow.merged(self._stuck.pop()) if self._stuck and slow.meets(self._stuck[-1]) else slow)
        # Many commits are late at the same time; merge them, so that the kept periods reach back far enough.
        again = self._slow and slow.meets(self._slow[-1]) and slow.until_ms - self._slow[-1].since_ms <= 2 * STUCK_MS
        self._slow.append(slow.merged(self._slow.pop()) if again else slow)

    def outages(self, now_ms: int) -> tuple[Outage, ...]:
        """Return the periods of slow answers that count as outages, as they were known at ``now_ms``."""
        stuck = ((since_ms, min(until_ms, now_ms)) for since_ms, until_ms, _ in self._stuck)
        return tuple(Outage(*period, slow=True) for period in stuck if period[1] - period[0] >= UNANSWERED_MS)

    def taken_ms(self, recorded_ms: int) -> int:
        """Return the earliest time at which the client determined the offsets of a commit recorded then (epoch ms).

        Commits that waited during a slow request are answered after it, within the request's duration or at most
        `BACKLOG_MS`.
        """
        late_ms = 0
        for since_ms, until_ms, took_ms in self._slow:
            if since_ms - COMMIT_DELAY_MS <= recorded_ms <= until_ms + max(COMMIT_DELAY_MS, took_ms):
                late_ms = max(late_ms, took_ms - PROMPT_MS)
        taken_ms = recorded_ms - late_ms
        for since_ms, until_ms, _ in self._stuck:
            if since_ms <= recorded_ms <= until_ms + backlog_ms(since_ms, until_ms):
                taken_ms = min(taken_ms, since_ms)
        return taken_ms - COMMIT_DELAY_MS
