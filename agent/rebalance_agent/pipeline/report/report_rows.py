"""Defines the data of a report as plain values, so that rendering needs no Spark. Times are aware datetimes in UTC."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rebalance_agent.pipeline.recommendations.advice_sums import AdviceSums
from rebalance_agent.pipeline.recommendations.advice_words import AdviceRow

__all__ = [
    "DETAILS_MAX",
    "EPISODES_MAX",
    "GROUPS_MAX",
    "OWNERS_MAX",
    "OWNERS_MEMBERS_MAX",
    "BaselineRow",
    "ChangeRow",
    "CostRow",
    "DeployRow",
    "EpisodeRow",
    "GroupKey",
    "GroupRow",
    "OwnersRow",
    "ReportData",
    "ReportGroup",
    "StormRow",
    "WeekRow",
    "WhatIfRow",
]

GROUPS_MAX = 5_000
"""Maximum number of groups in the table, the most expensive first; each group needs about 1 kB of HTML."""

DETAILS_MAX = 30
"""Maximum number of groups with their own charts, which need up to 0.5 MB per group; keeps a page below 20 MB."""

EPISODES_MAX = 120
"""Maximum number of rebalances in a group's charts; the latest are kept."""

OWNERS_MAX = 60
"""Maximum number of generations in a group's chart of owners; the latest are kept."""

OWNERS_MEMBERS_MAX = 20_000
"""Maximum number of members in all of these generations together; the latest generation is always kept.

A group of thousands of members would fill the process's memory, and the chart shows only some of them.
"""

GroupKey = tuple[str, str]
"""Cluster id and group id."""


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One group's totals. ``costs``: stalled partition-seconds in each of the report's periods.

    ``flapping``: the value in the group's last rebalance. ``recommended``: the recommended strategy.
    """

    cluster_id: str
    group: str
    group_type: str
    protocol: str
    assignor: str | None
    members: int
    partitions: int
    rebalances: int
    stalled_partition_seconds: float
    partition_seconds: float | None = None
    stall_p95: float | None = None
    skew_max: float | None = None
    trigger: str | None = None
    flapping: Sequence[str] | None = None
    costs: tuple[float, ...] = ()
    recommended: str | None = None
    static_membership: bool | None = None
    saved_partition_seconds: float | None = None
    sentence: str | None = None

    @property
    def key(self) -> GroupKey:
        """Return cluster id and group id."""
        return self.cluster_id, self.group

    @property
    def availability(self) -> float | None:
        """Return the share of partition-time without stall (0 to 1); None if unknown."""
        if not self.partition_seconds:
            return None
        return max(0.0, 1 - self.stalled_partition_seconds / self.partition_seconds)


@dataclass(frozen=True, slots=True)
class CostRow:
    """The number and cost of rebalances with one trigger in one period, over all groups."""

    period: int
    trigger: str
    rebalances: int
    stalled_partition_seconds: float


@dataclass(frozen=True, slots=True)
class WeekRow:
    """The number and cost of rebalances in one hour of the week, over all weeks; hour 0 is Monday, 00:00 UTC."""

    hour_of_week: int
    rebalances: int
    stalled_partition_seconds: float


@dataclass(frozen=True, slots=True)
class StormRow:
    """An hour in which storms began in a group, and the number of rebalances in the hour."""

    cluster_id: str
    group: str
    hour: dt.datetime
    rebalances: int


@dataclass(frozen=True, slots=True)
class DeployRow:
    """A deploy, and the number and cost of its rebalances."""

    cluster_id: str
    group: str
    started_at: dt.datetime
    ended_at: dt.datetime
    rebalances: int
    stalled_partition_seconds: float
    stall_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """One episode (a whole rebalance) of a group. ``stall_seconds``: the lower bound of the episode's longest stall."""

    generation: int
    completed_at: dt.datetime
    trigger: str
    join_seconds: float | None = None
    sync_seconds: float | None = None
    assignor_wait_seconds: float | None = None
    reconcile_seconds: float | None = None
    stall_seconds: float | None = None
    stall_upper_seconds: float | None = None
    skew_ratio: float | None = None
    slowest_client_id: str | None = None

    @property
    def timed(self) -> bool:
        """Return whether the length of a phase or the stall is known."""
        phases = self.join_seconds, self.sync_seconds, self.assignor_wait_seconds, self.reconcile_seconds
        return any(seconds is not None for seconds in (*phases, self.stall_seconds))

    @property
    def phases(self) -> Mapping[str, float]:
        """Return the seconds of each phase; 0 if they are unknown."""
        return {
            "join": self.join_seconds or 0.0,
            "sync": self.sync_seconds or 0.0,
            "assignor wait": self.assignor_wait_seconds or 0.0,
            "reconcile": self.reconcile_seconds or 0.0,
        }


@dataclass(frozen=True, slots=True)
class OwnersRow:
    """A generation, and each member's number of partitions by member name (see `member_names`)."""

    generation: int
    completed_at: dt.datetime
    trigger: str
    partitions: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class WhatIfRow:
    """A group's history replayed with a strategy. ``refused``: why the history could not be replayed."""

    strategy: str
    generations: int
    refused: str | None = None
    moved: int | None = None
    skew_max: float | None = None
    stalled_partition_seconds: float | None = None
    recorded_moved: int | None = None
    recorded_stalled_partition_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class BaselineRow:
    """A group's normal stall in seconds at an hour of the week."""

    hour_of_week: int
    samples: int
    stall_p50: float
    stall_p95: float | None = None


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A change of a group's stall, frequency or skew, as a sentence."""

    sentence: str


@dataclass(frozen=True, slots=True)
class ReportGroup:
    """The data of one group's charts, changes and advice, ordered by time; ``whatif`` and ``advice`` have no order."""

    key: GroupKey
    episodes: tuple[EpisodeRow, ...] = ()
    owners: tuple[OwnersRow, ...] = ()
    whatif: tuple[WhatIfRow, ...] = ()
    baselines: tuple[BaselineRow, ...] = ()
    changes: tuple[ChangeRow, ...] = ()
    advice: tuple[AdviceRow, ...] = ()


@dataclass(frozen=True)
class ReportData:
    """A whole report. The time from ``since`` to ``until`` is divided into periods of ``period_seconds``.

    ``groups``: the most expensive groups first. ``groups_in_all``, ``deploys_in_all``: total numbers; 0 if all are
    listed. ``taken``: the sums of the recommended changes that groups made.
    """

    since: dt.datetime
    until: dt.datetime
    period_seconds: int
    groups: tuple[GroupRow, ...]
    costs: tuple[CostRow, ...] = ()
    week: tuple[WeekRow, ...] = ()
    storms: tuple[StormRow, ...] = ()
    deploys: tuple[DeployRow, ...] = ()
    details: tuple[ReportGroup, ...] = ()
    groups_in_all: int = 0
    deploys_in_all: int = 0
    taken: AdviceSums | None = None
    made_at: dt.datetime | None = None

    @cached_property
    def by_key(self) -> Mapping[GroupKey, GroupRow]:
        """Return the groups by key."""
        return {row.key: row for row in self.groups}

    @cached_property
    def clusters(self) -> Sequence[str]:
        """Return the ids of the groups' clusters, in order."""
        return sorted({row.cluster_id for row in self.groups})

    @property
    def periods(self) -> int:
        """Return the number of periods."""
        seconds = (self.until - self.since).total_seconds()
        return max(1, -(-int(seconds) // self.period_seconds))

    def period_at(self, number: int) -> dt.datetime:
        """Return the start of a period."""
        return self.since + dt.timedelta(seconds=number * self.period_seconds)
