"""How late commits may be recorded, by how long brokers took for the observer's own requests.

A busy coordinator answers commits and ListGroups in the order in which they came. Clients send the next commit without
the answer of the one before, so the times of commits alone do not show how long each waited.
"""

from __future__ import annotations

from collections import deque

__all__ = ["COMMIT_DELAY_MS", "PROMPT_MS", "SLOW_MAX", "SlowAnswers"]

COMMIT_DELAY_MS = 500
"""Longest time (ms) from taking offsets to the coordinator's record of them while brokers answer promptly. It includes
the client's queue: on two cores with 80 runnable processes one of 270 took nearly as long."""

PROMPT_MS = 250
"""Longest ListGroups request (ms) to brokers that answer promptly. A commit may wait for as long, and for the time
between two requests, which is about as long."""

SLOW_MAX = 64
"""Slow requests kept: those of half a minute at the default period, if each takes only a little longer."""


class SlowAnswers:
    """The recent ListGroups requests that brokers took long for, by the coordinators' clock (epoch ms)."""

    def __init__(self) -> None:
        """Start without requests."""
        self._slow: deque[tuple[int, int]] = deque(maxlen=SLOW_MAX)

    def take(self, asked_ms: int, answered_ms: int) -> None:
        """Take a request by the times when it was asked and answered."""
        if answered_ms - asked_ms > PROMPT_MS:
            self._slow.append((asked_ms, answered_ms))

    def taken_ms(self, recorded_ms: int) -> int:
        """Return when the offsets of a commit with this record time (epoch ms) were taken at the earliest."""
        late_ms = max(
            (
                answered_ms - asked_ms - PROMPT_MS
                for asked_ms, answered_ms in self._slow
                if asked_ms - COMMIT_DELAY_MS <= recorded_ms <= answered_ms + COMMIT_DELAY_MS
            ),
            default=0,
        )
        return recorded_ms - COMMIT_DELAY_MS - late_ms
