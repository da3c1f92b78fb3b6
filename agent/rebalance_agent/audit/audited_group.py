"""Describes a group at one generation, so that records and events can be compared, and changes between generations.

The keys of partitions are those of the records: topic name, topic id, or subtopology of a streams group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from rebalance_agent.model.events import MemberSnapshot
from rebalance_agent.model.group import GroupSnapshot, GroupType
from rebalance_agent.model.partitions import TopicPartitions

__all__ = [
    "NO_MEMBERS",
    "AuditedGroup",
    "AuditedMember",
    "Changes",
    "Partition",
    "RecordPosition",
    "Totals",
    "audited_classic_group",
    "audited_member",
    "changes",
    "digest",
    "totals",
]

Partition = tuple[str, int]

_WRAPS = 1 << 64


class RecordPosition(NamedTuple):
    """The position of a record, event or row: topic, partition and offset; or a file (partition -1) and a line."""

    source: str
    partition: int = -1
    offset: int = -1

    def __str__(self) -> str:
        """Format the position for messages, for example ``topic-7@4718``."""
        if self.offset < 0:
            return self.source
        return f"{self.source}:{self.offset}" if self.partition < 0 else f"{self.source}-{self.partition}@{self.offset}"


@dataclass(frozen=True, slots=True)
class AuditedMember:
    """One member. ``details``: the subscription, owned partitions and timeouts in a classic group; otherwise empty."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    held: TopicPartitions
    details: tuple[object, ...] = ()

    @property
    def identity(self) -> str:
        """The instance id of a static member, else the member id."""
        return self.member_id if self.instance_id is None else self.instance_id


class Totals(NamedTuple):
    """Sums over members; the sums of an event's parts can be added in any order.

    The fields are counts of members and partitions, and digests: of the members' ``ids``, of their ``details``, and of
    their partitions, compared by topic name (``named``), by partition numbers per topic (``shaped``), and by partition
    numbers alone (``numbered``).
    """

    members: int = 0
    partitions: int = 0
    ids: int = 0
    details: int = 0
    named: int = 0
    shaped: int = 0
    numbered: int = 0

    def plus(self, other: Totals) -> Totals:
        """Return the sum of these totals and ``other``."""
        return Totals(*((one + two) % _WRAPS for one, two in zip(self, other, strict=True)))


NO_MEMBERS = Totals()
"""The sums over no members."""


@dataclass(frozen=True)
class AuditedGroup:
    """A group at the end of one generation or epoch.

    ``joined_ms``: end of the join phase, or time of the target assignment. ``started_ms``: time of the first epoch that
    led to this one. Both are None if no record has the time. ``session_ms``: the longest session timeout.
    ``has_pending_revocations``: a member has partitions to revoke, or no member has partitions: another generation
    follows.
    ``has_unresolved_topics``: members hold tasks that read several topics; only the tasks' numbers can be compared.
    ``leader``: the id of the member that computed the assignment, in classic groups.
    """

    group_type: GroupType
    number: int
    at_ms: int
    members: tuple[AuditedMember, ...]
    assignor: str | None = None
    joined_ms: int | None = None
    started_ms: int | None = None
    session_ms: int = 0
    has_pending_revocations: bool = False
    has_unresolved_topics: bool = False
    leader: str | None = None

    @cached_property
    def holders(self) -> dict[Partition, set[str]]:
        """Map each partition to the identities of its owners."""
        owners: dict[Partition, set[str]] = {}
        for member in self.members:
            for name, numbers in member.held.items():
                for number in numbers:
                    owners.setdefault((name, number), set()).add(member.identity)
        return owners

    @property
    def may_wait(self) -> bool:
        """Whether a static member may have been away for an unknown time, in which its partitions had no owner."""
        return self.group_type is not GroupType.CLASSIC and any(
            member.instance_id is not None for member in self.members
        )

    @property
    def ids(self) -> set[str]:
        """The member ids."""
        return {member.member_id for member in self.members}

    @property
    def identities(self) -> set[str]:
        """The members' identities."""
        return {member.identity for member in self.members}

    def named(self, names: Mapping[str, str]) -> AuditedGroup:
        """Return a copy with topic names in place of the ids that ``names`` contains."""
        members = (
            replace(member, held={names.get(key, key): numbers for key, numbers in member.held.items()})
            for member in self.members
        )
        return replace(self, members=tuple(members))

    def returned(self, before: AuditedGroup | None) -> tuple[str, ...]:
        """Return the ids of static members that returned since ``before``, if the members' identities are the same."""
        if before is None or before.identities != self.identities:
            return ()
        return tuple(sorted(self.ids - before.ids))


