"""Deploys: the rebalances in which a group's members are replaced one after the other, taken together.

The rules, all of them by what settled episodes show (times are the coordinator's):

1. Who went and who came are put together to replacements; see `replacements.Replacements`.
2. A replacement counts unless the member that went had itself just come as one: a member that crashes again and again
   is replaced once. It counts anyway if both images are known and differ.
3. A rollout is recognised when within `WINDOW_MS` replacements count that are a fifth of the members that there were
   before, but at least `LEAST` and at most `ENOUGH`; at the first one between different images.
4. It spans the rebalances from the first to the last that has a part in a replacement that counts, and what they cost.
5. It is over when nothing counted for `QUIET_MS`, or after `LENGTH_MAX_MS`: whatever goes on then is no deploy, and
   must not keep alerts silent.

So a crash is none, nor is adding or removing members; a rolling restart is one, however its members restart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rebalance_agent.model.events import GenerationEvent, event_id
from rebalance_agent.model.group import HasIds
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.tracking.patterns.replacements import PAIR_MS, Replacement, Replacements, SettledRebalance, Tell

__all__ = ["ENOUGH", "LEAST", "LENGTH_MAX_MS", "QUIET_MS", "REBALANCES_MAX", "SUCCESSORS_MAX", "WINDOW_MS", "Rollouts"]

WINDOW_MS = 15 * 60_000
"""Within which replacements add up to a rollout: slow deploys replace a member every few minutes."""

QUIET_MS = 5 * 60_000
"""Without a replacement for so long it is over; a deploy that waits longer between two members is two."""

LENGTH_MAX_MS = 4 * 3_600_000
"""Longer than any deploy of one group takes."""

LEAST = 2
"""Replacements of a rollout: one is a crash."""

ENOUGH = 5
"""Replacements that are one in any group: a large group's would be recognised too late by its share alone."""

SHARE = 5
"""One in so many members."""

REBALANCES_MAX = 1_024
"""Rebalances remembered that may turn out to belong to a rollout: one a second for as long as `WINDOW_MS`."""

SUCCESSORS_MAX = 4_096
"""Members remembered to have come as replacements: twice the largest groups. Beyond it none is added."""

IMAGES_MAX = 8
"""Different images named on one side."""


@dataclass(slots=True)
class _Running:
    """A rollout that was recognised, and what it cost up to its ``last`` rebalance."""

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
        """One member more was replaced."""
        self.replaced += 1
        self.last = max(self.last, replacement.last, key=_at)
        self.due_ms = now_ms + min(QUIET_MS, max(0, self.first.at_ms + LENGTH_MAX_MS - self.last.at_ms))
        for where, images in ((replacement.before, self.from_images), (replacement.after, self.to_images)):
            if where.image is not None and len(images) < IMAGES_MAX:
                images.add(where.image)
            if where.workload is not None:
                self.workloads = {*self.workloads, where.workload}

    def add(self, rebalance: SettledRebalance) -> None:
        """One rebalance more is part of it."""
        self.rebalances += 1
        self.stalled_partition_seconds += rebalance.stalled_partition_seconds
        if rebalance.stall_seconds is not None:
            self.stall_seconds = max(self.stall_seconds or 0.0, rebalance.stall_seconds)


class Rollouts:
    """The rollouts of one group, one at a time. Equal episodes in equal order give equal events."""

    def __init__(self) -> None:
        """Begin with no member having come or gone."""
        self.shown: RolloutEvent | None = None
        self._replacements = Replacements()
        self._successors: dict[str, int] = {}
        self._counted: list[Replacement] = []
        self._rebalances: list[SettledRebalance] = []
        self._running: _Running | None = None

    @property
    def due_ms(self) -> int | None:
        """When `pass_time` has something to do (the observer's time)."""
        return self._running.due_ms if self._running else None

    def see(
        self, before: Sequence[HasIds], events: Sequence[GenerationEvent], tell: Tell, now_ms: int
    ) -> RolloutEvent | None:
        """Take in a settled episode: its generations' ``events``, and who was there ``before``.

        Returns:
            The rollout, if it was recognised just now.
        """
        rebalance = SettledRebalance.of(len(before), events)
        self._forget(rebalance.at_ms)
        self._rebalances.append(rebalance)
        del self._rebalances[:-REBALANCES_MAX]
        counted = [each for each in self._replacements.see(rebalance, before, events, tell) if self._counts(each)]
        if self._running is None:
            self._counted += counted
            return self._recognise(events[-1], now_ms) if counted else None
        self._extend(self._running, counted, events[-1], now_ms)
        return None

    def pass_time(self, now_ms: int) -> RolloutEvent | None:
        """The rollout that is over by ``now_ms``, if one is."""
        return self.end() if self._running is not None and now_ms >= self._running.due_ms else None

    def end(self) -> RolloutEvent | None:
        """The rollout that is over now, if one is: the group is gone, or nothing was replaced for long enough."""
        if self._running is None or self.shown is None:
            return None
        self.shown = _event(self._running, self.shown, closed=True)
        self._running = None
        self._successors.clear()
        self._counted = []
        return self.shown

    def _counts(self, replacement: Replacement) -> bool:
        successor = self._successors.pop(replacement.gone, None) is not None
        if len(self._successors) < SUCCESSORS_MAX:
            self._successors[replacement.come] = replacement.last.at_ms
        return not successor or replacement.new_image

    def _recognise(self, event: GenerationEvent, now_ms: int) -> RolloutEvent | None:
        first = min((each.first for each in self._counted), key=_at)
        needed = min(max(LEAST, -(-first.members // SHARE)), ENOUGH)
        if len(self._counted) < needed and not any(each.new_image for each in self._counted):
            return None
        self._running = _Running(first, first)
        while self._rebalances and self._rebalances[0].at_ms < first.at_ms:
            self._rebalances.pop(0)
        self._extend(self._running, self._counted, event, now_ms)
        self._counted = []
        return self.shown

    def _extend(self, running: _Running, counted: Iterable[Replacement], event: GenerationEvent, now_ms: int) -> None:
        for each in counted:
            running.count(each, now_ms)
        while self._rebalances and self._rebalances[0].at_ms <= running.last.at_ms:
            running.add(self._rebalances.pop(0))
        self.shown = _event(running, event, closed=False)

    def _forget(self, at_ms: int) -> None:
        if self._running is not None:
            return
        self._counted = [each for each in self._counted if each.last.at_ms >= at_ms - WINDOW_MS]
        self._successors = {name: came_ms for name, came_ms in self._successors.items() if came_ms >= at_ms - WINDOW_MS}
        while self._rebalances and self._rebalances[0].at_ms < at_ms - WINDOW_MS - PAIR_MS:
            self._rebalances.pop(0)


def _at(rebalance: SettledRebalance) -> int:
    return rebalance.at_ms


def _event(running: _Running, about: GenerationEvent | RolloutEvent, *, closed: bool) -> RolloutEvent:
    """``about`` says which group it is of."""
    first, last = running.first, running.last
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
        rebalances=running.rebalances,
        members=first.members,
        members_replaced=running.replaced,
        stalled_partition_seconds=running.stalled_partition_seconds,
        stall_seconds=running.stall_seconds,
        workload=min(running.workloads) if len(running.workloads) == 1 else None,
        from_images=tuple(sorted(running.from_images)),
        to_images=tuple(sorted(running.to_images)),
        revision=int(closed),
    )
