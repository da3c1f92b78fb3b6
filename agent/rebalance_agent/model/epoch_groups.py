"""Facts about groups whose coordinator assigns: consumer (KIP-848), streams (KIP-1071) and share groups (KIP-932).

The coordinator writes each fact as a separate record; a description contains several facts. In records, partitions are
keyed by topic id. In streams groups, they are keyed by subtopology, whose tasks have the numbers of its source topics'
partitions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum
from heapq import nsmallest
from typing import Annotated

from rebalance_agent.model.group import SETTLED, GroupState, Member, StreamsMember
from rebalance_agent.model.partitions import TopicPartitions, together

__all__ = [
    "PENDING_MAX",
    "CurrentAssignment",
    "DescribedEpochs",
    "DescribedMember",
    "EpochFact",
    "EpochMember",
    "GroupEpoch",
    "MemberState",
    "MemberTarget",
    "Pending",
    "PendingMember",
    "ResolvedPattern",
    "StreamsTopology",
    "Subtopology",
    "TargetEpoch",
    "Topology",
]


class MemberState(Enum):
    """The state of a member's reconciliation of its assignment with its target."""

    STABLE = "stable"
    UNREVOKED = "unrevoked"
    UNRELEASED = "unreleased"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class GroupEpoch:
    """The group epoch. It rises when members, subscriptions or topics change, which starts a rebalance.

    ``validated_topology``: the topology epoch for which the coordinator found a streams group's topics valid; -1: none.
    ``metadata_hash``: a hash of the names, ids, partition counts and racks of the subscribed topics (KIP-1101); 0: not
    known.
    """

    epoch: int
    validated_topology: int = -1
    metadata_hash: int = 0


@dataclass(frozen=True, slots=True)
class TargetEpoch:
    """The group epoch for which the current target assignment was computed."""

    epoch: int


@dataclass(frozen=True, slots=True)
class EpochMember:
    """A member's own data. ``rebalance_timeout_ms`` -1: not known; ``pattern``: its regular expression.

    ``process``, ``endpoint``: those of a `StreamsMember`. ``classic``: the member still uses the classic protocol, and
    so states its ``session_timeout_ms``; the session timeout of other members is a setting of the group or the brokers,
    which no record contains. ``eager``: a classic member that revokes all its partitions at each rejoin, because it
    lists an assignor that is not cooperative.
    """

    client_id: str
    client_host: str
    instance_id: str | None = None
    rack: str | None = None
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    rebalance_timeout_ms: int = -1
    assignor: str | None = None
    process: str | None = None
    endpoint: str | None = None
    classic: bool = False
    session_timeout_ms: int | None = None
    eager: bool = False

    def streams(self, current: CurrentAssignment | None) -> StreamsMember | None:
        """Return the process and the current tasks of a streams member, none while it is away; None for others."""
        if self.process is None:
            return None
        if current is None or current.epoch < 0:
            return StreamsMember(self.process, self.endpoint)
        return StreamsMember(self.process, self.endpoint, current.held, current.standbys, current.warmups)


@dataclass(frozen=True, slots=True)
class MemberTarget:
    """The target assignment of a member; ``standbys``, ``warmups``: such tasks of a streams member."""

    assigned: TopicPartitions
    standbys: TopicPartitions = field(default_factory=dict)
    warmups: TopicPartitions = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CurrentAssignment:
    """A member's current assignment, and the partitions that it has yet to revoke (``revoking``).

    ``standbys``, ``warmups``: such tasks of a streams member, without those that it has yet to give up.
    ``assigned_in``: for each key of ``assigned``, the group epochs in which its partitions or active tasks came to the
    member, in the order of the partitions. Keys are absent if the broker did not record these epochs: consumer groups
    have them since Kafka 4.3 (KIP-1251), streams groups since 4.2.
    """

    epoch: int
    previous_epoch: int
    state: MemberState
    assigned: TopicPartitions
    revoking: TopicPartitions = field(default_factory=dict)
    standbys: TopicPartitions = field(default_factory=dict)
    warmups: TopicPartitions = field(default_factory=dict)
    assigned_in: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def held(self) -> TopicPartitions:
        """The partitions that the member processes or has yet to revoke; none while it is away."""
        return {} if self.epoch < 0 else together(self.assigned, self.revoking)


