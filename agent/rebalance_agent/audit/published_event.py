"""Reduces a published event to the compared fields, and finds contradictions within a single event."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from rebalance_agent.audit.audited_group import NO_MEMBERS, RecordPosition, Totals, audited_member, totals
from rebalance_agent.model.episode import Basis, Evidence, Stall
from rebalance_agent.model.events import AbortedEvent, GenerationEvent, GroupGoneEvent
from rebalance_agent.model.group import GroupType, RebalanceProtocol

__all__ = ["AuditedEvent", "PublishedEvent", "inconsistencies", "reduce_event"]

AuditedEvent = GenerationEvent | AbortedEvent | GroupGoneEvent

WHOLE = frozenset((0,))
"""The parts of an undivided event; one shared set saves memory."""

_SEEN = (Evidence.LIST, Evidence.RECORD)
"""Evidence that shows a rebalance's start; a member has only the time when the coordinator requested it to rejoin."""

ROUNDING_S = 0.0015
"""Rounding error (seconds) allowed, since seconds are published in whole milliseconds."""


@dataclass(slots=True)
class PublishedEvent:
    """The highest revision of one published event; among equal revisions, the first that was read.

    ``parts_seen``: the parts that were read, if the event has several parts; ``first_id``: the id of the first part.
    ``seen_start``: whether a poll or record shows the start. ``matched``: whether the event's record was found.
    """

    kind: str
    group: str
    group_type: GroupType
    number: int
    at_ms: int
    position: RecordPosition
    revision: int
    parts: int = 1
    count: int = 1
    previous: int | None = None
    episode: int = 0
    closes: bool = False
    followups: int = 0
    assignor: str | None = None
    leader: str | None = None
    protocol: RebalanceProtocol = RebalanceProtocol.UNKNOWN
    started_ms: int | None = None
    seen_start: bool = False
    joined_ms: int | None = None
    moved: int | None = 0
    revoked: int | None = 0
    assigned: int = 0
    lost: int = 0
    noop: bool = False
    stall: Stall | None = None
    totals: Totals = NO_MEMBERS
    parts_seen: frozenset[int] = WHOLE
    first_id: str = ""
    matched: bool = False

    @property
    def whole(self) -> bool:
        """Whether all parts were read."""
        return len(self.parts_seen) == self.parts

    @property
    def fact(self) -> tuple[str, str, GroupType, int, int]:
        """The fields from which the event's id is computed."""
        return self.kind, self.group, self.group_type, self.number, self.at_ms

    def is_copy_of(self, other: PublishedEvent) -> bool:
        """Return whether this is a copy of ``other``, which has the same id, and not a part of another revision."""
        return self.parts == other.parts == 1 or self.parts_seen <= other.parts_seen

    def is_further_part_of(self, other: PublishedEvent) -> bool:
        """Return whether this has parts of the same revision of an event that ``other`` does not have."""
        same = (self.revision, self.parts) == (other.revision, other.parts)
        return same and not self.parts_seen <= other.parts_seen

    def contradictions(self, other: PublishedEvent) -> Iterator[str]:
        """Yield the differences from a copy with the same revision; there must be none.

        Episodes, and therefore their sums, may differ: an observer that started in the middle of an episode has less
        evidence. So sums are compared only in the event of an episode's first generation.
        """
        if self.totals != other.totals:
            yield "members"
        first = self.previous is not None and self.previous < self.episode
        if first and self._episode_fields == other._episode_fields and self._sums != other._sums:
            yield "moves"

    @property
    def _episode_fields(self) -> tuple[object, ...]:
        return self.previous, self.episode, self.closes, self.followups, self.protocol

    @property
    def taken(self) -> int | None:
        """The number of partitions that their owners revoked or lost; None if unknown."""
        return None if self.revoked is None else self.revoked + self.lost

    @property
    def _sums(self) -> tuple[object, ...]:
        return self.moved, self.taken, self.assigned, self.noop

    def __str__(self) -> str:
        """Describe the event in words."""
        if self.kind == GroupGoneEvent.KIND:
            return "deletion"
        return f"{'aborted generation' if self.kind == AbortedEvent.KIND else 'generation'} {self.number}"


