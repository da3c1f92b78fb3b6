"""What members ask for and what they are given: the input and output of every assignor.

Names follow Kafka's ``ConsumerPartitionAssignor`` and KIP-429, KIP-792 (generation), KIP-881 (rack).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

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
    "with_shared_names",
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

    ``owned`` counts as owned in ``generation``; of ``standbys`` the member has a copy. ``config`` holds the assignor
    settings that this member is known to run with (``assignment.consumer.weight`` ...); ``user_data``, where present,
    overrides it.
    """

    member_id: str
    topics: tuple[str, ...]
    instance_id: str | None = None
    owned: TopicPartitions = field(default_factory=dict)
    generation: int = UNKNOWN_GENERATION
    rack: str | None = None
    user_data: bytes | None = None
    config: Mapping[str, str] = field(default_factory=dict)
    standbys: TopicPartitions = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GroupSubscription:
    """The whole input of an assignor. ``group`` is its name where known; no decision depends on it.

    ``config`` holds the settings of the member that assigns which count for the whole group.
    """

    topics: Mapping[str, TopicMetadata]
    members: tuple[MemberSubscription, ...]
    group: str = ""
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GroupAssignment:
    """The whole output of an assignor.

    ``members`` has an entry for every member, even an empty one: what it gets *this* round. ``revoking`` (cooperative
    strategies): current owner -> partitions withheld from their new owner until the follow-up rebalance, with
    ``target`` the complete plan that both rounds lead to; eager strategies have ``target == members``.
    ``standbys``: member id -> partitions that it is to have a copy of besides. ``redundancy``: how many members each
    partition is given to (fewer where fewer subscribe); 1 but for redundant strategies. ``user_data`` goes with a
    member's partitions in its assignment, by member id. ``unknown_topics`` were subscribed to but have no metadata.
    ``user_data_errors``: member id -> why its user data was not used. ``twins``: member ids that came more than once.
    """

    members: Mapping[str, TopicPartitions]
    target: Mapping[str, TopicPartitions]
    revoking: Mapping[str, TopicPartitions] = field(default_factory=dict)
    standbys: Mapping[str, TopicPartitions] = field(default_factory=dict)
    redundancy: int = 1
    user_data: Mapping[str, bytes] = field(default_factory=dict)
    unknown_topics: tuple[str, ...] = ()
    user_data_errors: Mapping[str, str] = field(default_factory=dict)
    twins: tuple[str, ...] = ()


def member_order(member: MemberSubscription) -> tuple[bool, bytes, bytes]:
    """Sort key of Java's ``MemberInfo``: static members first by instance id, then dynamic ones by member id.

    Strings compare by UTF-16 code units, as Java's do; a static member's id breaks a tie of instance ids.
    """
    instance = member.instance_id
    return (instance is None, _utf16(instance or ""), _utf16(member.member_id))


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")


def with_shared_names(members: Iterable[MemberSubscription]) -> tuple[MemberSubscription, ...]:
    """``members`` with one string for each topic's name, which all decoded subscriptions bring along again.

    Half a million subscriptions then cost half a million references, and names that are the same object are compared
    at a glance.
    """
    names: dict[str, str] = {}
    shared = names.setdefault
    return tuple(
        replace(
            member,
            topics=tuple([shared(topic, topic) for topic in member.topics]),
            owned={shared(topic, topic): numbers for topic, numbers in member.owned.items()},
        )
        for member in members
    )
