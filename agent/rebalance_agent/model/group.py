"""Groups as the coordinator records them: types, states, members and snapshots.

States have the broker's spelling (``org.apache.kafka.common.GroupState``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Protocol

from rebalance_agent.model.member_changes import HasIdentity
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription

__all__ = [
    "LIBRDKAFKA_ASSIGNORS",
    "NAMES_MAX",
    "SEAT_LOCKS_PREFIX",
    "SETTLED",
    "STATES",
    "UNREAD_ASSIGNMENTS",
    "DeadLetterQueue",
    "GroupSnapshot",
    "GroupState",
    "GroupType",
    "HasIds",
    "Member",
    "RebalanceProtocol",
    "StreamsMember",
    "TaskKind",
    "endpoint_text",
    "is_cooperative",
]


SEAT_LOCKS_PREFIX = "rebalance-agent.seats."
"""Prefix of the ids of groups that are not groups of consumers: gateways keep the locks of a group's seats in them."""


class GroupType(StrEnum):
    """The protocol of a group: classic, consumer (KIP-848), share (KIP-932) or streams (KIP-1071)."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


class GroupState(StrEnum):
    """The state of a group in the broker's spelling."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    NOT_READY = "NotReady"
    STABLE = "Stable"
    DEAD = "Dead"


STATES: dict[GroupType, tuple[GroupState, ...]] = {
    GroupType.CLASSIC: (
        GroupState.EMPTY,
        GroupState.PREPARING_REBALANCE,
        GroupState.COMPLETING_REBALANCE,
        GroupState.STABLE,
    ),
    GroupType.CONSUMER: (
        GroupState.EMPTY,
        GroupState.ASSIGNING,
        GroupState.RECONCILING,
        GroupState.STABLE,
    ),
    GroupType.SHARE: (GroupState.EMPTY, GroupState.STABLE),
    GroupType.STREAMS: (
        GroupState.EMPTY,
        GroupState.NOT_READY,
        GroupState.ASSIGNING,
        GroupState.RECONCILING,
        GroupState.STABLE,
    ),
}
"""Group type -> its possible states, each a series of a metric. Dead is not included, since such a group is gone."""


SETTLED = frozenset({GroupState.EMPTY, GroupState.STABLE})
"""States in which no rebalance runs, so that the assignment is the result of the last one."""


class RebalanceProtocol(StrEnum):
    """The way in which members revoke partitions: all (eager), only those that move (cooperative), or unknown."""

    EAGER = "eager"
    COOPERATIVE = "cooperative"
    UNKNOWN = "unknown"


LIBRDKAFKA_ASSIGNORS = frozenset({"range", "roundrobin", "cooperative-sticky"})
"""The assignors of librdkafka, which accepts no others."""


def is_cooperative(assignor: str) -> bool:
    """Return whether an assignor can be cooperative (KIP-429), judged by its prefix or as Kafka Streams' assignor."""
    return assignor.startswith("cooperative") or assignor == "stream"


class HasIds(HasIdentity, Protocol):
    """Any value that has the ids of a member."""

    @property
    def client_id(self) -> str:
        """The member's ``client.id``."""
        ...


class TaskKind(StrEnum):
    """What a member does with a task: it processes records (active), or only copies the task's state.

    A standby task is a copy for the case that the owner of the active task fails. A warm-up task is a copy for a move:
    the member gets the active task when its copy is complete.
    """

    ACTIVE = "active"
    STANDBY = "standby"
    WARMUP = "warmup"


NAMES_MAX = 255
"""Maximum number of characters of a process id, and of the host of an endpoint, that are kept for each member. Kafka
Streams' process ids are UUIDs, and names of hosts have at most 253 characters."""


@dataclass(frozen=True, slots=True)
class StreamsMember:
    """Process and tasks of a member of a streams group (KIP-1071). A task is a subtopology and a partition number."""

    process_id: Annotated[str, "the process of the member; the threads of one process are members with the same id"]
    endpoint: Annotated[str | None, "`application.server`: address and port for interactive queries (KIP-535)"] = None
    active: Annotated[TopicPartitions, "active tasks: subtopology -> partitions"] = field(default_factory=dict)
    standby: Annotated[TopicPartitions, "standby tasks: subtopology -> partitions"] = field(default_factory=dict)
    warmup: Annotated[TopicPartitions, "warm-up tasks: subtopology -> partitions"] = field(default_factory=dict)

    @property
    def tasks(self) -> dict[TaskKind, TopicPartitions]:
        """The tasks of each kind."""
        return {TaskKind.ACTIVE: self.active, TaskKind.STANDBY: self.standby, TaskKind.WARMUP: self.warmup}

    @property
    def copies(self) -> bool:
        """Whether the member has a standby or a warm-up task, and is therefore not idle."""
        return bool(self.standby or self.warmup)


@dataclass(frozen=True, slots=True)
class DeadLetterQueue:
    """The topic to which brokers write records that a share group rejects or fails to process (KIP-1191)."""

    topic: Annotated[str, "the topic; empty if the group has none"]
    copies_records: Annotated[
        bool,
        "whether each record's key and value are copied; otherwise only headers that identify the record are written",
    ]


def endpoint_text(host: str, port: int) -> str:
    """Return ``host:port``, with an IPv6 address in brackets; a host of more than `NAMES_MAX` characters is cut off."""
    host = host[:NAMES_MAX]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a `GroupSnapshot`, for groups of every type. Timeouts are in milliseconds.

    ``subscription`` and ``assignment`` are None if the bytes did not decode or belong to another protocol type.
    ``session_assumed``: no record contains the session timeout, so the brokers' default is used. ``streams``: None in
    groups of other types.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: ConsumerSubscription | None
    assignment: ConsumerAssignment | None
    session_assumed: bool = False
    streams: StreamsMember | None = None

    @property
    def assigned(self) -> TopicPartitions:
        """The partitions assigned to this member; empty if the assignment did not decode."""
        return self.assignment.partitions if self.assignment else {}

    @property
    def owned(self) -> TopicPartitions:
        """The partitions that this member claimed when it joined; eager members of Kafka's own clients claim none."""
        return self.subscription.owned_partitions if self.subscription else {}


UNREAD_ASSIGNMENTS = "(assignments not read)"
"""Protocol type of consumers whose subscriptions and assignments were too large to be read. Their partitions are not
known, as in groups of other clients."""


@dataclass(frozen=True, slots=True)
class GroupSnapshot:
    """One generation (classic) or epoch (other types) of a group, from the coordinator's records.

    For a classic group it is the value of its ``GroupMetadata`` record (key version 2). ``current_state_timestamp_ms``
    is the end of the join phase (-1: not known); ``size_bytes`` is the length of the value. ``protocol_type``: what
    members use the group for, ``consumer`` or a name of other clients; or `UNREAD_ASSIGNMENTS`.
    """

    group: str
    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    current_state_timestamp_ms: int
    members: tuple[Member, ...]
    size_bytes: int = 0
