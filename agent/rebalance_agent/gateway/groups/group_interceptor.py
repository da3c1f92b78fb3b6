"""Passes each frame of a connection that belongs to a group to the handler of the frame's API."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Iterable
from typing import Any

from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.connection_readiness import ConnectionReadiness
from rebalance_agent.gateway.groups.frame_handler import FrameHandler
from rebalance_agent.gateway.groups.gateway_groups import FrameOutcome, GatewayGroups
from rebalance_agent.gateway.groups.heartbeats.consumer_heartbeats import ConsumerHeartbeatHandler
from rebalance_agent.gateway.groups.heartbeats.share_heartbeats import ShareHeartbeatHandler
from rebalance_agent.gateway.groups.heartbeats.streams_heartbeats import StreamsHeartbeatHandler
from rebalance_agent.gateway.groups.join_group import JoinGroupHandler
from rebalance_agent.gateway.groups.observed_apis import (
    FetchHandler,
    HeartbeatHandler,
    LeaveGroupHandler,
    OffsetCommitHandler,
    TxnOffsetCommitHandler,
)
from rebalance_agent.gateway.groups.sync_group import SyncGroupHandler
from rebalance_agent.gateway.pushing_member import CallbackMaxima, PushingMember
from rebalance_agent.gateway.seating import SeatFrames
from rebalance_agent.gateway.seating.connections.client_connection import ClientConnection, OwnAnswer, SeatNote
from rebalance_agent.gateway.transport.kafka_messages import Ask, OpenedFrame
from rebalance_agent.gateway.transport.request_head import RequestHead, client_id
from rebalance_agent.groupprotocol.requests.share_responses import SharePartition
from rebalance_agent.model.reported.client_metrics import ClientMetrics
from rebalance_agent.model.reported.member_software import ClientSoftware

__all__ = ["WAITING_MAX", "GroupInterceptor", "GroupInterceptors"]

AWAITED_SECONDS_MAX = 5.0
"""Longest time (seconds) for which the broker's side stays open for the response to a client that is gone. A broker
answers a LeaveGroup in milliseconds, but not on a connection that the gateway has ended."""

WAITING_MAX = 1_000
"""Maximum number of requests in flight on one connection whose responses are to be read; further responses pass
unread."""

_HANDLERS = (
    JoinGroupHandler,
    SyncGroupHandler,
    HeartbeatHandler,
    LeaveGroupHandler,
    OffsetCommitHandler,
    TxnOffsetCommitHandler,
    FetchHandler,
    ConsumerHeartbeatHandler,
    ShareHeartbeatHandler,
    StreamsHeartbeatHandler,
)
_Waiting = tuple[RequestHead, FrameHandler, Any, SeatNote | None]
_logger = logging.getLogger(__name__)


class GroupInterceptors(GatewayGroups):
    """The groups of one gateway; creates a `GroupInterceptor` for each connection."""

    def for_connection(self) -> GroupInterceptor:
        """Return the interceptor of a new connection."""
        return GroupInterceptor(self)


class GroupInterceptor:
    """Handles the frames of one connection.

    The methods raise only `DecodeError`, for frames that no broker can read, and ConnectionError if the client of a
    held request has disconnected.
    """

    def __init__(self, shared: GatewayGroups) -> None:
        """Create the interceptor of one connection; ``shared``: the members of all connections of the gateway."""
        self._shared = shared
        self._handlers: dict[int, FrameHandler] = {handler.API_KEY: handler(shared) for handler in _HANDLERS}
        self._waiting: deque[_Waiting] = deque()  # answers come in the order of their requests
        self._connection: ClientConnection | None = None
        self._seats: SeatFrames | None = None
        self._readiness = ConnectionReadiness(shared.readiness)
        self.member: tuple[str, str, float] | None = None
        """The member on this connection, from the last request that names a member: group, client id, and rebalance
        timeout in seconds (0: not in the request). None while no member is known."""

    def connected(self, connection: ClientConnection) -> None:
        """Store the ``connection``."""
        self._connection = connection
        if self._shared.seats is not None:
            self._seats = self._shared.seats.connection(connection, self._readiness.held)

    def greeted(self, name: str, software: ClientSoftware) -> None:
        """Store the client id and the library of the client."""
        for handler in self._handlers.values():
            handler.software = software or None
        if self._seats is not None:
            self._seats.greeted(name, software)

    def pushed(self, client: PushingMember, maxima: CallbackMaxima, metrics: ClientMetrics) -> None:
        """Process what a member's client measured itself: the longest durations of callbacks, and the rest."""
        if entry := self._shared.entries.find(client.group, client.member_id, client.instance_id):
            entry.membership.events.client_metrics = metrics
            entry.membership.callbacks.pushed(client.client_instance_id, maxima)

    def share_fetched(self, client_id: str, partitions: Iterable[SharePartition]) -> None:
        """Process a ShareFetch of these partitions, which have topic ids."""
        if self._shared.awaiting:
            names = self._shared.topic_names
            self._shared.fetched(client_id, {(names.get(topic_id), number) for topic_id, number in partitions})

    async def client_ended(self) -> None:
        """Record that the client closed its connection; return when the broker's side is no longer needed."""
        if self._connection and any(memory and handler.awaited(memory) for _, handler, memory, _ in self._waiting):
            with contextlib.suppress(ConnectionError, TimeoutError):
                await asyncio.wait_for(self._connection.answered(), AWAITED_SECONDS_MAX)
        if self._seats is not None:
            await self._seats.client_ended()

    def wants(self, head: RequestHead) -> bool:
        """Whether to read a request.

        Requests of unknown versions pass unread. A Fetch is read only while some member has not yet fetched from
        its new assignment.
        """
        handler = self._handlers.get(head.api_key)
        if handler is None or not handler.VERSION_MIN <= head.api_version <= handler.VERSION_MAX:
            return False
        return head.api_key != FetchHandler.API_KEY or bool(self._shared.awaiting)

    def observes(self, head: RequestHead) -> bool:
        """Whether this request is never changed, even if it is read."""
        return not self._handlers[head.api_key].STRICT

    def wants_answer(self, head: RequestHead) -> bool:
        """Whether to read the response to a request that was read. A Fetch response is never read: it may be large.

        ``head`` must be the same object as in `request`, since clients may repeat correlation ids. Call this for the
        newest request, and for the oldest request when its response has arrived.
        """
        return bool(self._waiting) and (self._waiting[-1][0] is head or self._waiting[0][0] is head)

    async def request(self, head: RequestHead, frame: bytes, ask: Ask) -> bytes | OwnAnswer:
        """Return the frame to send to the broker, or to the client.

        Raises:
            DecodeError: a JoinGroup or SyncGroup does not match its schema.
            ConnectionError: the client or the broker has disconnected.
        """
        handler = self._handlers.get(head.api_key)
        if handler is None:
            return frame
        try:
            opened = handler.open_request(head, frame)
        except DecodeError:
            if handler.STRICT:
                raise
            return frame
        try:
            step = await handler.request(opened.message, client_id(frame), ask)
            if member := handler.member_of(opened.message):
                group, rebalance_seconds = member
                self.member = group, client_id(frame), rebalance_seconds
            changed = opened.frame() if step.changed else frame
        except Exception as error:  # noqa: BLE001 - whatever it is, the client's own bytes are forwarded
            self._failed(head, error)
            return frame
        follows = self._readiness.request(head.api_key, opened.message, frame)
        note = await self._seat(head, opened, len(frame))
        if isinstance(note, OwnAnswer):
            return OwnAnswer(self._shown(head, handler, step.memory, None, note.frame))
        if (step.memory is not None or note is not None or follows) and len(self._waiting) < WAITING_MAX:
            self._waiting.append((head, handler, step.memory, note))
        return changed

    def response(self, head: RequestHead, frame: bytes) -> bytes:
        """Return the frame to send to the client.

        Raises:
            DecodeError: the response to a JoinGroup or SyncGroup does not match its schema.
        """
        if not self._waiting or self._waiting[0][0] is not head:
            return frame
        _, handler, memory, note = self._waiting.popleft()
        return self._shown(head, handler, memory, note, frame)

    async def _seat(self, head: RequestHead, opened: OpenedFrame, size: int) -> OwnAnswer | SeatNote | None:
        if self._seats is None:
            return None
        try:
            return await self._seats.request(head, opened, size)
        except ConnectionError:
            raise
        except Exception as error:  # noqa: BLE001 - the client's own bytes are forwarded
            self._failed(head, error)
            return None

    def _shown(
        self,
        head: RequestHead,
        handler: FrameHandler,
        memory: Any,  # noqa: ANN401 - each handler has its own
        note: SeatNote | None,
        frame: bytes,
    ) -> bytes:
        try:
            opened = handler.open_response(head, frame)
        except DecodeError:
            if handler.STRICT:
                raise
            return frame
        changed = note is not None and self._noted(head, note, opened.message)
        try:
            changed |= memory is not None and handler.response(opened.message, memory)
            self._readiness.response(head.api_key, opened.message)
            return opened.frame() if changed else frame
        except Exception as error:  # noqa: BLE001 - whatever it is, the client's own bytes are forwarded
            self._failed(head, error)
            return frame

    def _noted(self, head: RequestHead, note: SeatNote, message: Any) -> bool:  # noqa: ANN401
        """Return whether seats changed the message. An error in the seats' part does not affect the handler.

        If an answer names our strategy, the client can read it only after the handler has restored the client's
        assignor.
        """
        try:
            return SeatFrames.response(note, message)
        except Exception as error:  # noqa: BLE001 - the answer is forwarded as if the group had no seats
            self._failed(head, error)
            return False

    def closed(self) -> None:
        """Record that the connection was closed; its members may return on another connection."""
        while self._waiting:
            _, handler, memory, _ = self._waiting.popleft()
            if memory is not None:
                handler.unanswered(memory)
        self._readiness.closed()
        if self._seats is not None:
            self._seats.closed()

    def _failed(self, head: RequestHead, error: Exception) -> None:
        self._shared.count(FrameOutcome.FAILED)
        text = "an error of the gateway: API %d v%d is forwarded unchanged"
        _logger.error(text, head.api_key, head.api_version, exc_info=error)
