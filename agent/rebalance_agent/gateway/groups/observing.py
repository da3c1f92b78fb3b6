"""Heartbeat, LeaveGroup, OffsetCommit and Fetch: read for what they tell, and never changed."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Any

from kafka.protocol.consumer.fetch import FetchRequest, FetchResponse
from kafka.protocol.consumer.group import (
    HeartbeatRequest,
    HeartbeatResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
)

from rebalance_agent.gateway.groups.handlers import LOST, PASS, REBALANCE_IN_PROGRESS, Handler, Step, lose
from rebalance_agent.gateway.groups.recovering import DESCRIBE_SECONDS, recover
from rebalance_agent.gateway.groups.seats import Seat
from rebalance_agent.gateway.groups.shared import Shared
from rebalance_agent.gateway.messages import Ask

__all__ = ["Commits", "Fetches", "Heartbeats", "Leaves"]

STALE_MEMBER_EPOCH = 113


@dataclass(frozen=True, slots=True)
class _Sent:
    seat: Seat
    generation: int


class Heartbeats(Handler):
    """What a member is told: that the group rebalances, or that it is in it no more."""

    REQUEST = HeartbeatRequest
    RESPONSE = HeartbeatResponse

    def __init__(self, shared: Shared) -> None:
        """A connection's first."""
        self._shared = shared

    async def request(self, message: Any, client_id: str, ask: Ask) -> Step:  # noqa: ANN401 - kafka-python is untyped
        """Of a member that nobody here knows, learn what it has."""
        names = message.group_id, message.member_id, message.group_instance_id
        seat = self._shared.seats.find(*names)
        if self._shared.seats.vacant(*names) and message.generation_id >= 0 and self._shared.rules.of(message.group_id):
            seat = await self._recovered(message, client_id, ask)
        if seat is None:
            return PASS
        seat.presence.settle()
        seat.presence.beat(self._shared.alive)
        return Step(memory=_Sent(seat, message.generation_id))

    def response(self, message: Any, memory: _Sent) -> bool:  # noqa: ANN401
        """Note what it says."""
        if message.error_code == REBALANCE_IN_PROGRESS:
            memory.seat.presence.announced()
        lose(memory.seat, message.error_code, "Heartbeat", memory.generation)
        return False

    async def _recovered(self, message: Any, client_id: str, ask: Ask) -> Seat | None:  # noqa: ANN401
        group, member_id, instance_id = message.group_id, message.member_id, message.group_instance_id
        seat = Seat(self._shared.presence(group, client_id, instance_id))
        seat.presence.member_id = member_id
        # Whatever comes of it, it is asked once.
        self._shared.seats.put(group, member_id, instance_id, seat)
        with contextlib.suppress(TimeoutError, ConnectionError):
            owned, seat.foreign = await asyncio.wait_for(recover(ask, group, member_id), DESCRIBE_SECONDS)
            if owned is not None:
                seat.presence.generation, seat.presence.owned = message.generation_id, owned
        return None if seat.foreign else seat


class Leaves(Handler):
    """Members that leave on purpose, and why (KIP-800)."""

    REQUEST = LeaveGroupRequest
    RESPONSE = LeaveGroupResponse

    def __init__(self, shared: Shared) -> None:
        """A connection's first."""
        self._seats = shared.seats

    async def request(self, message: Any, client_id: str, ask: Ask) -> Step:  # noqa: ANN401, ARG002
        """Told at once: clients close the connection without waiting for the answer."""
        members = [(each.member_id, each.group_instance_id, each.reason) for each in message.members or ()]
        for member_id, instance_id, reason in members or [(message.member_id, None, None)]:
            if seat := self._seats.find(message.group_id, member_id or "", instance_id):
                seat.presence.left(reason)
                self._seats.forget(message.group_id, member_id or "", instance_id)
        return PASS


class Commits(Handler):
    """Commits that came too late."""

    REQUEST = OffsetCommitRequest
    RESPONSE = OffsetCommitResponse

    def __init__(self, shared: Shared) -> None:
        """A connection's first."""
        self._seats = shared.seats

    async def request(self, message: Any, client_id: str, ask: Ask) -> Step:  # noqa: ANN401, ARG002
        """Whose it is."""
        seat = self._seats.find(message.group_id, message.member_id, message.group_instance_id)
        return PASS if seat is None else Step(memory=_Sent(seat, message.generation_id_or_member_epoch))

    def response(self, message: Any, memory: _Sent) -> bool:  # noqa: ANN401
        """What was refused for the sake of a rebalance."""
        codes = [partition.error_code for topic in message.topics for partition in topic.partitions]
        if REBALANCE_IN_PROGRESS in codes:
            memory.seat.presence.announced()
        refused = sum(code in LOST or code in (REBALANCE_IN_PROGRESS, STALE_MEMBER_EPOCH) for code in codes)
        if refused:
            memory.seat.presence.commit_rejected(refused)
        return False


class Fetches(Handler):
    """The first Fetch of partitions that a member was given: it comes by another connection than the group's."""

    REQUEST = FetchRequest
    RESPONSE = FetchResponse

    def __init__(self, shared: Shared) -> None:
        """A connection's first."""
        self._shared = shared

    async def request(self, message: Any, client_id: str, ask: Ask) -> Step:  # noqa: ANN401, ARG002
        """Members are told apart by client id and partitions; newer versions name topics by their ids only."""
        asked = {(topic.topic or None, each.partition) for topic in message.topics for each in topic.partitions}
        for presence in self._shared.awaiting:
            if presence.client_id == client_id:
                presence.fetching(asked)
        self._shared.tidy()
        return PASS
