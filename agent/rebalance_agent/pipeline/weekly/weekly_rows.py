"""Defines what the weekly page reads from the tables, as plain values. Times are aware datetimes in UTC."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

from rebalance_agent.pipeline.changes.group_signals import Signal
from rebalance_agent.pipeline.recommendations.advice_words import AdviceRow
from rebalance_agent.pipeline.report.report_rows import GroupKey
from rebalance_agent.pipeline.weekly.weeks import Week

__all__ = [
    "FLAPPERS_MAX",
    "SKEW_NEAR",
    "TIMEOUT_NEAR",
    "FlapperRow",
    "GroupWeeks",
    "SkewRow",
    "TimeoutRow",
    "WeekChange",
    "WeekTotals",
    "WeeklyRows",
]

FLAPPERS_MAX = 20_000
"""Maximum number of flapping members that are read, those of the most hours first; a page names only some."""

SKEW_NEAR = 1.5
"""Skew above which a group is listed: that of the alert KafkaGroupAssignmentSkewed."""

TIMEOUT_NEAR = 0.5
"""Share of the rebalance timeout from which on a wait for a member is listed."""


@dataclass(frozen=True, slots=True)
class WeekTotals:
    """Sums of one week. ``deploy_...``: of the rebalances that belong to detected rollouts.

    ``idle_member_hours``: hours of members without a partition; standbys are not counted.
    """

    stalled_partition_seconds: float = 0.0
    partition_seconds: float = 0.0
    rebalances: int = 0
    deploys: int = 0
    deploy_rebalances: int = 0
    deploy_stalled_partition_seconds: float = 0.0
    member_hours: float = 0.0
    idle_member_hours: float = 0.0

    @property
    def availability(self) -> float | None:
        """Return the share of partition-time without a stall (0 to 1); None without partition-time."""
        return max(0.0, 1 - self.stalled_partition_seconds / self.partition_seconds) if self.partition_seconds else None

    @property
    def deploy_share(self) -> float:
        """Return the share of the stall that is in deploys (0 to 1); 0 without stall.

        A stall over Sunday's midnight counts in both weeks, but a deploy's in the week in which it ended: at most 1.
        """
        stalled = self.stalled_partition_seconds
        return min(1.0, self.deploy_stalled_partition_seconds / stalled) if stalled else 0.0

    def budget_used(self, slo: float) -> float | None:
        """Return the used share of the stall that objective ``slo`` allows (1: all of it); None if nothing is known."""
        return self.stalled_partition_seconds / (self.partition_seconds * (1 - slo)) if self.partition_seconds else None

    @classmethod
    def sum(cls, totals: Iterable[WeekTotals]) -> WeekTotals:
        """Return the sums over several groups."""
        listed = list(totals)
        return cls(*(sum(getattr(each, field.name) for each in listed) for field in fields(cls)))


@dataclass(frozen=True, slots=True)
class GroupWeeks:
    """A group's week and the week before. ``costliest_deploy_at``: start of this week's deploy with the most stall."""

    cluster_id: str
    group: str
    this: WeekTotals = WeekTotals()
    before: WeekTotals = WeekTotals()
    costliest_deploy_at: dt.datetime | None = None

    @property
    def key(self) -> GroupKey:
        """Return cluster id and group id."""
        return self.cluster_id, self.group

    @property
    def change(self) -> float:
        """Return the stalled partition-seconds that this week has more than the week before."""
        return self.this.stalled_partition_seconds - self.before.stalled_partition_seconds


@dataclass(frozen=True, slots=True)
class WeekChange:
    """The hour from which a group's stall per rebalance, or its frequency, was ``ratio`` times that before."""

    cluster_id: str
    group: str
    signal: Signal
    changed_at: dt.datetime
    ratio: float

    @property
    def key(self) -> GroupKey:
        """Return cluster id and group id."""
        return self.cluster_id, self.group


@dataclass(frozen=True, slots=True)
class FlapperRow:
    """A member (by instance id or client id), and the hours of each week in which it flapped."""

    cluster_id: str
    group: str
    name: str
    hours: int
    hours_before: int


@dataclass(frozen=True, slots=True)
class SkewRow:
    """A group whose skew was above `SKEW_NEAR` in some ``hours`` of the week, and its highest skew."""

    cluster_id: str
    group: str
    skew_max: float
    hours: int


@dataclass(frozen=True, slots=True)
class TimeoutRow:
    """A group that waited for a member for at least `TIMEOUT_NEAR` of its rebalance timeout in some ``rebalances``.

    ``waited_seconds``: of the wait with the highest share, at least; ``member``: the client id that it waited for.
    """

    cluster_id: str
    group: str
    waited_seconds: float
    timeout_seconds: float
    rebalances: int
    member: str | None = None


@dataclass(frozen=True)
class WeeklyRows:
    """Everything that a weekly page is computed from.

    ``days``: stalled partition-seconds of the fourteen days, the week before first. ``first``, ``end``: the time for
    which the tables have hours. Lists of skews and timeouts begin with the worst; ``advice`` and
    ``changes`` have no order.
    """

    week: Week
    first: dt.datetime
    end: dt.datetime
    groups: tuple[GroupWeeks, ...]
    days: tuple[float, ...]
    flappers: tuple[FlapperRow, ...] = ()
    skews: tuple[SkewRow, ...] = ()
    timeouts: tuple[TimeoutRow, ...] = ()
    advice: tuple[AdviceRow, ...] = ()
    changes: tuple[WeekChange, ...] = ()
    made_at: dt.datetime | None = None

    @cached_property
    def clusters(self) -> Sequence[str]:
        """Return the ids of the groups' clusters, in order."""
        return sorted({row.cluster_id for row in self.groups})

    @property
    def has_before(self) -> bool:
        """Whether the tables have hours of the week before."""
        return self.first < self.week.start
