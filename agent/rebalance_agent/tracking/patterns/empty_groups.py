"""Groups that lost all their members: the time since which they are Empty, and how long partitions had no owner. Pure.

Groups that never had a member do not count: the coordinator writes such a record when the first member joins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.tracking.completed_generation import Generation

__all__ = ["EmptyGroup", "EmptyTime", "UnownedPartitions", "UnownedReason", "UnownedTime"]

_DEPARTURES = frozenset({Trigger.MEMBER_FAILED, Trigger.MEMBER_LEFT, Trigger.MEMBER_GONE})


class UnownedReason(StrEnum):
    """The reason why partitions had no owner outside rebalances: an Empty group, or an incomplete assignment."""

    EMPTY = "empty"
    UNASSIGNED = "unassigned"


@dataclass(frozen=True, slots=True)
class EmptyGroup:
    """A group without members that had some before.

    ``since_ms``: when its last member departed (epoch ms). ``members`` and ``partitions``: the number of its last
    members, and the partition count of the topics that they subscribed to; None if unknown. ``cause``: how all of them
    departed (`Trigger.MEMBER_LEFT`, `Trigger.MEMBER_FAILED`); None if this is unknown, or not the same for all.
    """

    since_ms: int
    members: int | None = None
    partitions: int | None = None
    cause: Trigger | None = None


class EmptyTime:
    """Since when one group has been Empty; this time is kept when the group's type changes."""

    def __init__(self) -> None:
        """Start without members and without a known past."""
        self.now: EmptyGroup | None = None
        self._last: Generation | None = None

    def see(self, generation: Generation) -> None:
        """Process a completed generation. Further generations without members do not change the start time."""
        if generation.members:
            self.now, self._last = None, generation
        elif self.now is None and generation.number > 0:
            last = self._last
            members, partitions = (len(last.members), sum(last.topics.values())) if last else (None, None)
            self.now = EmptyGroup(generation.timestamp_ms, members, partitions)

    def explained(self, last: GenerationEvent | None) -> EmptyGroup | None:
        """Return ``now`` with its ``cause``, if ``last`` is the settled rebalance in which the members departed.

        A static member that closes reports that it left, but sends no LeaveGroup: the coordinator removed it after its
        session timeout. So `Trigger.MEMBER_LEFT` is no cause if one of the last members was static.
        """
        now = self.now
        if now is None or last is None or last.timestamp_ms != now.since_ms:
            return now
        causes = _DEPARTURES.intersection(last.causes)
        if causes == {Trigger.MEMBER_FAILED} or (causes == {Trigger.MEMBER_LEFT} and not self._had_static_members()):
            return replace(now, cause=next(iter(causes)))
        return now

    def _had_static_members(self) -> bool:
        return self._last is not None and any(member.instance_id is not None for member in self._last.members)


class UnownedPartitions(NamedTuple):
    """The number of partitions without an owner now, and the reason."""

    reason: UnownedReason
    partitions: int


@dataclass(frozen=True, slots=True)
class UnownedTime:
    """Partition-seconds without an owner until ``until_ms``, by reason; ``now``: partitions unowned since then.

    Times are by the observer's clock (epoch ms); steps backwards count nothing.
    """

    until_ms: int = 0
    seconds: Mapping[UnownedReason, float] = field(default_factory=dict)
    now: UnownedPartitions | None = None

    def advance(self, until_ms: int, now: UnownedPartitions | None) -> UnownedTime:
        """Return the time as of ``until_ms``, when ``now`` became the partitions without an owner."""
        return UnownedTime(until_ms, self.at(until_ms), now)

    def at(self, until_ms: int) -> Mapping[UnownedReason, float]:
        """Return the partition-seconds by reason as of ``until_ms``."""
        if self.now is None or until_ms <= self.until_ms:
            return self.seconds
        reason, partitions = self.now
        counted = partitions * (until_ms - self.until_ms) / 1000
        return {**self.seconds, reason: self.seconds.get(reason, 0.0) + counted}
