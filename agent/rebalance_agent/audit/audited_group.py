"""A group at one moment, in a form that records and events can be compared in, and what changed between two moments.

Partitions stand under whatever the records name them by: topics, ids of topics, or a streams group's subtopologies.
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
    "NOBODY",
    "AuditedGroup",
    "AuditedMember",
    "Changes",
    "Partition",
    "RecordPosition",
    "Totals",
    "changes",
    "classic_sheet",
    "digest",
    "row_of",
    "totals",
]

Partition = tuple[str, int]

_WRAPS = 1 << 64


class RecordPosition(NamedTuple):
    """Where something was read: a partition and offset of a topic, a file (partition -1) and its line, or a row."""

    source: str
    partition: int = -1
    offset: int = -1

    def __str__(self) -> str:
        """As a person looks it up."""
        if self.offset < 0:
            return self.source
        return f"{self.source}:{self.offset}" if self.partition < 0 else f"{self.source}-{self.partition}@{self.offset}"


@dataclass(frozen=True, slots=True)
class AuditedMember:
    """One member. ``wants``: what only a classic group's record says of it (subscription, owned, timeouts); else ()."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    held: TopicPartitions
    wants: tuple[object, ...] = ()

    @property
    def identity(self) -> str:
        """What stays when it restarts."""
        return self.member_id if self.instance_id is None else self.instance_id


class Totals(NamedTuple):
    """Members as numbers that add up over the parts of an event, whatever their order.

    Digests of who they are, of what they want, and of what they hold: by name, by numbers under names that are not
    known, and by numbers alone.
    """

    members: int = 0
    partitions: int = 0
    who: int = 0
    wants: int = 0
    named: int = 0
    shaped: int = 0
    numbered: int = 0

    def plus(self, other: Totals) -> Totals:
        """Both together."""
        return Totals(*((one + two) % _WRAPS for one, two in zip(self, other, strict=True)))


NOBODY = Totals()
"""No members."""


@dataclass(frozen=True)
class AuditedGroup:
    """A group as one generation or epoch left it.

    ``joined_ms``: the end of its join phase, or when the coordinator assigned; ``started_ms``: when the first epoch on
    the way to it was made; where a record says so.
    ``owing``: a member has yet to give something up, or nobody was given anything: another generation follows.
    ``vague``: tasks of several topics are held, of which only their numbers can be compared.
    """

    group_type: GroupType
    number: int
    at_ms: int
    rows: tuple[AuditedMember, ...]
    assignor: str | None = None
    joined_ms: int | None = None
    started_ms: int | None = None
    session_ms: int = 0
    owing: bool = False
    vague: bool = False

    @cached_property
    def holders(self) -> dict[Partition, set[str]]:
        """Partition -> the identities of its owners."""
        found: dict[Partition, set[str]] = {}
        for row in self.rows:
            for name, numbers in row.held.items():
                for number in numbers:
                    found.setdefault((name, number), set()).add(row.identity)
        return found

    @property
    def may_wait(self) -> bool:
        """Whether a static member may be away since any time, and what is meant for it be without an owner as long."""
        return self.group_type is not GroupType.CLASSIC and any(row.instance_id is not None for row in self.rows)

    @property
    def ids(self) -> set[str]:
        """Its members' ids."""
        return {row.member_id for row in self.rows}

    @property
    def identities(self) -> set[str]:
        """What stays of them."""
        return {row.identity for row in self.rows}

    def named(self, names: Mapping[str, str]) -> AuditedGroup:
        """The same with topics in place of their ids, as far as ``names`` has them."""
        rows = (
            replace(row, held={names.get(key, key): numbers for key, numbers in row.held.items()}) for row in self.rows
        )
        return replace(self, rows=tuple(rows))

    def returned(self, before: AuditedGroup | None) -> tuple[str, ...]:
        """The ids of static members that came back since ``before``, if nothing else happened."""
        if before is None or before.identities != self.identities:
            return ()
        return tuple(sorted(self.ids - before.ids))


@dataclass(frozen=True, slots=True)
class Changes:
    """Partitions that lost an owner, got one, and changed hands; ``same``: there were owners and all have the same."""

    taken: int
    given: int
    moved: int
    same: bool


def changes(before: AuditedGroup | None, after: AuditedGroup) -> Changes:
    """What is different; None before means that nobody held anything."""
    had, has = before.holders if before else {}, after.holders
    taken = {each for each, names in had.items() if not names <= has.get(each, set())}
    given = {each for each, names in has.items() if not names <= had.get(each, set())}
    moved = sum(had[each].isdisjoint(has[each]) for each in taken & given)
    return Changes(len(taken), len(given), moved, bool(had) and not taken and not given)


def classic_sheet(value: GroupSnapshot, at_ms: int) -> AuditedGroup:
    """What a ``GroupMetadata`` record shows."""
    rows = tuple(
        AuditedMember(
            each.member_id,
            each.instance_id,
            each.client_id,
            each.client_host,
            each.assigned,
            _wants(
                each.subscription.topics if each.subscription else (),
                each.owned,
                each.session_timeout_ms,
                each.rebalance_timeout_ms if each.rebalance_timeout_ms >= 0 else None,
            ),
        )
        for each in value.members
    )
    joined_ms = value.current_state_timestamp_ms if rows and value.current_state_timestamp_ms >= 0 else None
    owing = any(
        not set(numbers) <= set(each.assigned.get(topic, ()))
        for each in value.members
        for topic, numbers in each.owned.items()
    )
    session_ms = max((each.session_timeout_ms for each in value.members), default=0)
    assignor = value.protocol or None
    return AuditedGroup(
        GroupType.CLASSIC, value.generation, at_ms, rows, assignor, joined_ms, session_ms=session_ms, owing=owing
    )


def digest(*what: object) -> int:
    """Of the text: a tuple's own hash is so nearly linear that two who swap something often leave the sum as it is."""
    return hash(repr(what))


def row_of(member: MemberSnapshot, group_type: GroupType) -> AuditedMember:
    """A member as an event shows it."""
    classic = group_type is GroupType.CLASSIC
    wants = _wants(member.topics, member.owned, member.session_timeout_ms, member.rebalance_timeout_ms)
    named = member.member_id, member.instance_id, member.client_id, member.host
    return AuditedMember(*named, member.assigned, wants if classic else ())


def totals(rows: Iterable[AuditedMember], names: Mapping[str, str]) -> Totals:
    """The members' sums; ``names`` of what the records name partitions by, without those that nobody knows."""
    found = NOBODY
    for row in rows:
        name = row.member_id
        held = sorted((names.get(key, key), numbers) for key, numbers in row.held.items() if numbers)
        found = found.plus(
            Totals(
                1,
                sum(len(numbers) for _, numbers in held),
                digest(name, row.instance_id, row.client_id, row.host),
                digest(name, row.wants),
                digest(name, held),
                digest(name, sorted(numbers for _, numbers in held)),
                digest(name, sorted({number for _, numbers in held for number in numbers})),
            )
        )
    return found


def _wants(topics: tuple[str, ...], owned: TopicPartitions, *timeouts_ms: int | None) -> tuple[object, ...]:
    return (topics, tuple(sorted((topic, numbers) for topic, numbers in owned.items() if numbers)), *timeouts_ms)
