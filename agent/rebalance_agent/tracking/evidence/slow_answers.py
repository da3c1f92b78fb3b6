"""How late commits may be recorded, by how long brokers took for the observer's own requests, and for other commits.

A busy coordinator answers commits and ListGroups in the order in which they came. A commit is answered, and can be
read, when other replicas have it; the broker takes the next one of the same client only then. Clients send commits
without the answers of those before, so their times alone do not show how long each waited.
"""

from __future__ import annotations

from collections import deque

__all__ = ["BACKLOG_MS", "COMMIT_DELAY_MS", "OLD_MS", "PROMPT_MS", "SLOW_MAX", "STUCK_MS", "SlowAnswers"]

BACKLOG_MS = 15_000
"""How long (ms) clients still send the commits that waited, after brokers are back or a new coordinator wrote its first
record: a broker takes the next one of a connection when other replicas have the last one. On two cores with sixty
runnable processes one came 10 s later."""

COMMIT_DELAY_MS = 500
"""Longest time (ms) from taking offsets to the coordinator's record of them while brokers answer promptly. It includes
the client's queue: on two cores with 80 runnable processes one of 270 took nearly as long."""

PROMPT_MS = 250
"""Longest time (ms) in which brokers answer promptly. A commit may wait for as long, and for the time between two
requests of the observer, which is about as long."""

STUCK_MS = 1_000
"""An answer that takes longer (ms) holds up those behind it. Such answers that follow each other within this time are
one time in which commits wait, the last ones for all of it."""

OLD_MS = 30_000
"""A commit that is read later than this (ms) is an old record: a starting observer reads those since its snapshot."""

SLOW_MAX = 64
"""Slow answers kept, and times in which commits waited: those of half a minute at the default period of polls, if each
answer takes only a little longer."""


class SlowAnswers:
    """The recent requests that brokers took long for, by the coordinators' clock (epoch ms)."""

    def __init__(self) -> None:
        """Start without requests."""
        self._slow: deque[tuple[int, int]] = deque(maxlen=SLOW_MAX)
        self._stuck: deque[tuple[int, int]] = deque(maxlen=SLOW_MAX)

    def take(self, asked_ms: int, answered_ms: int) -> None:
        """Take a request by the times when it was asked and answered: ListGroups, or a commit written and readable."""
        if PROMPT_MS < answered_ms - asked_ms <= OLD_MS:
            self._slow.append((asked_ms, answered_ms))
        if STUCK_MS < answered_ms - asked_ms <= OLD_MS:
            if self._stuck and self._stuck[-1][0] - STUCK_MS <= asked_ms <= self._stuck[-1][1] + STUCK_MS:
                since_ms, until_ms = self._stuck.pop()
                asked_ms, answered_ms = min(since_ms, asked_ms), max(until_ms, answered_ms)
            self._stuck.append((asked_ms, answered_ms))

    def taken_ms(self, recorded_ms: int) -> int:
        """Return when the offsets of a commit with this record time (epoch ms) were taken at the earliest.

        What waited during a slow request is answered within as much time after it, `BACKLOG_MS` at most.
        """
        late_ms = 0
        for asked_ms, answered_ms in self._slow:
            took_ms = answered_ms - asked_ms
            if asked_ms - COMMIT_DELAY_MS <= recorded_ms <= answered_ms + max(COMMIT_DELAY_MS, took_ms):
                late_ms = max(late_ms, took_ms - PROMPT_MS)
        taken_ms = recorded_ms - late_ms
        for since_ms, until_ms in self._stuck:
            if since_ms <= recorded_ms <= until_ms + min(until_ms - since_ms, BACKLOG_MS):
                taken_ms = min(taken_ms, since_ms)
        return taken_ms - COMMIT_DELAY_MS
