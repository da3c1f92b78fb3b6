"""Sends the gateway's own requests to a classic group's coordinator, on the connections of clients in the group."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from kafka.protocol.admin.groups import DescribeGroupsRequest
from kafka.protocol.consumer.group import HeartbeatRequest, LeaveGroupRequest
from kafka.protocol.metadata import MetadataRequest

from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.seating.connections.client_connection import ClientConnection
from rebalance_agent.gateway.seats.group_facts import GroupPhase
from rebalance_agent.gateway.transport.kafka_messages import Ask
from rebalance_agent.groupprotocol.consumer_protocol import decode_assignment, decode_subscription
from rebalance_agent.groupprotocol.wire.error_codes import (
    COORDINATOR_MOVED,
    GROUP_AUTHORIZATION_FAILED,
    NO_ERROR,
    NOT_COORDINATOR,
)
from rebalance_agent.model.reported.seat_event import names_seat

__all__ = [
    "CONSUMER",
    "AskElsewhereError",
    "ClassicRequests",
    "Described",
    "GroupRequests",
    "assigned_counts",
    "checked",
    "heartbeat",
    "partition_counts",
]

INSTANCE_VERSION = 3
"""The first version of Heartbeat and LeaveGroup with an instance id; every broker since 2.4 has it."""

DESCRIBE_VERSION = 4
"""The first DescribeGroups version with instance ids; every broker since 2.4 has it."""

METADATA_VERSION = 4
"""The first Metadata version that can avoid creating the requested topics; every broker since 0.11 has it."""

NO_GENERATION = -1
"""A heartbeat with this generation is refused; if it names a current member, with ILLEGAL_GENERATION."""

CONSUMER = "consumer"

_PHASES = {
    "Empty": GroupPhase.EMPTY,
    "Dead": GroupPhase.EMPTY,
    "PreparingRebalance": GroupPhase.PREPARING,
    "CompletingRebalance": GroupPhase.COMPLETING,
    "Stable": GroupPhase.STABLE,
}


@dataclass(frozen=True, slots=True)
class Described:
    """A group as its coordinator describes it.

    ``exists`` is also False for a group of another protocol: coordinators describe it like a group that does not exist.
    ``consumers``: all members are consumers (not Connect workers, for example) that use the group's protocol.
    ``members``: member ids. ``seats``: instance id -> member id, for members with a gateway's seat. ``epoch``: see
    `SeatsRoster`.
    """

    phase: GroupPhase
    exists: bool
    consumers: bool
    members: frozenset[str]
    seats: Mapping[str, str]
    epoch: int = -1


class GroupRequests(Protocol):
    """The gateway's requests for a group with seats, with one implementation for each protocol.

    All methods raise like `heartbeat`.
    """

    async def leave(self, connection: ClientConnection, group: str, member_id: str, instance_id: str) -> int:
        """Remove the member with both ids; return the error code. It is refused once a successor has the seat."""
        ...

    async def describe(self, connection: ClientConnection, group: str) -> Described | None:
        """Describe the group; return None if the coordinator refuses."""
        ...

    async def keep(
        self, connection: ClientConnection, group: str, generation: int, member_id: str, instance_id: str
    ) -> int:
        """Keep a vacant seat's member, if possible; return an error code, one of `FENCED` if a successor has it."""
        ...

    async def check(self, connection: ClientConnection, group: str, member_id: str, instance_id: str) -> int:
        """Check without side effects whether a member still has its vacant seat; return an error code (see `keep`)."""
        ...


class AskElsewhereError(ConnectionError):
    """The request had no effect: the broker is not the coordinator, is loading the group, or a permission is missing.

    ``for_good``: this connection can no longer be used for the group.
    """

    def __init__(self, error: int) -> None:
        """``error``: the error code of the answer."""
        super().__init__(f"error code {error}")
        self.for_good = error in (NOT_COORDINATOR, GROUP_AUTHORIZATION_FAILED)


