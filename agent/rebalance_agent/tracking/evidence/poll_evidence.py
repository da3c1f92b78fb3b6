"""Evidence from ListGroups polls for the start of classic rebalances, which the coordinator does not record.

Poll times are by the observer's clock, record times by the coordinator's; `ClockOffset` relates the two.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from rebalance_agent.model.episode import Evidence
from rebalance_agent.tracking.evidence.known_times import Outage, TimeBounds
from rebalance_agent.tracking.evidence.late_commits import WRITE_TIMEOUT_MS

__all__ = [
    "CLOCK_JUMP_MS",
    "DIFFERENCE_MAX_MS",
    "OVERTAKEN_MAX_MS",
    "POLLS_MAX",
    "ClockOffset",
    "Outages",
    "PollEvidence",
    "is_late",
    "stopped_since_ms",
]

POLLS_MAX = 256
"""Maximum number of polls kept: about a minute at the default period. A start usually lies between the last two
polls."""

OVERTAKEN_MAX_MS = 30_000
"""How much older (ms) than the last poll an overtaken poll may be; if it is older, the clock was set back."""

DIFFERENCE_MAX_MS = 86_400_000
"""Largest difference (ms, one day) between a record and its observation that is used to learn the clock offset."""

CLOCK_JUMP_MS = 10_000
"""Delay (ms) of a poll beyond its period that shows that the process was paused, or that the clock was set forward."""

_OFFSETS_MAX = 64

_OUTAGES_MAX = 8


class ClockOffset:
    """An upper bound on how far the observer's clock is ahead of the coordinators' clocks.

    A record is observed after it was written, so the smallest recent difference is the offset plus the shortest delay
    (``ms``; None if not known yet). While the tail lags, the bound is too large, and poll times converted with it are
    too early: they are valid lower bounds, but not valid upper bounds on their own.
    """

    def __init__(self) -> None:
        """Start with an unknown offset."""
        self._recent: deque[int] = deque(maxlen=_OFFSETS_MAX)
        self.ms: int | None = None

    def learn(self, timestamp_ms: int, seen_ms: int, *, outage: bool = False) -> None:
        """Process the two times of a live record: when it was written and when it was read.

        In an ``outage`` of brokers, many records become readable late at the same time: only a smaller difference
        counts.
        """
        difference_ms = seen_ms - timestamp_ms
        late = outage and self.ms is not None and difference_ms > self.ms
        if late or abs(difference_ms) > DIFFERENCE_MAX_MS:
            return
        if self.ms is None and self._recent and difference_ms - min(self._recent) > CLOCK_JUMP_MS:
            self._recent.clear()
        self._recent.append(difference_ms)
        self.ms = min(self._recent)

    def doubt(self) -> None:
        """Discard the offset until the next record: the clock was set forward, or the process was paused."""
        self.ms = None


class _NoticedOutage(NamedTuple):
    """An `Outage` by the observer's clock, and the time when the observer detected it (epoch ms)."""

    after_ms: int
    until_ms: int
    noticed_ms: int


class Outages:
    """The periods in which some broker did not answer ListGroups or did not replicate, by the observer's clock."""

    def __init__(self) -> None:
        """Start without polls."""
        self._spans: deque[_NoticedOutage] = deque(maxlen=_OUTAGES_MAX)
        self._complete_ms: int | None = None
        self._since_ms: int | None = None
        self._noticed_ms = 0

    def take(self, asked_ms: int, answered_ms: int, *, complete: bool) -> None:
        """Process a poll; ``complete``: every broker answered."""
        if complete:
            if self._since_ms is not None:
                self._spans.append(_NoticedOutage(self._since_ms, answered_ms, self._noticed_ms))
            self._complete_ms, self._since_ms = asked_ms, None
        elif self._since_ms is None:
            self._since_ms = asked_ms if self._complete_ms is None else self._complete_ms
            self._noticed_ms = answered_ms

    def take_record(self, written_ms: int, read_ms: int) -> None:
        """Process the times of a live record; only a record that `is_late` counts."""
        if not is_late(written_ms, read_ms):
            return
        last = self._spans[-1] if self._spans else None
        if last and last.until_ms >= written_ms:
            noticed_ms = min(last.noticed_ms, read_ms)
            self._spans[-1] = _NoticedOutage(min(last.after_ms, written_ms), max(last.until_ms, read_ms), noticed_ms)
        else:
            self._spans.append(_NoticedOutage(written_ms, read_ms, read_ms))

    @property
    def running(self) -> bool:
        """Whether the last poll was not answered by all brokers."""
        return self._since_ms is not None

    def since(self, at_ms: int) -> bool:
        """Return whether brokers were unavailable at ``at_ms`` (epoch ms) or later."""
        return self.running or any(away.until_ms >= at_ms for away in self._spans)

    def spans(self, now_ms: int, offset_ms: int) -> tuple[Outage, ...]:
        """Return the recent outages by the coordinator's clock, as they were known at ``now_ms``.

        So work that is done late has the same result as work that is done in time.
        """
        noticed = [(one.after_ms, min(one.until_ms, now_ms)) for one in self._spans if one.noticed_ms <= now_ms]
        running = [] if self._since_ms is None or self._noticed_ms > now_ms else [(self._since_ms, now_ms)]
        return tuple(Outage(after_ms - offset_ms, until_ms - offset_ms) for after_ms, until_ms in (*noticed, *running))


