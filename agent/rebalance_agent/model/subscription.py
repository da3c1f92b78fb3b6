"""What members ask for and what they are given: the input and output of every assignor.

Names follow Kafka's ``ConsumerPartitionAssignor`` and KIP-429, KIP-792 (generation), KIP-881 (rack).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rebalance_agent.model.partitions import TopicPartitions

__all__ = [
    "UNKNOWN_GENERATION",
    "ConsumerAssignment",
    "ConsumerSubscription",
    "GroupAssignment",
    "GroupSubscription",
    "MemberSubscription",
    "TopicMetadata",
    "member_order",
]

UNKNOWN_GENERATION = -1
"""Kafka's "no generation": ownership that nobody dated."""


@dataclass(frozen=True, slots=True)
class ConsumerSubscription:
    """A member's ``ConsumerProtocolSubscription`` as it travelled in JoinGroup (versions 0 to 3)."""

    version: int
    topics: tuple[str, ...]
    user_data: bytes | None = None
    owned_partitions: TopicPartitions = field(default_factory=dict)
    generation_id: int = UNKNOWN_GENERATION
    rack_id: str | None = None


@dataclass(frozen=True, slots=True)
class ConsumerAssignment:
    """A member's ``ConsumerProtocolAssignment`` as it travelled in SyncGroup (versions 0 to 3)."""

    version: int
    partitions: TopicPartitions
    user_data: bytes | None = None


@dataclass(frozen=True, slots=True)
class TopicMetadata:
    """What the cluster knows of a topic.

    ``racks`` has one tuple of replica racks per partition, ``loads`` one weight per partition; either may be unknown.
    """

    partitions: int
    racks: tuple[tuple[str, ...], ...] | None = None
    loads: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class MemberSubscription:
    """One member's side of a rebalance, as the assignors see it.

    ``owned`` counts as owned in ``generation``. ``config`` holds the assignor settings that this member is known to
    run with (``assignment.consumer.weight`` ...); ``user_data``, where present, overrides it.
    """

    member_id: str
    topics: tuple[str, ...]
    instance_id: str | None = None
    owned: TopicPartitions = field(default_factory=dict)
    generation: int = UNKNOWN_GENERATION
    rack: str | None = None
    user_data: bytes | None = None
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GroupSubscription:
    """The whole input of an assignor. ``group`` is its name where known; no decision depends on it."""

    topics: Mapping[str, TopicMetadata]
    members: tuple[MemberSubscription, ...]
    group: str = ""


@dataclass(frozen=True, slots=True)
class GroupAssignment:
    """The whole output of an assignor.

    ``members`` has an entry for every member, even an empty one: what it gets *this* round. ``revoking`` (cooperative
    strategies): current owner -> partitions withheld from their new owner until the follow-up rebalance, with
    ``target`` the complete plan that both rounds lead to; eager strategies have ``target == members``.
    ``unknown_topics`` were subscribed to but have no metadata. ``user_data_errors``: member id -> why its user data was
    not used.
    """

    members: Mapping[str, TopicPartitions]
    target: Mapping[str, TopicPartitions]
    revoking: Mapping[str, TopicPartitions] = field(default_factory=dict)
    standbys: Mapping[str, TopicPartitions] = field(default_factory=dict)
    unknown_topics: tuple[str, ...] = ()
    user_data_errors: Mapping[str, str] = field(default_factory=dict)


def member_order(member: MemberSubscription) -> tuple[bool, bytes, bytes]:
    """Sort key of Java's ``MemberInfo``: static members first by instance id, then dynamic ones by member id.

    Strings compare by UTF-16 code units, as Java's do; a static member's id breaks a tie of instance ids.
    """
    instance = member.instance_id
    return (instance is None, _utf16(instance or ""), _utf16(member.member_id))


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")
