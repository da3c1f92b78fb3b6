"""What a report is drawn from: plain rows, so that drawing needs no Spark. Times are aware datetimes in UTC."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = [
    "DETAILS_MAX",
    "EPISODES_MAX",
    "GROUPS_MAX",
    "OWNERS_MAX",
    "OWNERS_MEMBERS_MAX",
    "BaselineRow",
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
"""Groups in the table, the worst first: about 1 kB each."""

DETAILS_MAX = 30
"""Groups with pictures of their own, the worst first: up to 0.5 MB each. With it a page stays below 20 MB."""

EPISODES_MAX = 120
"""Rebalances of one group in its pictures, the latest."""

OWNERS_MAX = 60
"""Generations of one group in the timeline of owners, the latest."""

OWNERS_MEMBERS_MAX = 20_000
"""Members in all of these together, or the latest generation's: a group of thousands would fill the process's memory,
and its timeline shows only some of them."""

GroupKey = tuple[str, str]
"""Cluster id and group."""


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One group over the whole time. ``costs``: stalled partition-seconds of each of the report's periods."""

    cluster_id: str
    group: str
    group_type: str
    protocol: str
    assignor: str | None
    members: int
    partitions: int
    rebalances: int
    stalled_partition_seconds: float
    noops: int = 0
    aborted: int = 0
    storms: int = 0
    moved: int = 0
    moved_excess: int = 0
    partition_seconds: float | None = None
    stall_p95: float | None = None
    stall_max: float | None = None
    skew_max: float | None = None
    trigger: str | None = None
    flapping: tuple[str, ...] = ()
    costs: tuple[float, ...] = ()
    recommended: str | None = None
    static_membership: bool = False
    saved_partition_seconds: float | None = None
    saved_moves: int | None = None
    sentence: str | None = None

    @property
    def key(self) -> GroupKey:
        """Which group it is."""
        return self.cluster_id, self.group

    @property
    def availability(self) -> float | None:
        """The share of partition-time in which partitions were worked on, as far as known."""
        if not self.partition_seconds:
            return None
        return max(0.0, 1 - self.stalled_partition_seconds / self.partition_seconds)


@dataclass(frozen=True, slots=True)
class CostRow:
    """What rebalances of one trigger cost in one period of the fleet."""

    period: int
    trigger: str
    rebalances: int
    stalled_partition_seconds: float


@dataclass(frozen=True, slots=True)
class WeekRow:
    """What an hour of the week cost, over all weeks; 0 is Monday, 00:00 UTC."""

    hour_of_week: int
    rebalances: int
    stalled_partition_seconds: float


@dataclass(frozen=True, slots=True)
class StormRow:
    """An hour in which storms began in a group, and how many rebalances it had."""

    cluster_id: str
    group: str
    hour: dt.datetime
    rebalances: int


@dataclass(frozen=True, slots=True)
class DeployRow:
    """A deploy and what its rebalances cost."""

    cluster_id: str
    group: str
    started_at: dt.datetime
    ended_at: dt.datetime
    rebalances: int
    stalled_partition_seconds: float
    stall_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """One rebalance of a group, whole."""

    generation: int
    completed_at: dt.datetime
    trigger: str
    join_seconds: float | None = None
    sync_seconds: float | None = None
    reconcile_seconds: float | None = None
    stall_seconds: float | None = None
    stall_basis: str | None = None
    stalled_partition_seconds: float | None = None
    skew_ratio: float | None = None
    moved: int = 0
    needed: int | None = None
    slowest: str | None = None


@dataclass(frozen=True, slots=True)
class OwnersRow:
    """A generation's members and how many partitions each was given; a member goes by instance or client id."""

    generation: int
    completed_at: dt.datetime
    trigger: str
    partitions: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class WhatIfRow:
    """A group's history replayed with a strategy; ``refused`` says why it could not be."""

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
    """What is normal at an hour of the week."""

    hour_of_week: int
    samples: int
    stall_p50: float
    stall_p95: float | None = None


@dataclass(frozen=True, slots=True)
class ReportGroup:
    """What the pictures of one group show. Rows in the order of time; ``whatif`` in any."""

    key: GroupKey
    episodes: tuple[EpisodeRow, ...] = ()
    owners: tuple[OwnersRow, ...] = ()
    whatif: tuple[WhatIfRow, ...] = ()
    baselines: tuple[BaselineRow, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportData:
    """A whole report. The time from ``since`` to ``until`` is divided into periods of ``period_seconds``.

    ``groups``: the worst first. ``groups_in_all``: how many there are, if more than are told of.
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
    made_at: dt.datetime | None = None
    by_key: Mapping[GroupKey, GroupRow] = field(init=False)

    def __post_init__(self) -> None:
        """Find groups by their keys."""
        object.__setattr__(self, "by_key", {each.key: each for each in self.groups})

    @property
    def periods(self) -> int:
        """How many periods there are."""
        seconds = (self.until - self.since).total_seconds()
        return max(1, -(-int(seconds) // self.period_seconds))

    def period_at(self, number: int) -> dt.datetime:
        """When a period begins."""
        return self.since + dt.timedelta(seconds=number * self.period_seconds)
