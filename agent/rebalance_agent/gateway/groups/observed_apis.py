"""Heartbeat, LeaveGroup, commits of offsets and Fetch: read for what they tell, and never changed."""

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
from kafka.protocol.producer import TxnOffsetCommitRequest, TxnOffsetCommitResponse

from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.groups.assignment_recovery import DESCRIBE_SECONDS, recover
from rebalance_agent.gateway.groups.client_membership import ClientMembership
from rebalance_agent.gateway.groups.frame_handler import (
    LOST,
    NO_ERROR,
    PASS,
    REBALANCE_IN_PROGRESS,
    FrameHandler,
    FrameResult,
    lose,
)
from rebalance_agent.gateway.groups.gateway_groups import GatewayGroups
from rebalance_agent.gateway.groups.member_entries import MemberEntry
from rebalance_agent.gateway.transport.kafka_messages import Ask

__all__ = ["FetchHandler", "HeartbeatHandler", "LeaveGroupHandler", "OffsetCommitHandler", "TxnOffsetCommitHandler"]

STALE_MEMBER_EPOCH = 113


@dataclass(frozen=True, slots=True)
class _Sent:
    """Whose request it was: by its answer another process may have taken a static member's seat."""

    presence: ClientMembership
    generation: int


@dataclass(frozen=True, slots=True)
class _Leaving:
    presence: ClientMembership
    group: str
    member_id: str
    instance_id: str | None


class HeartbeatHandler(FrameHandler):
    """What a member is told: that the group rebalances, or that it is in it no more."""

    REQUEST = HeartbeatRequest
    RESPONSE = HeartbeatResponse

    def __init__(self, shared: GatewayGroups) -> None:
        """A connection's first."""
        self._shared = shared

    async def request(self, message: Any, client_id: str, ask: Ask) -> FrameResult:  # noqa: ANN401 - kafka-python is untyped
        """Of a member that nobody here knows, learn what it has."""
        names = message.group_id, message.member_id, message.group_instance_id
        seat = self._shared.seats.find(*names)
        if self._shared.seats.vacant(*names) and message.generation_id >= 0 and self._shared.rules.of(message.group_id):
            seat = await self._recovered(message, client_id, ask)
        if seat is None:
            return PASS
        seat.presence.settle()
        seat.presence.beat(self._shared.alive)
        return FrameResult(memory=_Sent(seat.presence, message.generation_id))

    def response(self, message: Any, memory: _Sent) -> bool:  # noqa: ANN401
        """Note what it says."""
        if message.error_code == REBALANCE_IN_PROGRESS:
            memory.presence.announced()
        lose(memory.presence, message.error_code, "Heartbeat", memory.generation)
        return False

    async def _recovered(self, message: Any, client_id: str, ask: Ask) -> MemberEntry | None:  # noqa: ANN401
        group, member_id, instance_id = message.group_id, message.member_id, message.group_instance_id
        seat = MemberEntry(self._shared.presence(group, client_id, instance_id))
        seat.presence.member_id = member_id
        # Whatever comes of it, it is asked once.
        self._shared.seats.put(group, member_id, instance_id, seat)
        with contextlib.suppress(TimeoutError, ConnectionError, DecodeError):
            owned, seat.foreign = await asyncio.wait_for(recover(ask, group, member_id), DESCRIBE_SECONDS)
            if owned is not None:
                seat.presence.generation, seat.presence.owned = message.generation_id, owned
        return None if seat.foreign else seat


