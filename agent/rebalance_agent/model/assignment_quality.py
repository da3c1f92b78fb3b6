"""How good an assignment is: one value for the CLI, the events, the metrics and the what-if."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["AssignmentQuality"]


@dataclass(frozen=True, slots=True)
class AssignmentQuality:
    """Judges the target of an assignment. ``None`` means "does not apply" or "cannot be known".

    - ``spread``: highest minus lowest number of partitions over the members.
    - ``max_mean_ratio``: highest load / mean load.
    - ``skew_ratio``: max over members of load / what the strategy promises that member; 1 is best.
    - ``imbalance``: highest load above its target, in partitions; 0 is optimal.
    - ``moved``: partitions that change owner; ``moved_min``: the fewest that this balance needs.
    - ``unassigned``: partitions of subscribed topics that nobody gets.
    - ``topic_spread``: topic -> distinct owners / min(partitions, subscribed members that are promised anything);
      1 is best.
    - ``copartition_breaks``: partition numbers of co-partitioned topics that lie on different members.
    - ``rack_misses``: partitions whose owner's rack holds no replica although some subscribed member's does.
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
