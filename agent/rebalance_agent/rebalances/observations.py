"""Everything the tracker can be told, as one closed union. Times are epoch milliseconds.

Collectors build these values; the tracker never asks for anything itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rebalance_agent.model.epochs import EpochFact, EpochMember, MemberTarget
from rebalance_agent.model.events import AssignEvent, MemberEvent
from rebalance_agent.model.group import ClassicGroup, GroupState, GroupType
from rebalance_agent.model.partitions import TopicPartitions

__all__ = [
    "Backfilled",
    "DescribedGroup",
    "DescribedMember",
    "EpochRecord",
    "GroupDescribed",
    "GroupRecord",
    "GroupsListed",
    "ListedGroup",
    "MemberReported",
    "Observation",
    "Tick",
    "TopicsSeen",
    "topics_named",
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
class EpochRecord:
    """One fact of a consumer, share or streams group; ``value`` None is a tombstone.

    ``subject`` is the member or the regular expression that it is of, where there is one. ``partition`` is that of the
    offsets topic: nothing is concluded before all of it has been read once (`Backfilled`), since a group is many
    records. Times and ``live`` as in `GroupRecord`.
    """

    group: str
    timestamp_ms: int
    seen_ms: int
    group_type: GroupType
    kind: type[EpochFact]
    value: EpochFact | None
    subject: str = ""
    partition: int = 0
    live: bool = True


@dataclass(frozen=True, slots=True)
class Backfilled:
    """These partitions of the offsets topic have been read from their beginning up to now."""

    at_ms: int
    partitions: frozenset[int]


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
    """Partition counts of the cluster's topics, and their ids by name; a topic that is not in it does not exist."""

    at_ms: int
    partitions: Mapping[str, int] = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MemberReported:
    """What a member said of itself through its sidecar; it may arrive late, twice, or out of order."""

    at_ms: int
    event: MemberEvent | AssignEvent


@dataclass(frozen=True, slots=True)
class Tick:
    """Time passed: episodes whose settling time is over are closed."""

    at_ms: int


Observation = (
    GroupRecord | EpochRecord | Backfilled | GroupsListed | GroupDescribed | TopicsSeen | MemberReported | Tick
)


def topics_named(observation: Observation) -> tuple[frozenset[str], frozenset[str]]:
    """The topics that a record names, by their names and by their ids."""
    match observation:
        case GroupRecord(value=ClassicGroup(members=members)):
            wanted = (member.subscription for member in members if member.subscription)
            return frozenset(topic for each in wanted for topic in each.topics), frozenset()
        case EpochRecord(value=EpochMember(topics=topics)):
            return frozenset(topics), frozenset()
        case EpochRecord(group_type=GroupType.CONSUMER | GroupType.SHARE, value=MemberTarget(assigned=assigned)):
            return frozenset(), frozenset(assigned)
        case _:
            return frozenset(), frozenset()
