"""Defines the values that the weekly page reads from the tables. Times are aware datetimes in UTC."""

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
"""Maximum number of flapping members that are read, the most hours first; a page names only some of them."""

SKEW_NEAR = 1.5
"""Skew above which a group is listed, as in the alert KafkaGroupAssignmentSkewed."""

TIMEOUT_NEAR = 0.5
"""Minimum share of the rebalance timeout for which a wait for a member is listed."""


@dataclass(frozen=True, slots=True)
class WeekTotals:
    """Sums of one week. ``deploy_...``: sums over the rebalances that belong to detected rollouts.

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
        """Return the share of the stall that deploys cause (0 to 1); 0 if there is no stall.

        The share is limited to 1: a stall over Sunday's midnight counts in both weeks, a deploy's stall only in one.
        """
        stalled = self.stalled_partition_seconds
        return min(1.0, self.deploy_stalled_partition_seconds / stalled) if stalled else 0.0

    def budget_used(self, slo: float) -> float | None:
        """Return the used share (1: all) of the stall that objective ``slo`` allows; None if it is unknown."""
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
        """Return by how many stalled partition-seconds this week exceeds the week before."""
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
    """A member (an instance id or client id), and the number of hours in each week in which the member flapped."""

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

    ``waited_seconds``: lower bound of the wait with the highest share. ``member``: client id of the slow member.
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

    ``days``: stalled partition-seconds of the fourteen days, beginning with the week before. ``first``, ``end``: the
    period for which the tables have hours. Lists of skews and timeouts begin with the worst group; ``advice`` and
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
        """Return whether the tables have hours of the week before."""
        return self.first < self.week.start
