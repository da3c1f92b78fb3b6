"""Groups as the coordinator records them: types, states, and one classic generation.

States are in the broker's own spelling (``org.apache.kafka.common.GroupState``).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription

__all__ = ["STATES", "ClassicGroup", "ClassicMember", "GroupState", "GroupType", "RebalanceProtocol"]


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
        GroupState.DEAD,
    ),
    GroupType.CONSUMER: (
        GroupState.EMPTY,
        GroupState.ASSIGNING,
        GroupState.RECONCILING,
        GroupState.STABLE,
        GroupState.DEAD,
    ),
    GroupType.SHARE: (GroupState.EMPTY, GroupState.STABLE, GroupState.DEAD),
    GroupType.STREAMS: (
        GroupState.EMPTY,
        GroupState.NOT_READY,
        GroupState.ASSIGNING,
        GroupState.RECONCILING,
        GroupState.STABLE,
        GroupState.DEAD,
    ),
}
"""Group type -> the states that it can have; no other state gets a series."""


class RebalanceProtocol(StrEnum):
    """How partitions change hands: all stop (eager), only what moves stops (cooperative), or nobody can tell."""

    EAGER = "eager"
    COOPERATIVE = "cooperative"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ClassicMember:
    """One member in a classic group's record. Timeouts in milliseconds.

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
class ClassicGroup:
    """The value of a ``GroupMetadata`` record (key version 2).

    ``current_state_timestamp_ms`` is the end of the join phase (-1: unknown); ``size_bytes`` the length of the value.
    """

    group: str
    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    current_state_timestamp_ms: int
    members: tuple[ClassicMember, ...]
    size_bytes: int = 0
