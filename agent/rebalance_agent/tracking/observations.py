"""The inputs of the tracker, as one closed union (`Observation`). Times are epoch milliseconds.

``offsets_topic`` and ``polls`` build these values; the tracker itself does no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from rebalance_agent.model.episode import Source
from rebalance_agent.model.epoch_groups import DescribedEpochs, EpochFact, StreamsTopology
from rebalance_agent.model.events import AssignEvent, MemberEvent
from rebalance_agent.model.group import DeadLetterQueue, GroupSnapshot, GroupState, GroupType
from rebalance_agent.model.reported.deliveries_event import DeliveriesEvent
from rebalance_agent.model.reported.seat_event import SeatEvent
from rebalance_agent.tracking.evidence.commits.last_commits import Commit
from rebalance_agent.tracking.evidence.commits.read_times import ReadQuestion
from rebalance_agent.tracking.patterns.loads import GroupLoads
from rebalance_agent.tracking.views import MemberLoad

__all__ = [
    "Backfilled",
    "CommitsSeen",
    "DeadLetterQueuesSeen",
    "DescribedGroup",
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
    "ReadsAppended",
    "TailReached",
    "Tick",
    "TopicsSeen",
    "TopologiesSeen",
]


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """A ``GroupMetadata`` record of the offsets topic; a ``value`` of None is a tombstone.

    ``timestamp_ms`` is the record's timestamp (coordinator's clock), ``seen_ms`` the time when it was read (observer's
    clock). ``live`` is False for records of a backfill: compaction has left gaps there, so missing generations are not
    evidence of aborted ones.

    ``replayed``: the record was written before this observer owned the group. If it is not live, it comes from a
    snapshot, and the records after it follow without a gap. If it is live, it is read again after a snapshot: it leads
    to events, as it did at another observer, but is not counted. ``gap_offset``: the offset of the last record in its
    partition, up to this one, that follows a gap in the offsets (from compaction or transaction markers); -1 if there
    is no gap. ``partition`` and ``offset``: the record's position in the offsets topic. ``leader_epoch``: the epoch of
    the partition leader (the group's coordinator) that wrote the record; -1 if unknown. ``skipped``: the number of the
    group's records right before it that were not observed, because the group caused too much work.

    ``source``: FRAMES if a gateway read the generation in its leader's frames. Then earlier generations may be
    unknown without having been aborted, and times are by the gateway's clock.
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
    gap_offset: int = -1
    leader_epoch: int = -1
    skipped: int = 0
    source: Source = Source.RECORDS


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """A record of a consumer, share or streams group; a ``value`` of None is a tombstone.

    ``subject``: the id of the member or the regular expression that the record is about; empty for records of the whole
    group. A group consists of many records, so it has no view until its ``partition`` was read completely
    (`Backfilled`). Times, ``live``, ``offset``, ``replayed``, ``gap_offset``, ``leader_epoch`` and ``skipped`` are as
    in `GroupRecord`.
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
    gap_offset: int = -1
    leader_epoch: int = -1
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Backfilled:
    """Partitions of the offsets topic were read from their beginning up to now.

    ``anew``: they were read completely, without a snapshot, since this observer last became their owner. A group
    without a record in them no longer exists.
    """

    at_ms: int
    partitions: frozenset[int]
    anew: bool = False


@dataclass(frozen=True, slots=True)
class PartitionsOwned:
    """From now on this observer owns the groups of these partitions of the offsets topic, and no others.

    ``of``: the partition count of the offsets topic.
    """

    at_ms: int
    partitions: frozenset[int]
    of: int


@dataclass(frozen=True, slots=True)
class TailReached:
    """All records of shown groups before these offsets (by partition) have been observed."""

    at_ms: int
    positions: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """One group of a ListGroups response."""

    group: str
    state: GroupState
    group_type: GroupType
    protocol_type: str = "consumer"


@dataclass(frozen=True, slots=True)
class GroupsListed:
    """The merged ListGroups responses of all brokers, filtered by ``states`` (empty: all states).

    ``complete``: every broker answered; then a group that is missing was in none of these states. The responses
    describe a moment between ``asked_ms`` and ``answered_ms``.
    """

    asked_ms: int
    answered_ms: int
    states: frozenset[GroupState]
    groups: tuple[ListedGroup, ...]
    complete: bool = True


@dataclass(frozen=True, slots=True)
class DescribedGroup:
    """A group in a DescribeGroups response, which contains neither a generation nor members' subscriptions.

    ``epochs``: what the responses of ConsumerGroupDescribe, ShareGroupDescribe and StreamsGroupDescribe add.
    ``coordinator``: the node id of the broker that answered; -1 if unknown.
    """

    group: str
    state: GroupState
    group_type: GroupType
    assignor: str | None
    members: tuple[MemberLoad, ...]
    epochs: DescribedEpochs | None = None
    coordinator: int = -1


@dataclass(frozen=True, slots=True)
class GroupDescribed:
    """The description of one group, used at start-up and where the offsets topic may not be read.

    It describes a moment between ``at_ms``, when it was requested, and ``answered_ms``. ``absent_ms``: the time of a
    request whose complete answer did not have the group; None if there was none since the start. ``idle_ms``: the time
    of a request that would have shown the group if its members had been reconciling, but did not.
    """

    at_ms: int
    value: DescribedGroup
    answered_ms: int = -1
    absent_ms: int | None = None
    idle_ms: int | None = None


@dataclass(frozen=True, slots=True)
class GroupVanished:
    """The group's coordinator does not have the group, although no record deleted it.

    ``version``: the version of the view that was checked. A group whose view has changed since then is kept.
    """

    at_ms: int
    group: str
    version: int


@dataclass(frozen=True, slots=True)
class TopicsSeen:
    """Partition counts and topic ids of all topics in the cluster, by name; a missing topic does not exist."""

    at_ms: int
    partitions: Mapping[str, int] = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LoadsSeen:
    """The lag and produce rates of the partitions of all groups whose lag is measured; other groups are missing."""

    at_ms: int
    groups: Mapping[str, GroupLoads] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DeadLetterQueuesSeen:
    """The dead letter queues of share groups; None if the settings cannot be read. Missing groups keep their queue."""

    at_ms: int
    queues: Mapping[str, DeadLetterQueue | None]


@dataclass(frozen=True, slots=True)
class TopologiesSeen:
    """The topologies of streams groups; None if a group has none now. Missing groups keep their last topology."""

    at_ms: int
    topologies: Mapping[str, StreamsTopology | None]


@dataclass(frozen=True, slots=True)
class CommitsSeen:
    """Offset commits between two records of groups; only the last commit of each partition is kept.

    The keys are those of the records (`commit_key`). A value is None if the partition's committed offset was deleted.
    """

    at_ms: int
    commits: Mapping[bytes, Commit | None]


@dataclass(frozen=True, slots=True)
class ReadsAppended:
    """The earliest times (epoch ms) when records that members read were appended; None if unknown."""

    at_ms: int
    appended_ms: Mapping[ReadQuestion, int | None]


@dataclass(frozen=True, slots=True)
class MemberReported:
    """A report of a member's sidecar or gateway; it may arrive late, twice, or out of order.

    ``past``: the event was reported before this observer started. Then only the member's workload, the occupant of its
    seat and a gateway's sums of deliveries are used.
    """

    at_ms: int
    event: MemberEvent | AssignEvent | DeliveriesEvent | SeatEvent
    past: bool = False


@dataclass(frozen=True, slots=True)
class Tick:
    """Time passed: due work is done, for example episodes settle."""

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
    | DeadLetterQueuesSeen
    | TopologiesSeen
    | CommitsSeen
    | ReadsAppended
    | MemberReported
    | Tick
)