class LeaveGroupHandler(FrameHandler):
    """Members that leave on purpose, and why (KIP-800)."""

    REQUEST = LeaveGroupRequest
    RESPONSE = LeaveGroupResponse

    def __init__(self, shared: GatewayGroups) -> None:
        """A connection's first."""
        self._seats = shared.seats

    async def request(self, message: Any, client_id: str, ask: Ask) -> FrameResult:  # noqa: ANN401, ARG002
        """Who asks, and when; told when the coordinator has answered."""
        members = [(each.member_id, each.group_instance_id, each.reason) for each in message.members or ()]
        leaving = []
        for member_id, instance_id, reason in members or [(message.member_id, None, None)]:
            names = message.group_id, member_id or "", instance_id
            if seat := self._seats.find(*names):
                seat.presence.leaving(reason)
                leaving.append(_Leaving(seat.presence, *names))
        return FrameResult(memory=tuple(leaving)) if leaving else PASS

    def response(self, message: Any, memory: tuple[_Leaving, ...]) -> bool:  # noqa: ANN401
        """Those that the coordinator let go have left. Who it does not know was expelled before; others stay."""
        codes = {(each.member_id, each.group_instance_id): each.error_code for each in message.members or ()}
        for each in memory:
            code = message.error_code or codes.get((each.member_id, each.instance_id), NO_ERROR)
            if code == NO_ERROR:
                self._left(each)
            elif code in LOST:
                each.presence.lost(f"{LOST[code]} in the answer to LeaveGroup")
            else:
                each.presence.kept()
        return False

    def unanswered(self, memory: tuple[_Leaving, ...]) -> None:
        """Clients close the connection without waiting for long: what reached the coordinator was done."""
        for each in memory:
            self._left(each)

    def _left(self, leaving: _Leaving) -> None:
        leaving.presence.left()
        self._seats.forget(leaving.group, leaving.member_id, leaving.instance_id)


class OffsetCommitHandler(FrameHandler):
    """Commits that came too late."""

    REQUEST = OffsetCommitRequest
    RESPONSE = OffsetCommitResponse

    def __init__(self, shared: GatewayGroups) -> None:
        """A connection's first."""
        self._seats = shared.seats

    async def request(self, message: Any, client_id: str, ask: Ask) -> FrameResult:  # noqa: ANN401, ARG002
        """Whose it is."""
        seat = self._seats.find(message.group_id, message.member_id, message.group_instance_id)
        return PASS if seat is None else FrameResult(memory=_Sent(seat.presence, self._generation(message)))

    def response(self, message: Any, memory: _Sent) -> bool:  # noqa: ANN401
        """What was refused for the sake of a rebalance."""
        codes = [partition.error_code for topic in message.topics for partition in topic.partitions]
        refused = sum(code in LOST or code in (REBALANCE_IN_PROGRESS, STALE_MEMBER_EPOCH) for code in codes)
        if refused:
            memory.presence.commit_rejected(refused)
            self._heard(memory, codes)
        return False

    def _generation(self, message: Any) -> int:  # noqa: ANN401
        return int(message.generation_id_or_member_epoch)

    def _heard(self, sent: _Sent, codes: list[int]) -> None:
        """The consumer itself is told, and acts on it."""
        if REBALANCE_IN_PROGRESS in codes:
            sent.presence.announced()
        for code in LOST.keys() & codes:
            lose(sent.presence, code, "OffsetCommit", sent.generation)


class TxnOffsetCommitHandler(OffsetCommitHandler):
    """Commits within a producer's transaction: the producer is told of their refusal, and the consumer is not."""

    REQUEST = TxnOffsetCommitRequest
    RESPONSE = TxnOffsetCommitResponse

    def _generation(self, message: Any) -> int:  # noqa: ANN401
        return int(message.generation_id)

    def _heard(self, sent: _Sent, codes: list[int]) -> None:
        """Nothing: the consumer learns of it by its next heartbeat."""


class FetchHandler(FrameHandler):
    """The first Fetch of partitions that a member was given: it comes by another connection than the group's."""

    REQUEST = FetchRequest
    RESPONSE = FetchResponse

    def __init__(self, shared: GatewayGroups) -> None:
        """A connection's first."""
        self._shared = shared

    async def request(self, message: Any, client_id: str, ask: Ask) -> FrameResult:  # noqa: ANN401, ARG002
        """Members are told apart by client id and partitions; newer versions name topics by their ids only."""
        asked = {(topic.topic or None, each.partition) for topic in message.topics for each in topic.partitions}
        for presence in self._shared.awaiting:
            if presence.client_id == client_id:
                presence.fetching(asked)
        self._shared.tidy()
        return PASS