@dataclass(frozen=True, slots=True)
class Changes:
    """The numbers of partitions that lost an owner, got an owner, and moved; ``same``: all kept their owners."""

    taken: int
    given: int
    moved: int
    same: bool


def changes(before: AuditedGroup | None, after: AuditedGroup) -> Changes:
    """Return the differences in ownership; if ``before`` is None, no partition had an owner."""
    had, has = before.holders if before else {}, after.holders
    taken = {member for member, names in had.items() if not names <= has.get(member, set())}
    given = {member for member, names in has.items() if not names <= had.get(member, set())}
    moved = sum(had[member].isdisjoint(has[member]) for member in taken & given)
    return Changes(len(taken), len(given), moved, bool(had) and not taken and not given)


def audited_classic_group(value: GroupSnapshot, at_ms: int) -> AuditedGroup:
    """Return the group in a ``GroupMetadata`` record that was written at ``at_ms``."""
    members = tuple(
        AuditedMember(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            member.assigned,
            _details(
                member.subscription.topics if member.subscription else (),
                member.owned,
                member.session_timeout_ms,
                member.rebalance_timeout_ms if member.rebalance_timeout_ms >= 0 else None,
            ),
        )
        for member in value.members
    )
    joined_ms = value.current_state_timestamp_ms if members and value.current_state_timestamp_ms >= 0 else None
    has_pending_revocations = any(
        not set(numbers) <= set(member.assigned.get(topic, ()))
        for member in value.members
        for topic, numbers in member.owned.items()
    )
    session_ms = max((member.session_timeout_ms for member in value.members), default=0)
    assignor = value.protocol or None
    return AuditedGroup(
        GroupType.CLASSIC,
        value.generation,
        at_ms,
        members,
        assignor,
        joined_ms,
        session_ms=session_ms,
        has_pending_revocations=has_pending_revocations,
        leader=value.leader or None,
    )


def digest(*what: object) -> int:
    """Hash the text of the values: hashes of tuples are nearly linear, so their sums often miss swapped values."""
    return hash(repr(what))


def audited_member(member: MemberSnapshot, group_type: GroupType) -> AuditedMember:
    """Return a member from an event's snapshot of that member."""
    classic = group_type is GroupType.CLASSIC
    details = _details(member.topics, member.owned, member.session_timeout_ms, member.rebalance_timeout_ms)
    named = member.member_id, member.instance_id, member.client_id, member.host
    return AuditedMember(*named, member.assigned, details if classic else ())


def totals(members: Iterable[AuditedMember], names: Mapping[str, str]) -> Totals:
    """Return the sums over members; ``names`` maps the records' keys to the known topic names."""
    sums = NO_MEMBERS
    for member in members:
        name = member.member_id
        held = sorted((names.get(key, key), numbers) for key, numbers in member.held.items() if numbers)
        sums = sums.plus(
            Totals(
                1,
                sum(len(numbers) for _, numbers in held),
                digest(name, member.instance_id, member.client_id, member.host),
                digest(name, member.details),
                digest(name, held),
                digest(name, sorted(numbers for _, numbers in held)),
                digest(name, sorted({number for _, numbers in held for number in numbers})),
            )
        )
    return sums


def _details(topics: tuple[str, ...], owned: TopicPartitions, *timeouts_ms: int | None) -> tuple[object, ...]:
    return (topics, tuple(sorted((topic, numbers) for topic, numbers in owned.items() if numbers)), *timeouts_ms)
