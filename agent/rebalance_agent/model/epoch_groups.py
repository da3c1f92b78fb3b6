"""Groups whose coordinator assigns: consumer (KIP-848), streams (KIP-1071) and share groups (KIP-932), fact by fact.

The coordinator writes each fact as a record of its own. Partitions stand under what their records name them by: a topic
id, or for streams groups a subtopology, whose tasks are numbered as the partitions of its source topics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from rebalance_agent.model.partitions import TopicPartitions, pairs

__all__ = [
    "CurrentAssignment",
    "EpochFact",
    "EpochMember",
    "GroupEpoch",
    "MemberState",
    "MemberTarget",
    "ResolvedPattern",
    "TargetEpoch",
    "Topology",
]


class MemberState(Enum):
    """How far a member has come towards its target assignment."""

    STABLE = "stable"
    UNREVOKED = "unrevoked"
    UNRELEASED = "unreleased"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class GroupEpoch:
    """The group's epoch: it rises when members, subscriptions or topics change, and with it a rebalance begins.

    ``validated_topology``: the epoch of the topology for which a streams group's topics were found in order; -1: none.
    """

    epoch: int
    validated_topology: int = -1


@dataclass(frozen=True, slots=True)
class TargetEpoch:
    """The epoch that the members' targets were made for."""

    epoch: int


@dataclass(frozen=True, slots=True)
class EpochMember:
    """A member as it introduced itself. ``rebalance_timeout_ms`` -1: not said; ``pattern``: its regular expression.

    ``process`` is a streams member's process id. ``classic``: it still speaks the classic protocol, and so says its
    ``session_timeout_ms``; that of others is a setting of the group or the brokers, which no record tells. ``eager``:
    such a member puts down all it has whenever it has to rejoin, since some assignor that it lists is not cooperative.
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
    classic: bool = False
    session_timeout_ms: int | None = None
    eager: bool = False


@dataclass(frozen=True, slots=True)
class MemberTarget:
    """What a member is to have; ``standbys`` are a streams member's standby and warm-up tasks."""

    assigned: TopicPartitions
    standbys: TopicPartitions = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CurrentAssignment:
    """What a member has, and what it still has to give up (``revoking``, which it works on until it has)."""

    epoch: int
    previous_epoch: int
    state: MemberState
    assigned: TopicPartitions
    revoking: TopicPartitions = field(default_factory=dict)
    standbys: TopicPartitions = field(default_factory=dict)

    @property
    def held(self) -> set[tuple[str, int]]:
        """What the member works on: it goes on with what it is to give up until it has. Nothing while it is away."""
        return set() if self.epoch < 0 else pairs(self.assigned) | pairs(self.revoking)


@dataclass(frozen=True, slots=True)
class ResolvedPattern:
    """The topics that a regular expression stands for now."""

    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Topology:
    """A streams group's subtopologies: id -> the topics that its tasks read."""

    sources: Mapping[str, tuple[str, ...]]
    epoch: int = -1


EpochFact = GroupEpoch | TargetEpoch | EpochMember | MemberTarget | CurrentAssignment | ResolvedPattern | Topology
