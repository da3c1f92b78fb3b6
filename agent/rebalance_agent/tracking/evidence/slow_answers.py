"""How late commits may be recorded, by how long brokers took for the observer's own requests, and for other commits.

A busy coordinator answers commits and ListGroups in the order in which they came. A commit is answered, and can be
read, when other replicas have it; the broker takes the next one of the same client only then. Clients send commits
without the answers of those before, so their times alone do not show how long each waited.
"""

from __future__ import annotations

from collections import deque

__all__ = ["COMMIT_DELAY_MS", "OLD_MS", "PROMPT_MS", "SLOW_MAX", "SlowAnswers"]

COMMIT_DELAY_MS = 500
"""Longest time (ms) from taking offsets to the coordinator's record of them while brokers answer promptly. It includes
the client's queue: on two cores with 80 runnable processes one of 270 took nearly as long."""

PROMPT_MS = 250
"""Longest time (ms) in which brokers answer promptly. A commit may wait for as long, and for the time between two
requests of the observer, which is about as long."""

OLD_MS = 30_000
"""A commit that is read later than this (ms) is an old record: a starting observer reads those since its snapshot."""

SLOW_MAX = 64
"""Slow answers kept: those of half a minute at the default period, if each takes only a little longer."""


class SlowAnswers:
    """The recent requests that brokers took long for, by the coordinators' clock (epoch ms)."""

    def __init__(self) -> None:
        """Start without requests."""
        self._slow: deque[tuple[int, int]] = deque(maxlen=SLOW_MAX)

    def take(self, asked_ms: int, answered_ms: int) -> None:
        """Take a request by the times when it was asked and answered: ListGroups, or a commit written and readable."""
        if PROMPT_MS < answered_ms - asked_ms <= OLD_MS:
            self._slow.append((asked_ms, answered_ms))

    def taken_ms(self, recorded_ms: int) -> int:
        """Return when the offsets of a commit with this record time (epoch ms) were taken at the earliest.

        What waited during a slow request is answered within as much time after it.
        """
        late_ms = 0
        for asked_ms, answered_ms in self._slow:
            took_ms = answered_ms - asked_ms
            if asked_ms - COMMIT_DELAY_MS <= recorded_ms <= answered_ms + max(COMMIT_DELAY_MS, took_ms):
                late_ms = max(late_ms, took_ms - PROMPT_MS)
        return recorded_ms - COMMIT_DELAY_MS - late_ms
