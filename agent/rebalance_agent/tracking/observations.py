"""Everything the tracker can be told, as one closed union. Times are epoch milliseconds.

Collectors build these values; the tracker never asks for anything itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from rebalance_agent.model.epoch_groups import EpochFact, EpochMember, MemberTarget
from rebalance_agent.model.events import AssignEvent, MemberEvent
from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.model.group import GroupSnapshot, GroupState, GroupType
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.tracking.patterns.loads import GroupLoads

__all__ = [
    "Backfilled",
    "CommitsHeard",
    "DescribedGroup",
    "DescribedMember",
    "EpochRecord",
    "GroupDescribed",
    "GroupRecord",
    "GroupVanished",
    "GroupsListed",
    "ListedGroup",
    "LoadsSeen",
    "MemberReported",
    "Observation",
    "PartitionsOwned",
    "TailReached",
    "Tick",
    "TopicsSeen",
    "topics_named",
]


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """A ``GroupMetadata`` record of the offsets topic; ``value`` None is a tombstone.

    ``timestamp_ms`` is the record's (the coordinator's clock), ``seen_ms`` when it was read. ``live`` is False while a
    backfill reads what was there before: compaction has left gaps in it, so nothing is concluded from missing numbers.

    ``replayed``: it was written before this observer had the group. Not live, it comes from a snapshot, and what
    follows it is read without a gap; live, it is read again from there on: it makes events, as it did for another
    observer, and counts nowhere. ``after_gap``: records before it may have been removed since. ``partition`` and
    ``offset`` are its place in the offsets topic.
    """

    group_type: ClassVar[GroupType] = GroupType.CLASSIC

    group: str
    timestamp_ms: int
    seen_ms: int
    value: GroupSnapshot | None
    live: bool = True
    partition: int = 0
    offset: int = -1
    replayed: bool = False
    after_gap: bool = False


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """One fact of a consumer, share or streams group; ``value`` None is a tombstone.

    ``subject`` is the member or the regular expression that it is of, where there is one. ``partition`` is that of the
    offsets topic: nothing is concluded before all of it has been read once (`Backfilled`), since a group is many
    records. Times, ``live``, ``offset`` and ``replayed`` as in `GroupRecord`.
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
    offset: int = -1
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Backfilled:
    """These partitions of the offsets topic have been read from their beginning up to now.

    ``anew``: all of that since they were last owned, and not from a snapshot: what has no record there is no more.
    """

    at_ms: int
    partitions: frozenset[int]
    anew: bool = False


@dataclass(frozen=True, slots=True)
class PartitionsOwned:
    """From now on this observer speaks for the groups of these partitions of the offsets topic, and for no others.

    ``of``: how many the topic has.
    """

    at_ms: int
    partitions: frozenset[int]
    of: int


@dataclass(frozen=True, slots=True)
class TailReached:
    """All that was written before these offsets (by partition) has been observed, as far as it is of shown groups."""

    at_ms: int
    positions: Mapping[int, int]


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
class GroupVanished:
    """Its coordinator does not know the group, and no record says that it was deleted.

    ``version``: of the view that this is said of; who has changed since has a record.
    """

    at_ms: int
    group: str
    version: int


@dataclass(frozen=True, slots=True)
class TopicsSeen:
    """Partition counts of the cluster's topics, and their ids by name; a topic that is not in it does not exist."""

    at_ms: int
    partitions: Mapping[str, int] = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LoadsSeen:
    """What the partitions of the groups that are followed for it carry; a group that is not in it is not followed."""

    at_ms: int
    groups: Mapping[str, GroupLoads] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CommitsHeard:
    """When groups that are followed for their lag last committed, by partition: the records' times.

    It comes before the records of these groups that the coordinator wrote later.
    """

    at_ms: int
    groups: Mapping[str, Mapping[Partition, int]]


@dataclass(frozen=True, slots=True)
class MemberReported:
    """What a member said of itself through its sidecar; it may arrive late, twice, or out of order.

    ``past``: it was said before this observer watched, and tells where the member is, nothing of rebalances.
    """

    at_ms: int
    event: MemberEvent | AssignEvent
    past: bool = False


@dataclass(frozen=True, slots=True)
class Tick:
    """Time passed: episodes whose settling time is over are closed."""

    at_ms: int


Observation = (
    GroupRecord
    | EpochRecord
    | Backfilled
    | PartitionsOwned
    | TailReached
    | GroupsListed
    | GroupDescribed
    | GroupVanished
    | TopicsSeen
    | LoadsSeen
    | CommitsHeard
    | MemberReported
    | Tick
)


def topics_named(observation: Observation) -> tuple[frozenset[str], frozenset[str]]:
    """The topics that a record names, by their names and by their ids."""
    match observation:
        case GroupRecord(value=GroupSnapshot(members=members)):
            wanted = (member.subscription for member in members if member.subscription)
            return frozenset(topic for each in wanted for topic in each.topics), frozenset()
        case EpochRecord(value=EpochMember(topics=topics)):
            return frozenset(topics), frozenset()
        case EpochRecord(group_type=GroupType.CONSUMER | GroupType.SHARE, value=MemberTarget(assigned=assigned)):
            return frozenset(), frozenset(assigned)
        case _:
            return frozenset(), frozenset()
