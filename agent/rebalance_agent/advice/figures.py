"""The figures of a replay: sums, which can be added over the parts of a history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import takewhile

from rebalance_agent.advice.client_kinds import PossibleClients
from rebalance_agent.advice.slow_members import SlowMember, costlier
from rebalance_agent.assignors.hosts.topic_hosts import HostSpread
from rebalance_agent.model.group import GroupType, RebalanceProtocol

__all__ = ["STALLS_FIELDS", "Figures", "Replayed", "StrategyOutcome", "WhatIf", "added", "merged"]

STALLS_FIELDS = ("stalled_partition_seconds", "avoided", "avoided_partition_seconds", "waited_partition_seconds")
"""Fields of `Figures` that are meaningful only if ``stalls`` is above 0."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """One rebalance under another strategy. ``stalled_partition_seconds`` is a prediction, or None if none is possible.

    ``generation`` is the recorded generation that closed the rebalance. ``moved`` is 0 in the first rebalance, which
    starts from no assignment. ``clustered_ratio``: the share of topics that are entirely on one host (see
    `HostSpread`); None if no topic could be on several hosts.
    """

    generation: int
    timestamp_ms: int
    moved: int
    needed: int | None
    excess: int | None
    skew_ratio: float
    imbalance: int
    stalled_partition_seconds: float | None
    clustered_ratio: float | None = None


@dataclass(frozen=True, slots=True)
class Figures:
    """Sums over rebalances: ``generations`` have a measured skew and imbalance, ``stalls`` have known stalls.

    ``spreads``: rebalances with topics that could be on several hosts; ``clustered_sum``: the sum of their shares of
    topics that are entirely on one host.
    ``avoided``: rebalances that static membership would have avoided; ``avoided_partition_seconds``: their stalls;
    ``waited_partition_seconds``: how long partitions would have waited for their members instead.
    """

    generations: int = 0
    moved: int = 0
    excess: int = 0
    skew_sum: float = 0.0
    skew_max: float = 1.0
    imbalance_sum: int = 0
    stalls: int = 0
    stalled_partition_seconds: float = 0.0
    avoided: int = 0
    avoided_partition_seconds: float = 0.0
    waited_partition_seconds: float = 0.0
    spreads: int = 0
    clustered_sum: float = 0.0

    @property
    def clustered_mean(self) -> float | None:
        """Mean share of topics that are entirely on one host; None if no topic could be on several hosts."""
        return self.clustered_sum / self.spreads if self.spreads else None

    @property
    def skew_mean(self) -> float | None:
        """Mean skew ratio; None without generations."""
        return self.skew_sum / self.generations if self.generations else None

    @property
    def imbalance_mean(self) -> float | None:
        """Mean imbalance in partitions; None without generations."""
        return self.imbalance_sum / self.generations if self.generations else None

    @classmethod
    def of(cls, line: Replayed, *, avoided: bool, waited: float) -> Figures:
        """Return the figures of one rebalance.

        ``avoided``: static membership would have avoided it, at the cost of ``waited`` partition-seconds.
        """
        stalled = line.stalled_partition_seconds
        return cls(
            generations=1,
            moved=line.moved,
            excess=line.excess or 0,
            skew_sum=line.skew_ratio,
            skew_max=max(1.0, line.skew_ratio),
            imbalance_sum=line.imbalance,
            stalls=int(stalled is not None),
            stalled_partition_seconds=stalled or 0.0,
            avoided=int(avoided and stalled is not None),
            avoided_partition_seconds=stalled or 0.0 if avoided else 0.0,
            waited_partition_seconds=waited,
            spreads=int(line.clustered_ratio is not None),
            clustered_sum=line.clustered_ratio or 0.0,
        )

    def __add__(self, other: Figures) -> Figures:
        """Add the figures of two parts of one history."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in _SUMS}
        return Figures(**sums, skew_max=max(self.skew_max, other.skew_max))


_SUMS = tuple(field.name for field in fields(Figures) if field.name != "skew_max")


@dataclass(frozen=True, slots=True)
class StrategyOutcome:
    """The figures of one strategy for a history, or why it was ``refused``.

    ``spread_anew``: the spread of its assignment if all members of the last rebalance started again; None if all
    members are on one host, or if no topic could be on several hosts.
    """

    strategy: str
    protocol: RebalanceProtocol
    figures: Figures = Figures()
    refused: str | None = None
    spread_anew: HostSpread | None = None


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A group's recorded figures, and the figures of other strategies.

    ``recorded``: measured figures, with lower bounds of stalls. ``recorded_upper``: the sum of their upper bounds in
    partition-seconds, None if one of them is unknown. ``predicted``: the same moves with predicted stalls, for the
    recorded protocol; the difference from ``recorded`` shows how far predictions can be trusted. ``copartitioned``: at
    the end, each member had the same partition numbers of several topics. ``assignor``: None if no assignor ran;
    ``group_type``: the type at the end. ``clients``: the libraries that members may use, ``gateway_clients``: those of
    members for which a gateway runs the assignor, and ``partitions``: how many were assigned, all at the end. ``slow``:
    the member for which the others waited most. ``host_spread``: the spread of the last recorded assignment.
    ``spread_anew``: as in `StrategyOutcome`, for the group's own strategy; None if
    that strategy cannot be replayed.
    """

    cluster_id: str
    group: str
    assignor: str | None
    protocol: RebalanceProtocol
    recorded: Figures
    predicted: Figures
    outcomes: tuple[StrategyOutcome, ...]
    copartitioned: bool = False
    group_type: GroupType = GroupType.CLASSIC
    clients: tuple[PossibleClients, ...] = ()
    partitions: int = 0
    slow: SlowMember | None = None
    recorded_upper: float | None = None
    host_spread: HostSpread | None = None
    spread_anew: HostSpread | None = None
    gateway_clients: tuple[PossibleClients, ...] = ()


def merged(parts: Sequence[WhatIf]) -> WhatIf:
    """Return the parts of one group's history, oldest first, as one; a strategy refused in one part is refused.

    Parts without a decision are ignored, and so is everything before the last change of assignor or group type.
    """
    decided = [part for part in parts if part.recorded.generations]
    last = decided[-1] if decided else parts[-1]
    same = (last.assignor, last.group_type)
    parts = [*takewhile(lambda part: (part.assignor, part.group_type) == same, reversed(decided or [last]))][::-1]
    outcomes = []
    slow: SlowMember | None = None
    for part in parts:
        slow = costlier(slow, part.slow)
    for index, outcome in enumerate(last.outcomes):
        refused = next((part.outcomes[index].refused for part in parts if part.outcomes[index].refused), None)
        figures = sum((part.outcomes[index].figures for part in parts), Figures())
        outcomes.append(replace(outcome, figures=Figures() if refused else figures, refused=refused))
    return replace(
        last,
        recorded=sum((part.recorded for part in parts), Figures()),
        predicted=sum((part.predicted for part in parts), Figures()),
        outcomes=tuple(outcomes),
        slow=slow,
        recorded_upper=added([part.recorded_upper for part in parts]),
    )


def added(seconds: Sequence[float | None]) -> float | None:
    """Return the sum of the upper bounds; None if a bound is unknown."""
    known = [value for value in seconds if value is not None]
    return sum(known) if len(known) == len(seconds) else None
