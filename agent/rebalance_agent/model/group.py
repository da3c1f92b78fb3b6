"""Groups as the coordinator records them: types, states, and one classic generation.

States are in the broker's own spelling (``org.apache.kafka.common.GroupState``).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription

__all__ = [
    "SETTLED",
    "STATES",
    "GroupSnapshot",
    "GroupState",
    "GroupType",
    "HasIds",
    "Member",
    "RebalanceProtocol",
    "is_cooperative",
]


class GroupType(StrEnum):
    """Who assigns and by which protocol: classic (KIP-62), consumer (KIP-848), share (KIP-932), streams (KIP-1071)."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


class GroupState(StrEnum):
    """A group's state as brokers spell it."""

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
"""Group type -> the states that it can have; no other state gets a series. A group that is Dead is gone."""


SETTLED = frozenset({GroupState.EMPTY, GroupState.STABLE})
"""States in which no rebalance runs, and who has what is what the last one led to."""


class RebalanceProtocol(StrEnum):
    """How partitions change hands: all stop (eager), only what moves stops (cooperative), or nobody can tell."""

    EAGER = "eager"
    COOPERATIVE = "cooperative"
    UNKNOWN = "unknown"


def is_cooperative(assignor: str) -> bool:
    """Whether an assignor of this name can be cooperative (KIP-429): by its name, or Kafka Streams' own."""
    return assignor.startswith("cooperative") or assignor == "stream"


class HasIds(Protocol):
    """A member, of whatever kind."""

    @property
    def member_id(self) -> str:
        """The coordinator's id for it."""
        ...

    @property
    def instance_id(self) -> str | None:
        """Its ``group.instance.id``."""
        ...

    @property
    def client_id(self) -> str:
        """Its ``client.id``."""
        ...


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a `GroupSnapshot`, whatever the group's type. Timeouts in milliseconds.

    ``subscription`` and ``assignment`` are None where the bytes did not parse or belong to another protocol type.
    ``session_assumed``: no record says the session timeout, so it is the brokers' default.
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

    @property
    def assigned(self) -> TopicPartitions:
        """The partitions this member was given; empty where the assignment did not parse."""
        return self.assignment.partitions if self.assignment else {}

    @property
    def owned(self) -> TopicPartitions:
        """The partitions this member said it owned when it joined; eager members of Kafka's own say none."""
        return self.subscription.owned_partitions if self.subscription else {}


@dataclass(frozen=True, slots=True)
class GroupSnapshot:
    """One generation (classic) or epoch (other types) of a group, as the coordinator's records show it.

    A classic group's is the value of its ``GroupMetadata`` record (key version 2).

    ``current_state_timestamp_ms`` is the end of the join phase (-1: unknown); ``size_bytes`` the length of the value.
    """

    group: str
    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    current_state_timestamp_ms: int
    members: tuple[Member, ...]
    size_bytes: int = 0