@dataclass(frozen=True, slots=True)
class ResolvedPattern:
    """The topics that a regular expression matches now."""

    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Topology:
    """The subtopologies of a streams group: id -> the topics that its tasks read."""

    sources: Mapping[str, tuple[str, ...]]
    epoch: int = -1


@dataclass(frozen=True, slots=True)
class Subtopology:
    """A part of a Kafka Streams application (KIP-1071). Each of its tasks reads the partitions with one number."""

    subtopology_id: Annotated[str, "the subtopology's id, which the ids of its tasks contain"]
    source_topics: Annotated[tuple[str, ...], "topics that it reads, without repartition topics"]
    repartition_source_topics: Annotated[tuple[str, ...], "repartition topics that it reads"]
    repartition_sink_topics: Annotated[tuple[str, ...], "repartition topics that it writes"]
    changelog_topics: Annotated[tuple[str, ...], "changelog topics of its stores"]
    sink_topics: Annotated[tuple[str, ...] | None, "other topics that it writes, if described (KIP-1331)"] = None
    stores: Annotated[tuple[str, ...] | None, "names of its stores, if described (KIP-1331)"] = None

    @property
    def names(self) -> tuple[str, ...]:
        """All names in the subtopology."""
        repartition = self.repartition_source_topics + self.repartition_sink_topics
        topics = self.source_topics + repartition + self.changelog_topics + (self.sink_topics or ())
        return (self.subtopology_id, *topics, *(self.stores or ()))


@dataclass(frozen=True, slots=True)
class StreamsTopology:
    """The topology of a streams group, as its coordinator describes it."""

    epoch: Annotated[int, "the version of the topology"]
    subtopologies: Annotated[tuple[Subtopology, ...], "the subtopologies, by id"]
    global_topics: Annotated[
        tuple[str, ...] | None, "topics of global stores, which every process reads, if described (KIP-1331)"
    ] = None

    @property
    def names(self) -> tuple[str, ...]:
        """All names in the topology, in no particular order."""
        return (*(self.global_topics or ()), *(name for each in self.subtopologies for name in each.names))

    @property
    def names_bytes(self) -> int:
        """The size of all names, in UTF-8."""
        return sum(len(name.encode()) for name in self.names)


@dataclass(frozen=True, slots=True)
class DescribedMember:
    """A member of a group whose coordinator assigns: the ``epoch`` that it has reached, and its ``target`` assignment.

    ``member`` has its current assignment, without partitions that it has yet to revoke. ``epoch`` is negative while a
    static member is away. ``target``: None in share groups, whose members get their target at once.
    """

    member: Member
    epoch: int
    target: TopicPartitions | None = None


@dataclass(frozen=True, slots=True)
class DescribedEpochs:
    """The epochs of a group whose coordinator assigns, and its members by id.

    ``target_epoch``: the group epoch for which the target assignment was computed.
    """

    epoch: int
    target_epoch: int
    members: tuple[DescribedMember, ...]

    def reached(self, state: GroupState) -> bool:
        """Whether all members have reached the group epoch, if the group is in this ``state``."""
        if state is GroupState.EMPTY:
            return True  # its last epochs have no target assignment
        if state not in SETTLED:
            return False
        here = (each.epoch for each in self.members if each.epoch >= 0)
        return self.target_epoch >= self.epoch and all(epoch >= self.epoch for epoch in here)


PENDING_MAX = 10
"""Maximum number of members that are named among the members that a running rebalance waits for."""


@dataclass(frozen=True, slots=True)
class PendingMember:
    """A member that a running rebalance waits for.

    ``partitions``: the number of partitions that it has yet to revoke; None if that is unknown.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    partitions: int | None


@dataclass(frozen=True, slots=True)
class Pending:
    """The members that a running rebalance waits for: their number, and up to `PENDING_MAX` of them.

    The one with the most partitions to revoke is the first.
    """

    members: int
    named: tuple[PendingMember, ...]

    @classmethod
    def of(cls, members: Collection[PendingMember]) -> Pending:
        """Return these ``members`` in order."""
        by_size = nsmallest(
            PENDING_MAX, members, lambda each: (-(each.partitions or 0), each.client_id, each.member_id)
        )
        return cls(len(members), tuple(by_size))


EpochFact = GroupEpoch | TargetEpoch | EpochMember | MemberTarget | CurrentAssignment | ResolvedPattern | Topology
