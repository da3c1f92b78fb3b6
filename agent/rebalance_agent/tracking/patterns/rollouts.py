"""Rollouts (deploys): series of rebalances in which a group's members are replaced one after the other.

The rules, based on settled episodes (times are by the coordinator's clock):

1. Departed and joined members are paired to replacements; see `replacements.Replacements`.
2. A replacement counts unless the departed member was itself a recent successor: a member in a crash loop is replaced
   once. It always counts if both images are known and differ.
3. A rollout starts when the counted replacements within `WINDOW_MS` are a fifth of the members before, but at least
   `REPLACEMENTS_MIN` and at most `REPLACEMENTS_ENOUGH`; or at the first one between different images.
4. It spans the rebalances from the first to the last one of its counted replacements, with their costs.
5. It ends when no replacement counted for `QUIET_MS`, or after `LENGTH_MAX_MS`: what continues then is not a deploy,
   and must not silence alerts.

So a crash is not a rollout, nor is adding or removing members; a rolling restart is one, however its members restart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rebalance_agent.model.events import GenerationEvent, event_id
from rebalance_agent.model.group import HasIds
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.tracking.patterns.replacements import (
    PAIR_MS,
    Replacement,
    Replacements,
    ReportedBy,
    SettledRebalance,
)

__all__ = [
    "LENGTH_MAX_MS",
    "QUIET_MS",
    "REBALANCES_MAX",
    "REPLACEMENTS_ENOUGH",
    "REPLACEMENTS_MIN",
    "SUCCESSORS_MAX",
    "WINDOW_MS",
    "Rollouts",
]

WINDOW_MS = 15 * 60_000
"""Window (ms) in which replacements add up to a rollout: slow deploys replace a member every few minutes."""

QUIET_MS = 5 * 60_000
"""Time (ms) without a replacement that ends a rollout; a deploy that pauses longer counts as two."""

LENGTH_MAX_MS = 4 * 3_600_000
"""Longest rollout (ms): longer than any deploy of one group takes."""

REPLACEMENTS_MIN = 2
"""Fewest replacements of a rollout: one is a crash."""

REPLACEMENTS_ENOUGH = 5
"""Replacements that are a rollout in any group: by its share alone, a large group's would be recognised too late."""

MEMBERS_PER_REPLACEMENT = 5
"""Members before the rollout per replacement that is needed to start it: a fifth of them."""

REBALANCES_MAX = 1_024
"""Rebalances kept that may belong to a rollout: about one per second for `WINDOW_MS`."""

SUCCESSORS_MAX = 4_096
"""Successors kept per group: twice the largest groups. Beyond it none is added."""

IMAGES_MAX = 8
"""Different images listed for the old members, and for the new ones."""


@dataclass(slots=True)
class _CurrentRollout:
    """The current rollout, with the sums up to its ``last`` rebalance."""

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
        self.last = max(self.last, replacement.last, key=_at)
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


class Rollouts:
    """The rollouts of one group, one at a time (``shown``: the current or last one).

    Equal episodes in equal order give equal events.
    """

    def __init__(self) -> None:
        """Start without replacements."""
        self.shown: RolloutEvent | None = None
        self._replacements = Replacements()
        self._successors: dict[str, int] = {}
        self._counted: list[Replacement] = []
        self._rebalances: list[SettledRebalance] = []
        self._current: _CurrentRollout | None = None

    @property
    def due_ms(self) -> int | None:
        """The next deadline of `pass_time` (observer's clock); None without a rollout."""
        return self._current.due_ms if self._current else None

    def add_episode(
        self, before: Sequence[HasIds], events: Sequence[GenerationEvent], reported_by: ReportedBy, now_ms: int
    ) -> RolloutEvent | None:
        """Take a settled episode: the members ``before`` it, and its generations' ``events``.

        Returns:
            The event of a rollout that was recognised with this episode; else None.
        """
        rebalance = SettledRebalance.of(len(before), events)
        self._forget(rebalance.at_ms)
        self._rebalances.append(rebalance)
        del self._rebalances[:-REBALANCES_MAX]
        counted = [
            replacement
            for replacement in self._replacements.add_episode(rebalance, before, events, reported_by)
            if self._counts(replacement)
        ]
        if self._current is None:
            self._counted += counted
            return self._recognise(events[-1], now_ms) if counted else None
        self._extend(self._current, counted, events[-1], now_ms)
        return None

    def pass_time(self, now_ms: int) -> RolloutEvent | None:
        """Return the event of the rollout that has ended by ``now_ms``, if any."""
        return self.end() if self._current is not None and now_ms >= self._current.due_ms else None

    def end(self) -> RolloutEvent | None:
        """End the current rollout and return its event; None without one."""
        if self._current is None or self.shown is None:
            return None
        self.shown = _event(self._current, self.shown, closed=True)
        self._current = None
        self._successors.clear()
        self._counted = []
        return self.shown

    def _counts(self, replacement: Replacement) -> bool:
        successor = self._successors.pop(replacement.gone, None) is not None
        if len(self._successors) < SUCCESSORS_MAX:
            self._successors[replacement.joined] = replacement.last.at_ms
        return not successor or replacement.new_image

    def _recognise(self, event: GenerationEvent, now_ms: int) -> RolloutEvent | None:
        first = min((replacement.first for replacement in self._counted), key=_at)
        needed = min(max(REPLACEMENTS_MIN, -(-first.members // MEMBERS_PER_REPLACEMENT)), REPLACEMENTS_ENOUGH)
        if len(self._counted) < needed and not any(replacement.new_image for replacement in self._counted):
            return None
        self._current = _CurrentRollout(first, first)
        while self._rebalances and self._rebalances[0].at_ms < first.at_ms:
            self._rebalances.pop(0)
        self._extend(self._current, self._counted, event, now_ms)
        self._counted = []
        return self.shown

    def _extend(
        self, current: _CurrentRollout, counted: Iterable[Replacement], event: GenerationEvent, now_ms: int
    ) -> None:
        for replacement in counted:
            current.count(replacement, now_ms)
        while self._rebalances and self._rebalances[0].at_ms <= current.last.at_ms:
            current.add(self._rebalances.pop(0))
        self.shown = _event(current, event, closed=False)

    def _forget(self, at_ms: int) -> None:
        if self._current is not None:
            return
        self._counted = [replacement for replacement in self._counted if replacement.last.at_ms >= at_ms - WINDOW_MS]
        self._successors = {name: came_ms for name, came_ms in self._successors.items() if came_ms >= at_ms - WINDOW_MS}
        while self._rebalances and self._rebalances[0].at_ms < at_ms - WINDOW_MS - PAIR_MS:
            self._rebalances.pop(0)


def _at(rebalance: SettledRebalance) -> int:
    return rebalance.at_ms


def _event(current: _CurrentRollout, about: GenerationEvent | RolloutEvent, *, closed: bool) -> RolloutEvent:
    """Build the event of a rollout; ``about`` is any event of its group."""
    first, last = current.first, current.last
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
        rebalances=current.rebalances,
        members=first.members,
        members_replaced=current.replaced,
        stalled_partition_seconds=current.stalled_partition_seconds,
        stall_seconds=current.stall_seconds,
        workload=min(current.workloads) if len(current.workloads) == 1 else None,
        from_images=tuple(sorted(current.from_images)),
        to_images=tuple(sorted(current.to_images)),
        revision=int(closed),
    )