class ClassicRequests:
    """See `GroupRequests`."""

    async def leave(self, connection: ClientConnection, group: str, member_id: str, instance_id: str) -> int:
        """See `GroupRequests`: a LeaveGroup."""
        kind = LeaveGroupRequest.MemberIdentity
        member = kind(version=INSTANCE_VERSION, member_id=member_id, group_instance_id=instance_id)
        request = LeaveGroupRequest(version=INSTANCE_VERSION, group_id=group, members=[member])
        response = await connection.ask(request)
        codes = [answered.error_code for answered in response.members or ()]
        return checked(response.error_code or next(iter(codes), NO_ERROR))

    async def describe(self, connection: ClientConnection, group: str) -> Described | None:
        """See `GroupRequests`: DescribeGroups."""
        one = await _describe(connection.ask, group)
        if one is None or one.group_state not in _PHASES:
            return None
        members = one.members or ()
        seats = {each.group_instance_id: each.member_id for each in members if names_seat(each.group_instance_id)}
        consumers = one.protocol_type in ("", CONSUMER)
        ids = frozenset(member.member_id for member in members)
        return Described(_PHASES[one.group_state], one.group_state != "Dead", consumers, ids, seats)

    async def keep(
        self, connection: ClientConnection, group: str, generation: int, member_id: str, instance_id: str
    ) -> int:
        """See `GroupRequests`: a heartbeat."""
        return await heartbeat(connection.ask, group, generation, member_id, instance_id)

    async def check(self, connection: ClientConnection, group: str, member_id: str, instance_id: str) -> int:
        """See `GroupRequests`: a heartbeat without a generation, which is refused and renews no session."""
        return await heartbeat(connection.ask, group, NO_GENERATION, member_id, instance_id)


async def heartbeat(ask: Ask, group: str, generation: int, member_id: str, instance_id: str) -> int:
    """Send a heartbeat for a member; return the answer's error code. Raises like `Ask`, and AskElsewhereError."""
    request = HeartbeatRequest(
        version=INSTANCE_VERSION,
        group_id=group,
        generation_id=generation,
        member_id=member_id,
        group_instance_id=instance_id,
    )
    return checked((await ask(request)).error_code)


async def assigned_counts(ask: Ask, group: str) -> dict[str, int] | None:
    """Return topic -> number of assigned partitions, for all subscribed topics; None unless the group is stable.

    Raises like `heartbeat`.
    """
    one = await _describe(ask, group)
    if one is None or one.group_state != "Stable":
        return None
    counts: Counter[str] = Counter()
    for member in one.members or ():
        with contextlib.suppress(DecodeError):
            counts.update(dict.fromkeys(decode_subscription(bytes(member.member_metadata or b"")).topics, 0))
        with contextlib.suppress(DecodeError):
            given = decode_assignment(bytes(member.member_assignment or b"")).partitions
            counts.update({topic: len(partitions) for topic, partitions in given.items()})
    return dict(counts)


async def partition_counts(ask: Ask, topics: Collection[str]) -> dict[str, int]:
    """Return topic -> number of partitions, for those of the ``topics`` that exist. Raises like `Ask`."""
    kind = MetadataRequest.MetadataRequestTopic
    asked = [kind(version=METADATA_VERSION, name=name) for name in sorted(topics)]
    response = await ask(MetadataRequest(version=METADATA_VERSION, topics=asked, allow_auto_topic_creation=False))
    return {topic.name: len(topic.partitions) for topic in response.topics or () if topic.partitions}


async def _describe(ask: Ask, group: str) -> Any:  # noqa: ANN401 - kafka-python is untyped
    response = await ask(DescribeGroupsRequest(version=DESCRIBE_VERSION, groups=[group]))
    found = next((one for one in response.groups or () if one.group_id == group), None)
    return found if found is not None and checked(found.error_code) == NO_ERROR else None


def checked(error: int) -> int:
    """Return the error code of an answer; raise AskElsewhereError if the request had no effect."""
    if error in COORDINATOR_MOVED or error == GROUP_AUTHORIZATION_FAILED:
        raise AskElsewhereError(error)
    return int(error)
