"""Sends lock requests on clients' connections to the group's coordinator, which also stores the locks."""

from __future__ import annotations

from rebalance_agent.gateway.seating.connections.broker_apis import BrokerApis
from rebalance_agent.gateway.seating.connections.client_connection import ClientConnection
from rebalance_agent.gateway.seats.locks import LockAnswer, LockBeat
from rebalance_agent.gateway.seats.locks.lock_acts import LockLoss
from rebalance_agent.gateway.seats.locks.lock_errors import loss_text
from rebalance_agent.gateway.seats.locks.lock_frames import (
    VERSION,
    LockHolder,
    heartbeat_frame,
    helper_group,
    holders,
    read_heartbeat_answer,
)
from rebalance_agent.gateway.transport.request_head import GATEWAY_CLIENT_ID
from rebalance_agent.groupprotocol.requests.consumer_group_describe import (
    DESCRIBE_KEY,
    DESCRIBE_VERSION,
    encode_describe,
)
from rebalance_agent.groupprotocol.requests.consumer_group_heartbeat import CONSUMER_HEARTBEAT
from rebalance_agent.groupprotocol.wire.error_codes import UNSUPPORTED_VERSION

__all__ = ["LockRequests"]

DESCRIPTION_BYTES_MAX = 1024 * 1024
"""Largest description of locks in bytes: the description of a thousand locks has about 300 KiB."""

_CORRELATION_ID = 0
"""A placeholder: `ClientConnection.exchange` sets the connection's own correlation id."""


class LockRequests:
    """The requests for the locks of one group."""

    def __init__(self, group: str) -> None:
        """Prepare requests. Raises InvalidInputError if the group's name is too long for a helper group."""
        self._group = group
        self._apis = BrokerApis({CONSUMER_HEARTBEAT.key: VERSION, DESCRIBE_KEY: DESCRIBE_VERSION})
        self._describe = encode_describe(_CORRELATION_ID, GATEWAY_CLIENT_ID, [helper_group(group)])

    def problem(self, loss: LockLoss, error: int) -> str:
        """Return a sentence for a log about the loss of a lock; ``error``: Kafka's code, 0 if there is none."""
        return loss_text(helper_group(self._group), loss, error)

    async def beat(self, connection: ClientConnection, beat: LockBeat) -> LockAnswer:
        """Send a request for a lock, and return the answer.

        Raises:
            ConnectionError: the connection is closed.
            DecodeError: the answer cannot be read.
        """
        if not await self._apis.known(connection):
            return LockAnswer(UNSUPPORTED_VERSION)
        return read_heartbeat_answer(
            await connection.exchange(heartbeat_frame(self._group, beat, _CORRELATION_ID, GATEWAY_CLIENT_ID))
        )

    async def describe(self, connection: ClientConnection) -> tuple[LockHolder, ...] | None:
        """Return all locks of the group; None if there are too many or the coordinator refuses. Raises like `beat`."""
        if not await self._apis.known(connection):
            return None
        frame = await connection.exchange(self._describe)
        return holders(frame) if len(frame) <= DESCRIPTION_BYTES_MAX else None