def reduce_event(event: AuditedEvent, position: RecordPosition) -> PublishedEvent:
    """Reduce an event, or a part of one, to the compared fields."""
    number = event.generation if not isinstance(event, GroupGoneEvent) else 0
    fact = event.KIND, event.group, event.group_type, number, event.timestamp_ms
    published = PublishedEvent(*fact, position, event.revision)
    if isinstance(event, AbortedEvent):
        published.count = event.generations
    elif isinstance(event, GenerationEvent):
        published.parts, published.parts_seen = event.parts, frozenset((event.part,)) if event.part else WHOLE
        published.first_id = event.event_id if event.parts > 1 and not event.part else ""
        published.previous, published.episode = event.previous_generation, event.episode_generation
        published.closes = event.closes_episode
        published.followups, published.assignor, published.protocol = event.followups, event.assignor, event.protocol
        published.leader = event.leader_member_id
        published.started_ms = event.phases.started_ms
        published.seen_start = event.phases.started_evidence in _SEEN
        published.joined_ms, published.stall = event.phases.joined_ms, event.stall
        published.moved, published.revoked, published.assigned = event.moved, event.revoked, event.assigned
        published.lost, published.noop = _surely_lost(event), event.noop
        published.totals = totals((audited_member(member, event.group_type) for member in event.members), {})
    return published


def _surely_lost(event: GenerationEvent) -> int:
    """Return the number of failed members' partitions; events of earlier releases have only ``lost``."""
    return (event.lost if event.lost_min is None else event.lost_min) or 0


def inconsistencies(event: GenerationEvent) -> Iterator[str]:
    """Yield the contradictions within an event, without using records."""
    phases = event.phases
    times = [time_ms for time_ms in (phases.started_ms, phases.joined_ms, phases.completed_ms) if time_ms is not None]
    if phases.completed_ms != event.timestamp_ms:
        yield f"its timestamp is {event.timestamp_ms}, but the event has {phases.completed_ms} for its completion"
    if event.lost is not None and event.lost != _surely_lost(event):
        yield f"it has {event.lost} lost partitions, but at least {event.lost_min} must have been lost"
    if times != sorted(times):
        yield f"its phases are out of order: started, joined, completed at {times}"
    if event.causes[:1] != (event.trigger,):
        yield f"its trigger {event.trigger} is not the first of its causes"
    if event.stall is not None:
        yield from _stall(event.stall)
    if not event.closes_episode and (event.stall or event.followups):
        yield "it describes a whole episode, but does not close it"


def _stall(stall: Stall) -> Iterator[str]:
    longest, whole = stall.seconds, stall.upper_partition_seconds
    if not 0 <= stall.lower_seconds <= (math.inf if longest is None else longest):
        yield f"the bounds of its stall contradict each other: at least {stall.lower_seconds} s, at most {longest} s"
    elif stall.basis is Basis.EXACT and stall.lower_seconds != longest:
        yield f"its stall is exact, but its bounds are {stall.lower_seconds} s and {longest} s"
    elif (
        stall.partition_seconds < 0
        or (stall.partition_seconds > 0) > (stall.lower_seconds > 0)
        or stall.partition_seconds + ROUNDING_S < stall.lower_seconds
    ):
        yield (
            f"the lower bounds of its stall contradict each other: {stall.lower_seconds} s and "
            f"{stall.partition_seconds} partition-seconds"
        )
    elif whole is not None and (longest is None or whole < stall.partition_seconds):
        yield (
            f"the bounds of its stall contradict each other: at least {stall.partition_seconds} and at most {whole} "
            "partition-seconds"
        )
    elif whole is not None and whole + ROUNDING_S < (longest or 0.0):
        yield f"the upper bounds of its stall contradict each other: {longest} s and {whole} partition-seconds"
