"""Compares one group's expected facts with its events, in log order; the events define the episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rebalance_agent.audit.audited_group import AuditedGroup, Partition, Totals, changes, totals
from rebalance_agent.audit.expected.entries import ExpectedFact
from rebalance_agent.audit.phase_check import phase_differences
from rebalance_agent.audit.published_event import ROUNDING_S, PublishedEvent
from rebalance_agent.model.events import GenerationEvent, GroupGoneEvent
from rebalance_agent.model.group import GroupType, RebalanceProtocol

__all__ = ["GroupAccount", "identity_differences"]

NO_PREDECESSOR = "without a known predecessor"
SEVERAL_TOPICS = "moves of tasks that read several topics"
"""Reasons why a fact is not checked."""

LATE_S = 1_205.0
"""Longest time (seconds) after the record at which a member's report can extend a stall: ten minutes while the episode
settles, ten more while it can be revised, and five seconds for different clocks."""


@dataclass(slots=True)
class _Sums:
    """The sums over the generations of an open episode.

    ``unseen``: a generation stopped partitions at a start that no poll or record shows. ``earliest_ms``: the earliest
    time among the generation before the episode and the published starts.
    """

    first: int
    numbers: set[int]
    earliest_ms: int
    session_ms: int = 0
    taken: int = 0
    given: int = 0
    has_unresolved_topics: bool = False
    unseen: bool = False


def identity_differences(entry: ExpectedFact, published: PublishedEvent) -> Iterator[str]:
    """Yield the fields of an event that contradict the id with which the event was found."""
    if published.group != entry.group:
        yield f"the event is of {published.group!r}"
    numbered = published.kind != GroupGoneEvent.KIND
    if published.kind != entry.kind or (numbered and published.number != entry.number):
        yield f"the event is {published}"
    if published.at_ms != entry.at_ms:
        yield f"its time is {entry.at_ms} in the record, {published.at_ms} in the event"


class GroupAccount:
    """The sums of one group's published episodes. ``unjudged``: reason -> number of facts that are not checked."""

    def __init__(self, *, reported: bool = True) -> None:
        """Start without an open episode; ``reported``: members may have reported stalls."""
        self._reported = reported
        self.unjudged: Counter[str] = Counter()
        self._base: AuditedGroup | None = None
        self._open: _Sums | None = None
        self._skipping = self._skipped_closed = False
        self._free_ms: dict[Partition, int] = {}
        self._unowned_ms = self._unowned_sum_ms = 0

    def drop_episode(self, *, closed: bool = False) -> None:
        """Drop the open episode: a fact has no event or is uncertain. ``closed``: the episode ended with that fact."""
        self._open, self._base, self._skipping, self._skipped_closed = None, None, True, closed

    @property
    def unclosed(self) -> int | None:
        """The last generation of an episode that no event has closed; None if there is no such episode."""
        return max(self._open.numbers) if self._open else None

    def compare(self, entry: ExpectedFact, published: PublishedEvent, names: Mapping[str, str]) -> Iterator[str]:
        """Yield the differences between a generation and its event, and in the episode that the event closes."""
        now = entry.now
        if published.kind != GenerationEvent.KIND or now is None:
            if published.count != entry.count:
                yield f"{entry.count} aborted generations in a row in the records, {published.count} in the event"
            return
        yield from _members(now, published, names)
        if now.group_type is GroupType.CLASSIC and published.assignor != now.assignor:
            yield f"its assignor is {now.assignor} in the record, {published.assignor} in the event"
        # Events of earlier releases have no leader.
        if published.leader is not None and published.leader != now.leader:
            yield f"its leader is {now.leader} in the record, {published.leader} in the event"
        yield from phase_differences(entry, now, published)
        if not entry.certain:
            self.drop_episode(closed=published.closes)
            return
        before = entry.before if published.previous is not None else None
        if published.previous is None and entry.before is not None:
            self.unjudged[NO_PREDECESSOR] += 1  # an observer had only just begun
            self.drop_episode()
        elif before is not None and published.previous != before.number:
            yield f"the previous one is {before.number} in the records, {published.previous} in the event"
        if before is not None and before.group_type is not now.group_type:
            # One of the two has topic names, the other topic ids.
            if not (_has_names(before, names) and _has_names(now, names)):
                self.unjudged[NO_PREDECESSOR] += 1
                self.drop_episode()
                return
            before, now = before.named(names), now.named(names)
        yield from self._add(entry, now, before, published)

    def _add(
        self, entry: ExpectedFact, now: AuditedGroup, before: AuditedGroup | None, published: PublishedEvent
    ) -> Iterator[str]:
        # A static member that returns within a generation may be part of the episode that the generation began.
        if self._skipping and (published.episode != now.number or (entry.returned and not self._skipped_closed)):
            self._skipped_closed = published.closes
            return  # the episode began before the facts that can be compared
        self._skipping = False
        if self._open is None:
            since_ms = before.at_ms if before and before.members else now.at_ms
            self._open, self._base = _Sums(now.number, set(), since_ms), before
            self._free_ms, self._unowned_ms, self._unowned_sum_ms = {}, 0, 0
        sums, step = self._open, changes(before, now)
        sums.numbers.add(now.number)
        gradual = published.protocol is RebalanceProtocol.COOPERATIVE or entry.returned or not now.members
        sums.taken += step.taken if gradual else len(before.holders) if before else 0
        sums.given += step.given if gradual else len(now.holders)
        sums.earliest_ms = min(sums.earliest_ms, now.at_ms if published.started_ms is None else published.started_ms)
        sums.session_ms = max(sums.session_ms, now.session_ms, before.session_ms if before else 0)
        sums.has_unresolved_topics = (
            sums.has_unresolved_topics
            or now.has_unresolved_topics
            or (before is not None and before.has_unresolved_topics)
        )
        sums.unseen = sums.unseen or (not published.seen_start and _stops_at_start(entry, before, now, published))
        self._update_unowned(entry, before, now, published)
        if published.episode != sums.first:
            yield f"its episode began with {sums.first} in the records, {published.episode} in the event"
        if not published.closes:
            if not (now.has_pending_revocations or now.has_unresolved_topics):
                yield "its episode stays open, although no member has a partition to give up or to wait for"
            return
        self._open = None
        yield from self._closing(entry, now, published, sums)

    def _closing(self, entry: ExpectedFact, now: AuditedGroup, published: PublishedEvent, sums: _Sums) -> Iterator[str]:
        if published.followups != len(sums.numbers) - 1:
            followups = len(sums.numbers) - 1
            yield f"its episode has {followups} follow-ups in the records, {published.followups} in the event"
        if sums.has_unresolved_topics:
            self.unjudged[SEVERAL_TOPICS] += 1
        else:
            whole = changes(self._base, now)
            expected = (whole.moved, sums.taken, sums.given, whole.same and not entry.returned)
            actual = (published.moved, published.taken, published.assigned, published.noop)
            for what, by_records, by_event in zip(("moved", "taken", "given", "noop"), expected, actual, strict=True):
                if by_event is not None and by_records != by_event:
                    yield f"{what} is {by_records} in the records, {by_event} in the event"
        yield from self._stall(now, published, sums)

    def _stall(self, now: AuditedGroup, published: PublishedEvent, sums: _Sums) -> Iterator[str]:
        stall, base = published.stall, self._base
        if stall is None:
            # An observer that started in the middle of a first episode has no stall; its other values are the same.
            if base is not None and now.holders and not sums.unseen:
                yield "it has no stall, although the records show one"
            return
        if stall.seconds is not None and stall.seconds + ROUNDING_S < self._unowned_ms / 1000:
            yield (
                f"a partition had no owner for {self._unowned_ms / 1000} s, but its stall is at most {stall.seconds} s"
            )
        whole = stall.upper_partition_seconds
        if whole is not None and whole + ROUNDING_S < self._unowned_sum_ms / 1000:
            by_records = f"partitions had no owner for {self._unowned_sum_ms / 1000} partition-seconds"
            yield f"{by_records}, but its stall is at most {whole} partition-seconds"
        # Without reports a partition was certainly stalled only up to the record that assigned it.
        late_s = sums.session_ms / 1000 + LATE_S if self._reported else ROUNDING_S
        longest_s = (now.at_ms - sums.earliest_ms) / 1000 + late_s
        if stall.lower_seconds > longest_s and not (base and base.may_wait):
            yield f"its stall is at least {stall.lower_seconds} s, but the records allow at most {longest_s} s"

    def _update_unowned(
        self, entry: ExpectedFact, before: AuditedGroup | None, now: AuditedGroup, published: PublishedEvent
    ) -> None:
        """Update the time without an owner, from the records alone: the published stall cannot be shorter.

        A cooperative assignor is an exception: a member consumes until it gets the assignment that takes a partition.
        The member's reports show this time, which may be seconds after the record.
        """
        self._unowned_ms = max(self._unowned_ms, entry.unowned_ms)
        self._unowned_sum_ms += entry.unowned_sum_ms
        if now.group_type is not GroupType.CLASSIC or before is None or not now.members:
            return
        both = before.holders.keys() & now.holders.keys()
        if published.protocol is RebalanceProtocol.EAGER and now.joined_ms is not None and not entry.returned:
            self._add_unowned([now.at_ms - max(now.joined_ms, before.at_ms)] * len(both))
        self._add_unowned([now.at_ms - self._free_ms.pop(name) for name in now.holders.keys() & self._free_ms.keys()])
        freed = before.holders.keys() - now.holders.keys()
        if self._reported and published.protocol is RebalanceProtocol.COOPERATIVE:
            freed = {name for name in freed if before.holders[name].isdisjoint(now.identities)}
        self._free_ms |= dict.fromkeys(freed, now.at_ms)

    def _add_unowned(self, times_ms: Sequence[int]) -> None:
        self._unowned_ms = max((self._unowned_ms, *times_ms))
        self._unowned_sum_ms += sum(max(0, time_ms) for time_ms in times_ms)