def is_late(written_ms: int, read_ms: int) -> bool:
    """Whether a record became readable so late (both times: epoch ms) that its coordinator answered with an error.

    Brokers may answer polls before they replicate. Such a record looks the same as one that the tail reads late.
    """
    return read_ms - written_ms > WRITE_TIMEOUT_MS


def stopped_since_ms(latest_ms: int, worked_ms: int, silent_ms: int, outages: Iterable[Outage]) -> int | None:
    """Return the time since which a member that stopped by ``latest_ms`` may be stalled; None if not earlier.

    It worked until ``worked_ms``, and may be stalled for up to ``silent_ms`` after brokers are back. If they become
    unavailable again within this time, it may not have worked in between: starting brokers answer polls before they can
    do anything else.
    """
    since_ms = None
    for away in sorted(outages, key=lambda away: away.until_ms, reverse=True):
        if worked_ms < away.until_ms and away.after_ms < latest_ms <= away.until_ms + silent_ms:
            since_ms = latest_ms = max(away.after_ms, worked_ms)
    return since_ms


class PollEvidence:
    """The times of complete polls for rebalancing groups.

    A group missing from a poll was not rebalancing at some moment between its request and its answer.
    """

    def __init__(self, period_ms: int) -> None:
        """``period_ms``: the configured period of polls."""
        self._period_ms = period_ms
        self._polls: deque[tuple[int, int]] = deque(maxlen=POLLS_MAX)
        self._failed_ms: int | None = None

    def fail(self, answered_ms: int) -> None:
        """Process the end of a poll that not every broker answered: it shows only that the process was not paused."""
        self._failed_ms = answered_ms

    def add(self, asked_ms: int, answered_ms: int) -> None:
        """Add a poll that every broker answered."""
        late_ms = self._polls[-1][0] - asked_ms if self._polls else 0
        if not 0 < late_ms <= OVERTAKEN_MAX_MS:
            self._polls.append((asked_ms, answered_ms))

    def forget(self) -> None:
        """Discard all polls: a group's absence from them is no longer evidence."""
        self._polls.clear()
        self._failed_ms = None

    def clock_jumped(self, asked_ms: int) -> bool:
        """Whether the poll was sent more than `CLOCK_JUMP_MS` after the end of its period."""
        if not self._polls:
            return False
        last_ms = self._polls[-1][0] if self._failed_ms is None else max(self._polls[-1][0], self._failed_ms)
        return asked_ms - last_ms > self._period_ms + CLOCK_JUMP_MS

    def previous_ms(self, asked_ms: int) -> int | None:
        """Return the time of the latest poll before this one; None if there is none."""
        return next((before_ms for before_ms, _ in reversed(self._polls) if before_ms < asked_ms), None)

    def unlisted_start(self, joined_ms: int, offset_ms: int) -> TimeBounds | None:
        """Bound the start of a rebalance that no poll showed: between the last poll and the end of its join phase.

        A poll that was answered later does not count: the group may be missing because its rebalance had ended.

        ``joined_ms``: end of the join phase (coordinator's clock). The result is None if no poll precedes this time.
        """
        until_ms = joined_ms + offset_ms
        clear_ms = next((asked_ms for asked_ms, answered_ms in reversed(self._polls) if answered_ms <= until_ms), None)
        return None if clear_ms is None else TimeBounds(min(clear_ms - offset_ms, joined_ms), joined_ms, Evidence.LIST)
