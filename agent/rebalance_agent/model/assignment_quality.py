"""The quality of an assignment as one value, shared by the command line, events, metrics and what-if."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["AssignmentQuality"]


@dataclass(frozen=True, slots=True)
class AssignmentQuality:
    """Quality of an assignment's target. ``None``: does not apply, or is not known.

    - ``spread``: highest minus lowest number of partitions per member.
    - ``max_mean_ratio``: highest load / mean load.
    - ``skew_ratio``: maximum over members of load / the load that the strategy promises; 1 is best.
    - ``imbalance``: the highest number of partitions that a member has above its target; 0 is optimal.
    - ``moved``: partitions that change owner; ``moved_min``: the fewest moves that this balance needs.
    - ``unassigned``: partitions of subscribed topics without an owner.
    - ``topic_spread``: topic -> distinct owners / min(partitions, subscribers whose target is above 0); 1 is best.
    - ``copartition_breaks``: partition numbers of co-partitioned topics that are on different members.
    - ``rack_misses``: partitions whose owner's rack has no replica although the rack of another subscriber has one.
    - ``missing_standbys``: standby copies that the setting asks for and that no member could get; one of a unit of
      partitions counts once.
    """

    spread: int
    max_mean_ratio: float | None
    skew_ratio: float | None
    imbalance: int | None
    moved: int | None
    moved_min: int | None
    unassigned: int
    topic_spread: Mapping[str, float] = field(default_factory=dict)
    copartition_breaks: int | None = None
    rack_misses: int | None = None
    missing_standbys: int | None = None
