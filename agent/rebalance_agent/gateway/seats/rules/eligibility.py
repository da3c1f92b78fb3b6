"""Decides which consumers may have a seat, and which consumers may take over a given seat.

Each refusal is a value that appears in events, in a counter's label and in ``gateway --explain``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rebalance_agent.gateway.seats.rules.join_profile import JoinProfile, ProfileDifference, difference
from rebalance_agent.model.group import GroupType

__all__ = ["LastMember", "Newcomer", "SeatRefusal", "handover_refusal", "seat_refusal"]

CONSUMER = "consumer"
"""The protocol type of consumers, and of Kafka Streams."""

STATIC_JOIN_VERSION = 5
"""The first JoinGroup version with an instance id (KIP-345)."""

SKIP_ASSIGNMENT_VERSION = 9
"""The first JoinGroup version whose response lets a returning leader continue as leader (KIP-814)."""

_STREAMS = "stream"
"""Prefix of the names of Kafka Streams' assignors."""


class SeatRefusal(StrEnum):
    """The reason why a consumer gets no seat, or not this seat: a fixed set, for a counter's label."""

    VERSION = "version"
    """Its JoinGroup is older than v5, and therefore cannot contain an instance id."""
    OWN_INSTANCE_ID = "own_instance_id"
    """It is configured as a static member: its successor finds its place without a gateway."""
    MEMBER_ID = "member_id"
    """It joins with a member id: an unknown member id with an instance id is an error; known members cannot get one."""
    PROTOCOL_TYPE = "protocol_type"
    """It is not a consumer, but a Connect worker, a schema registry or the like."""
    STREAMS = "streams"
    """Kafka Streams with the classic protocol: its tasks have state, and its members find each other by member id."""
    UNREADABLE = "unreadable"
    """Its subscription cannot be read, so it cannot be compared with other consumers."""
    UNFENCED_COMMITS = "unfenced_commits"
    """It commits with TxnOffsetCommit below v3, without a member id: the coordinator cannot refuse a former owner."""
    GROUP_TYPE = "group_type"
    """The group has members of both protocols, or is migrating from one to the other."""
    NOT_COMPARABLE = "not_comparable"
    """The subscription of the seat's last member is unknown."""
    LEADER = "leader"
    """The last member leads, but the successor's JoinGroup is below v9: the successor would not detect new
    partitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Newcomer:
    """A consumer that sends a JoinGroup or a first heartbeat (KIP-848), and the consumer's known properties.

    ``join``: identifies the request within the gateway; ``version``: the request's version. ``patience_seconds``: how
    long its client waits for the response to a JoinGroup, minus a margin for the network. ``process``: the process
    behind its connection, None if the connection does not identify a process. ``former``: processes of this client that
    recently closed all their connections: the newcomer succeeds them. ``unfenced_commits``: it sent a TxnOffsetCommit
    below v3. ``was_member``: it was a member of the group before, on the same connection or in the same process, so no
    predecessor will leave. ``profile``: None if its subscription cannot be read. ``client_id``: the client's own name.
    ``group_type``: the protocol of the request. ``member_id``: empty if no gateway has the consumer's member id.
    """

    join: int
    version: int
    profile: JoinProfile | None
    protocol_type: str = CONSUMER
    member_id: str = ""
    instance_id: str | None = None
    patience_seconds: float = 10.0
    process: int | None = None
    former: frozenset[int] = frozenset()
    unfenced_commits: bool = False
    was_member: bool = False
    client_id: str = ""
    group_type: GroupType = GroupType.CLASSIC


@dataclass(frozen=True, slots=True)
class LastMember:
    """The last member of a seat: the member's profile (None if unknown), and whether the member leads the group."""

    profile: JoinProfile | None
    leads: bool


def seat_refusal(newcomer: Newcomer, *, mixed_group: bool) -> SeatRefusal | None:
    """Return why a newcomer gets no seat at all; None if it may have one."""
    if newcomer.group_type is GroupType.CLASSIC and newcomer.version < STATIC_JOIN_VERSION:
        return SeatRefusal.VERSION
    if newcomer.instance_id is not None:
        return SeatRefusal.OWN_INSTANCE_ID
    if newcomer.member_id:
        return SeatRefusal.MEMBER_ID
    if newcomer.protocol_type != CONSUMER:
        return SeatRefusal.PROTOCOL_TYPE
    if newcomer.profile is None:
        return SeatRefusal.UNREADABLE
    if any(offer.name.startswith(_STREAMS) for offer in newcomer.profile.assignors):
        return SeatRefusal.STREAMS
    if newcomer.unfenced_commits:
        return SeatRefusal.UNFENCED_COMMITS
    return SeatRefusal.GROUP_TYPE if mixed_group else None


def handover_refusal(
    last: LastMember, newcomer: Newcomer, *, watches_topics: bool
) -> SeatRefusal | ProfileDifference | None:
    """Return why a newcomer that may have a seat cannot get the seat of ``last``; None if it can.

    ``watches_topics``: the gateway makes a returned leader with a JoinGroup below v9 rejoin when the group's topics
    change.
    """
    if last.profile is None or newcomer.profile is None:
        return SeatRefusal.NOT_COMPARABLE
    differs = difference(last.profile, newcomer.profile)
    if differs is not None:
        return differs
    blind = last.leads and newcomer.version < SKIP_ASSIGNMENT_VERSION and not watches_topics
    return SeatRefusal.LEADER if blind else None
