"""When a rebalance began: the coordinator writes nothing then, so polls of its group list are asked.

Poll times are the observer's, records' the coordinator's; `ClockOffset` relates the two.
"""

from __future__ import annotations

from collections import deque

from rebalance_agent.model.episode import Evidence
from rebalance_agent.tracking.completed_generation import TimeBounds

__all__ = ["DIFFERENCE_MAX_MS", "LEAP_MS", "OVERTAKEN_MAX_MS", "POLLS_MAX", "ClockOffset", "PollEvidence"]

POLLS_MAX = 256
"""Polls remembered: about a minute at the usual rate. A start is looked for in the last one or two."""

OVERTAKEN_MAX_MS = 30_000
"""A poll asked earlier than one already seen was slow; by more than this, the clock was set back."""

DIFFERENCE_MAX_MS = 86_400_000
"""A record that seems to be a day away from now says nothing of how clocks differ."""

LEAP_MS = 10_000
"""A poll that comes so much too late: something stood still, or the clock was set forth."""

_OFFSETS_MAX = 64


class ClockOffset:
    """How far the observer's clock is ahead of the coordinators', at most.

    A record is seen after it is written, so the smallest difference of late is the offset plus the shortest delay
    (milliseconds; None: not known yet). While the tail lags it is too large, and what it dates too early: the earliest
    moment of something may rest on it, the latest one not on it alone.
    """

    def __init__(self) -> None:
        """Begin knowing nothing."""
        self._recent: deque[int] = deque(maxlen=_OFFSETS_MAX)
        self.ms: int | None = None

    def learn(self, timestamp_ms: int, seen_ms: int) -> None:
        """Take one live record's two times into account."""
        difference_ms = seen_ms - timestamp_ms
        if abs(difference_ms) > DIFFERENCE_MAX_MS:
            return
        if self.ms is None and self._recent and difference_ms - min(self._recent) > LEAP_MS:
            self._recent.clear()
        self._recent.append(difference_ms)
        self.ms = min(self._recent)

    def doubt(self) -> None:
        """The observer's clock was set forth, or everything stood still: the next record tells."""
        self.ms = None


class PollEvidence:
    """The complete polls for rebalancing groups, and what follows from a group's absence in one."""

    def __init__(self, period_ms: int) -> None:
        """``period_ms``: how often polls are meant to come; the error of a start seen in the very first one."""
        self._period_ms = period_ms
        self._asked_ms: deque[int] = deque(maxlen=POLLS_MAX)

    def add(self, asked_ms: int) -> None:
        """Remember a poll that every broker answered."""
        late_ms = self._asked_ms[-1] - asked_ms if self._asked_ms else 0
        if not 0 < late_ms <= OVERTAKEN_MAX_MS:
            self._asked_ms.append(asked_ms)

    def forget(self) -> None:
        """What the polls so far did not show is no evidence any more."""
        self._asked_ms.clear()

    def leaps(self, asked_ms: int) -> bool:
        """Whether it comes `LEAP_MS` later after the poll before than it is meant to."""
        return bool(self._asked_ms) and asked_ms - self._asked_ms[-1] > self._period_ms + LEAP_MS

    def previous_ms(self, asked_ms: int) -> int:
        """The latest poll before this one, or one period before it."""
        previous_ms = self._latest(asked_ms - 1)
        return asked_ms - self._period_ms if previous_ms is None else previous_ms

    def unlisted_start(self, joined_ms: int, offset_ms: int) -> TimeBounds | None:
        """When a rebalance began that no poll showed: after the last poll before its join phase ended."""
        clear_ms = self._latest(joined_ms + offset_ms)
        return None if clear_ms is None else TimeBounds(min(clear_ms - offset_ms, joined_ms), joined_ms, Evidence.LIST)

    def _latest(self, until_ms: int) -> int | None:
        return next((asked_ms for asked_ms in reversed(self._asked_ms) if asked_ms <= until_ms), None)
