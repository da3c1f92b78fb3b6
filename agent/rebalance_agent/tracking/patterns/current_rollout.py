"""The current rollout of a group: the sum of its replacements and rebalances, and its event."""

from __future__ import annotations

from dataclasses import dataclass, field

from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.group_event import event_id
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.tracking.patterns.replacements import Replacement
from rebalance_agent.tracking.patterns.unpaired_members import SettledRebalance

__all__ = ["IMAGES_MAX", "LENGTH_MAX_MS", "QUIET_MS", "CurrentRollout"]

QUIET_MS = 5 * 60_000
"""Time (ms) without a replacement after which a rollout ends. A deploy that pauses for longer counts as two
rollouts."""

LENGTH_MAX_MS = 4 * 3_600_000
"""Longest rollout (ms): longer than any deploy of one group takes."""

IMAGES_MAX = 8
"""Maximum number of different images listed for the old members, and for the new members."""


@dataclass(slots=True)
class CurrentRollout:
    """The current rollout, with the sums from its ``first`` to its ``last`` rebalance."""

    first: SettledRebalance
    last: SettledRebalance
    due_ms: int = 0
    replaced: int = 0
    rebalances: int = 0
    stalled_partition_seconds: float = 0.0
    stall_seconds: float | None = None
    workloads: set[str] = field(default_factory=set)
    from_images: set[str] = field(default_factory=set)
    to_images: set[str] = field(default_factory=set)

    def count(self, replacement: Replacement, now_ms: int) -> None:
        """Add a replacement."""
        self.replaced += 1
        self.last = max(self.last, replacement.last, key=lambda rebalance: rebalance.at_ms)
        self.due_ms = now_ms + min(QUIET_MS, max(0, self.first.at_ms + LENGTH_MAX_MS - self.last.at_ms))
        for where, images in ((replacement.before, self.from_images), (replacement.after, self.to_images)):
            if where.image is not None and len(images) < IMAGES_MAX:
                images.add(where.image)
            if where.workload is not None:
                self.workloads = {*self.workloads, where.workload}

    def add(self, rebalance: SettledRebalance) -> None:
        """Add a rebalance."""
        self.rebalances += 1
        self.stalled_partition_seconds += rebalance.stalled_partition_seconds
        if rebalance.stall_seconds is not None:
            self.stall_seconds = max(self.stall_seconds or 0.0, rebalance.stall_seconds)

    def event(self, about: GenerationEvent | RolloutEvent, *, closed: bool) -> RolloutEvent:
        """Return the rollout's event; ``about`` is any event of its group."""
        first, last = self.first, self.last
        number, at_ms = first.first_generation, first.at_ms
        return RolloutEvent(
            event_id=event_id(RolloutEvent.KIND, about.cluster_id, about.group, about.group_type, number, at_ms),
            cluster_id=about.cluster_id,
            group=about.group,
            timestamp_ms=last.at_ms,
            source=about.source,
            group_type=about.group_type,
            started_ms=first.started_ms,
            first_generation=number,
            last_generation=last.last_generation,
            closed=closed,
            rebalances=self.rebalances,
            members=first.members,
            members_replaced=self.replaced,
            stalled_partition_seconds=self.stalled_partition_seconds,
            stall_seconds=self.stall_seconds,
            workload=min(self.workloads) if len(self.workloads) == 1 else None,
            from_images=tuple(sorted(self.from_images)),
            to_images=tuple(sorted(self.to_images)),
            revision=int(closed),
        )
