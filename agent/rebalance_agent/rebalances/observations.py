"""Everything the tracker can be told, as one closed union. Times are epoch milliseconds.

Collectors build these values; the tracker never asks for anything itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rebalance_agent.model.events import AssignEvent, MemberEvent
from rebalance_agent.model.group import ClassicGroup, GroupState, GroupType
from rebalance_agent.model.partitions import TopicPartitions

__all__ = [
    "DescribedGroup",
    "DescribedMember",
    "GroupDescribed",
    "GroupRecord",
    "GroupsListed",
    "ListedGroup",
    "MemberReported",
    "Observation",
    "Tick",
    "TopicsSeen",
]


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """A ``GroupMetadata`` record of the offsets topic; ``value`` None is a tombstone.

    ``timestamp_ms`` is the record's (the coordinator's clock), ``seen_ms`` when it was read. ``live`` is False while a
    backfill reads what was there before: compaction has left gaps in it, so nothing is concluded from missing numbers.
    """

    group: str
    timestamp_ms: int
    seen_ms: int
    value: ClassicGroup | None
    live: bool = True


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """One line of a ListGroups answer."""

    group: str
    state: GroupState
    group_type: GroupType
    protocol_type: str = "consumer"


@dataclass(frozen=True, slots=True)
class GroupsListed:
    """ListGroups over all brokers, asked for ``states`` only (empty: all states).

    A group that is not in it was in none of these states when asked, if ``complete`` (every broker answered).
    ``asked_ms`` and ``answered_ms`` enclose the moment the answer speaks of.
    """

    asked_ms: int
    answered_ms: int
    states: frozenset[GroupState]
    groups: tuple[ListedGroup, ...]
    complete: bool = True


@dataclass(frozen=True, slots=True)
class DescribedMember:
    """A member as DescribeGroups shows it: no subscription, no timeouts."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assigned: TopicPartitions


@dataclass(frozen=True, slots=True)
class DescribedGroup:
    """A group as DescribeGroups shows it: no generation."""

    group: str
    state: GroupState
    group_type: GroupType
    assignor: str | None
    members: tuple[DescribedMember, ...]


@dataclass(frozen=True, slots=True)
class GroupDescribed:
    """DescribeGroups of one group: at start-up, and where the offsets topic may not be read."""

    at_ms: int
    value: DescribedGroup


@dataclass(frozen=True, slots=True)
class TopicsSeen:
    """Partition counts of the cluster's topics; a topic that is not in it does not exist."""

    at_ms: int
    partitions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MemberReported:
    """What a member said of itself through its sidecar; it may arrive late, twice, or out of order."""

    at_ms: int
    event: MemberEvent | AssignEvent


@dataclass(frozen=True, slots=True)
class Tick:
    """Time passed: episodes whose settling time is over are closed."""

    at_ms: int


Observation = GroupRecord | GroupsListed | GroupDescribed | TopicsSeen | MemberReported | Tick