def _stops_at_start(
    entry: ExpectedFact, before: AuditedGroup | None, now: AuditedGroup, published: PublishedEvent
) -> bool:
    """Return whether the stall is unknown without the start of this generation."""
    if now.group_type is not GroupType.CLASSIC:
        return True
    if entry.returned:
        return False
    if published.protocol is not RebalanceProtocol.COOPERATIVE or before is None or not before.holders:
        return True  # all members stop, or partitions without an owner are stalled from the start
    return any(member.held and member.member_id not in now.ids for member in before.members)


def _has_names(group: AuditedGroup, names: Mapping[str, str]) -> bool:
    has_names = group.group_type in (GroupType.CLASSIC, GroupType.STREAMS)
    return has_names or all(key in names for member in group.members for key in member.held)


def _members(now: AuditedGroup, published: PublishedEvent, names: Mapping[str, str]) -> Iterator[str]:
    if not published.whole:
        yield f"only {len(published.parts_seen)} of {published.parts} parts were published"
        return
    recorded = totals(now.members, names)
    if (recorded.members, recorded.ids) != (published.totals.members, published.totals.ids):
        by_both = f"{recorded.members} in the record, {published.totals.members} in the event"
        yield f"members are {by_both}, or have other ids"
        return
    if recorded.details != published.totals.details:
        yield "its members' subscriptions, owned or awaited partitions differ from the record"
    if not _same_held(now, recorded, published.totals, names):
        partitions = published.totals.partitions
        by_both = f"{recorded.partitions} in the record, {partitions} in the event"
        yield f"assigned partitions are {by_both}, or have other owners"


def _same_held(now: AuditedGroup, recorded: Totals, published: Totals, names: Mapping[str, str]) -> bool:
    if now.has_unresolved_topics:
        return recorded.numbered == published.numbered
    return (recorded.named == published.named) if _has_names(now, names) else (recorded.shaped == published.shaped)
