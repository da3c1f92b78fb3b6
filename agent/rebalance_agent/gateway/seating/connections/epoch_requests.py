"""Sends the gateway's own requests to the coordinator of a KIP-848 group, on clients' connections."""

from __future__ import annotations

from typing import Any

from rebalance_agent.gateway.seating.connections.broker_apis import BrokerApis
from rebalance_agent.gateway.seating.connections.client_connection import ClientConnection
from rebalance_agent.gateway.seating.connections.coordinator_requests import AskElsewhereError, Described, checked
from rebalance_agent.gateway.seats.group_facts import GroupPhase
from rebalance_agent.gateway.transport.request_head import GATEWAY_CLIENT_ID
from rebalance_agent.groupprotocol.requests.consumer_group_describe import (
    DESCRIBE_KEY,
    TYPED_VERSION,
    decode_description,
    encode_describe,
)
from rebalance_agent.groupprotocol.requests.consumer_group_heartbeat import (
    CONSUMER_HEARTBEAT,
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    UNCHANGED,
)
from rebalance_agent.groupprotocol.wire.error_codes import (
    FENCED_INSTANCE_ID,
    GROUP_ID_NOT_FOUND,
    NO_ERROR,
    UNSUPPORTED_VERSION,
)
from rebalance_agent.model.reported.seat_event import names_seat

__all__ = ["EpochRequests", "leave_for_a_while"]

_VERSION = CONSUMER_HEARTBEAT.versions[0]
"""The first version: all brokers with KIP-848 groups support it."""

_CORRELATION_ID = 0
"""A placeholder: `ClientConnection.exchange` sets the connection's own correlation id."""

_CONSUMER_TYPE = 1
"""The member type of consumers that use this protocol; a migrating group also has members of the classic protocol."""

_EMPTY, _DEAD = "Empty", "Dead"


class EpochRequests:
    """See `GroupRequests`."""

    def __init__(self) -> None:
        """Start before any request."""
        self._apis = BrokerApis({DESCRIBE_KEY: TYPED_VERSION})

    async def leave(self, connection: ClientConnection, group: str, member_id: str, instance_id: str) -> int:
        """See `GroupRequests`: a heartbeat with epoch -1."""
        return checked(await _left(connection, group, member_id, instance_id, LEAVE_EPOCH))

    async def describe(self, connection: ClientConnection, group: str) -> Described | None:
        """See `GroupRequests`: ConsumerGroupDescribe. Newcomers cause no separate rebalance in any state."""
        one = await self._described(connection, group)
        if one is None:
            return None
        exists = one["error_code"] == NO_ERROR and one["group_state"] != _DEAD
        members = one["members"] if exists else []
        phase = GroupPhase.EMPTY if not exists or one["group_state"] == _EMPTY else GroupPhase.STABLE
        seats = {member["instance_id"]: member["member_id"] for member in members if names_seat(member["instance_id"])}
        consumers = all(member["member_type"] == _CONSUMER_TYPE for member in members)
        ids = frozenset(member["member_id"] for member in members)
        return Described(phase, exists, consumers, ids, seats, one["group_epoch"])

    async def keep(
        self,
        connection: ClientConnection,
        group: str,
        generation: int,  # noqa: ARG002 - for classic groups
        member_id: str,
        instance_id: str,
    ) -> int:
        """See `GroupRequests`: make the member leave temporarily again. This does not extend its session."""
        return checked(await leave_for_a_while(connection, group, member_id, instance_id))

    async def check(self, connection: ClientConnection, group: str, member_id: str, instance_id: str) -> int:
        """See `GroupRequests`: ConsumerGroupDescribe. A member that has returned to its seat counts as fenced."""
        one = await self._described(connection, group)
        if one is None:
            raise AskElsewhereError(UNSUPPORTED_VERSION)
        away = [
            (member["instance_id"], member["member_id"])
            for member in one["members"]
            if member["member_epoch"] == STATIC_LEAVE_EPOCH
        ]
        return NO_ERROR if (instance_id, member_id) in away else FENCED_INSTANCE_ID

    async def _described(self, connection: ClientConnection, group: str) -> dict[str, Any] | None:
        if not await self._apis.known(connection):
            return None
        request = encode_describe(_CORRELATION_ID, GATEWAY_CLIENT_ID, [group], TYPED_VERSION)
        one = next(iter(decode_description(await connection.exchange(request), TYPED_VERSION)), None)
        return one if one is not None and checked(one["error_code"]) in (NO_ERROR, GROUP_ID_NOT_FOUND) else None


async def leave_for_a_while(connection: ClientConnection, group: str, member_id: str, instance_id: str) -> int:
    """Make a member leave temporarily (epoch -2), so that a successor may have its seat; return the error code.

    The request may be repeated. It is refused once a successor has the seat. Raises ConnectionError and DecodeError.
    """
    return await _left(connection, group, member_id, instance_id, STATIC_LEAVE_EPOCH)


async def _left(connection: ClientConnection, group: str, member_id: str, instance_id: str, epoch: int) -> int:
    names = {"group_id": group, "member_id": member_id, "member_epoch": epoch, "instance_id": instance_id}
    frame = CONSUMER_HEARTBEAT.encode_request(_VERSION, _CORRELATION_ID, GATEWAY_CLIENT_ID, {**UNCHANGED, **names})
    answer = CONSUMER_HEARTBEAT.decode_answer(_VERSION, await connection.exchange(frame))
    return int(answer["error_code"])
