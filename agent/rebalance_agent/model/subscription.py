"""Subscriptions and assignments: the input and the output of every assignor.

Names follow Kafka's ``ConsumerPartitionAssignor`` and KIP-429, KIP-792 (generation), KIP-881 (rack).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rebalance_agent.model.partitions import TopicPartitions

__all__ = [
    "UNKNOWN_GENERATION",
    "AssignedCopies",
    "ConsumerAssignment",
    "ConsumerSubscription",
    "GroupAssignment",
    "GroupSubscription",
    "MemberSubscription",
    "MemberUserData",
    "TopicMetadata",
    "java_order",
    "member_order",
    "with_shared_names",
]

UNKNOWN_GENERATION = -1
"""Kafka's "no generation": the generation of the claimed ownership is not known."""


@dataclass(frozen=True, slots=True)
class ConsumerSubscription:
    """A member's ``ConsumerProtocolSubscription`` from JoinGroup (versions 0 to 3)."""

    version: int
    topics: tuple[str, ...]
    user_data: bytes | None = None
    owned_partitions: TopicPartitions = field(default_factory=dict)
    generation_id: int = UNKNOWN_GENERATION
    rack_id: str | None = None


@dataclass(frozen=True, slots=True)
class ConsumerAssignment:
    """A member's ``ConsumerProtocolAssignment`` from SyncGroup (versions 0 to 3)."""

    version: int
    partitions: TopicPartitions
    user_data: bytes | None = None


@dataclass(frozen=True, slots=True)
class TopicMetadata:
    """The partitions of a topic: how many, where their replicas are, and how heavy they are.

    ``racks`` has one tuple of replica racks per partition, ``loads`` one weight per partition; None: not known.
    """

    partitions: int
    racks: tuple[tuple[str, ...], ...] | None = None
    loads: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class MemberSubscription:
    """The subscription of one member as assignors see it.

    ``owned``: the partitions owned in ``generation``. ``standbys``: the partitions of which the member has a copy.
    ``config`` holds assignor settings of this member (``assignment.consumer.weight`` ...); ``user_data``, where
    present, overrides it.
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
class MemberUserData:
    """The content of a member's user data: settings by name, and owned partitions, if its strategy needs them.

    ``owned`` was assigned in ``generation`` (below 0: not known); ``standbys``: partitions of which the member has a
    copy.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    owned: TopicPartitions = field(default_factory=dict)
    generation: int = UNKNOWN_GENERATION
    standbys: TopicPartitions = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AssignedCopies:
    """The partitions of which a member is to keep a copy.

    ``warmups`` are the ``standbys`` that wait for this copy (KIP-441): they move to the member when it reports the
    copy.
    """

    standbys: TopicPartitions = field(default_factory=dict)
    warmups: TopicPartitions = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GroupSubscription:
    """The whole input of an assignor. ``group``: the group's id, or empty; no decision depends on the id.

    ``config`` holds the settings of the assigning member that apply to the whole group.
    """

    topics: Mapping[str, TopicMetadata]
    members: tuple[MemberSubscription, ...]
    group: str = ""
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GroupAssignment:
    """The whole output of an assignor.

    ``members`` has an entry for every member, even an empty one: what it gets in *this* round. ``revoking``
    (cooperative strategies): current owner -> partitions withheld from their new owner until the follow-up rebalance;
    ``target`` is the complete assignment after both rounds. With eager strategies ``target == members``. ``standbys``:
    member id -> partitions of which it is to keep a copy; ``missing_standbys``: copies that the setting asks for and
    that no member could get, None for strategies without. ``redundancy``: how many members get each partition (fewer
    if fewer subscribe); 1 except for redundant strategies. ``user_data``: member id -> user data of its assignment.
    ``unknown_topics`` are subscribed to but have no metadata. ``user_data_errors``: member id -> why its user data was
    not used. ``duplicate_ids``: member ids that occurred more than once.
    """

    members: Mapping[str, TopicPartitions]
    target: Mapping[str, TopicPartitions]
    revoking: Mapping[str, TopicPartitions] = field(default_factory=dict)
    standbys: Mapping[str, TopicPartitions] = field(default_factory=dict)
    missing_standbys: int | None = None
    redundancy: int = 1
    user_data: Mapping[str, bytes] = field(default_factory=dict)
    unknown_topics: tuple[str, ...] = ()
    user_data_errors: Mapping[str, str] = field(default_factory=dict)
    duplicate_ids: tuple[str, ...] = ()


def member_order(member: MemberSubscription) -> tuple[bool, bytes, bytes]:
    """Return the sort key of Java's ``MemberInfo``: static members by instance id, then dynamic members by id.

    Strings compare by UTF-16 code units, as in Java; the member id breaks ties between equal instance ids.
    """
    instance = member.instance_id
    return (instance is None, java_order(instance or ""), java_order(member.member_id))


def java_order(text: str) -> bytes:
    """Return the sort key of a string in Java: its UTF-16 code units."""
    return text.encode("utf-16-be", "surrogatepass")


def with_shared_names(members: Iterable[MemberSubscription]) -> tuple[MemberSubscription, ...]:
    """Return ``members`` with one string object per topic name instead of one per decoded subscription.

    Half a million subscriptions then take half a million references, and equal names compare by identity.
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
