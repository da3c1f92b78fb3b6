"""Handlers that read Heartbeat, LeaveGroup, commits and Fetch, and never change them."""

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
from rebalance_agent.gateway.groups.client_membership import FETCH_SECONDS_MIN, ClientMembership
from rebalance_agent.gateway.groups.frame_handler import (
    LOST,
    PASS,
    FrameHandler,
    FrameResult,
    note_loss,
)
from rebalance_agent.gateway.groups.member_entries import MemberEntry
from rebalance_agent.gateway.transport.kafka_messages import Ask, OpenedFrame
from rebalance_agent.gateway.transport.request_head import RequestHead, client_id_end
from rebalance_agent.groupprotocol.requests.txn_offset_commit import (
    TOPIC_IDS_VERSION,
    decode_txn_commit,
    decode_txn_commit_answer,
)
from rebalance_agent.groupprotocol.wire.error_codes import NO_ERROR, REBALANCE_IN_PROGRESS, STALE_MEMBER_EPOCH

__all__ = ["FetchHandler", "HeartbeatHandler", "LeaveGroupHandler", "OffsetCommitHandler", "TxnOffsetCommitHandler"]

_OF_MEMBERS = (NO_ERROR, REBALANCE_IN_PROGRESS)
"""Error codes of heartbeats that only members get. Any client may send heartbeats with invented ids."""


@dataclass(frozen=True, slots=True)
class _Sent:
    """The membership of a request: before the response, another process may take over the static member's entry."""

    membership: ClientMembership
    generation: int


@dataclass(frozen=True, slots=True)
class _Beat:
    """A heartbeat. ``newcomer``: the entry of a member seen for the first time, stored once the broker accepts it."""

    group: str
    member_id: str
    instance_id: str | None
    membership: ClientMembership
    generation: int
    newcomer: MemberEntry | None


@dataclass(frozen=True, slots=True)
class _Leaving:
    membership: ClientMembership
    group: str
    member_id: str
    instance_id: str | None


class HeartbeatHandler(FrameHandler):
    """Reads the responses to heartbeats: they show that the group rebalances, or that the member was removed."""

    REQUEST = HeartbeatRequest
    RESPONSE = HeartbeatResponse

    async def request(self, message: Any, client_id: str, ask: Ask) -> FrameResult:  # noqa: ANN401 - kafka-python is untyped
        """Record that the member is alive; recover the partitions of an unknown member."""
        names = message.group_id, message.member_id, message.group_instance_id
        entry = self._shared.entries.find(*names)
        vacant, newcomer = self._shared.entries.vacant(*names), None
        if vacant and message.generation_id >= 0 and self._shared.rules.of(message.group_id):
            entry = newcomer = await self._recovered(message, client_id, ask)
        if entry is None:
            return PASS
        if newcomer is None:
            entry.membership.settle_late(FETCH_SECONDS_MIN)
            entry.membership.beat(self._shared.alive)
        return FrameResult(memory=_Beat(*names, entry.membership, message.generation_id, newcomer))

    def member_of(self, message: Any) -> tuple[str, float] | None:  # noqa: ANN401
        """Return a known consumer's group. A consumer that reconnects may not send a JoinGroup for a long time."""
        entry = self._shared.entries.find(message.group_id, message.member_id, message.group_instance_id)
        return (message.group_id, 0.0) if entry else None

    def response(self, message: Any, memory: _Beat) -> bool:  # noqa: ANN401
        """Record a rebalance or the loss of the membership."""
        names = memory.group, memory.member_id, memory.instance_id
        if memory.newcomer and message.error_code in _OF_MEMBERS and self._shared.entries.vacant(*names):
            self._shared.entries.put(*names, memory.newcomer)
        if message.error_code == REBALANCE_IN_PROGRESS:
            memory.membership.record_rebalance()
        note_loss(memory.membership, message.error_code, "Heartbeat", memory.generation)
        return False

    async def _recovered(self, message: Any, client_id: str, ask: Ask) -> MemberEntry:  # noqa: ANN401
        """Return the entry of a member whose partitions the coordinator has, if it is a member."""
        group, member_id, instance_id = message.group_id, message.member_id, message.group_instance_id
        entry = MemberEntry(self.new_membership(group, client_id, instance_id))
        entry.membership.member_id = member_id
        with contextlib.suppress(TimeoutError, ConnectionError, DecodeError):
            owned, entry.foreign = await asyncio.wait_for(recover(ask, group, member_id), DESCRIBE_SECONDS)
            if owned is not None:
                entry.membership.generation, entry.membership.owned = message.generation_id, owned
        return entry


class LeaveGroupHandler(FrameHandler):
    """Reads which members leave on purpose, and why (KIP-800)."""

    REQUEST = LeaveGroupRequest
    RESPONSE = LeaveGroupResponse

    async def request(self, message: Any, client_id: str, ask: Ask) -> FrameResult:  # noqa: ANN401, ARG002
        """Record which members ask to leave, and when."""
        members = [(member.member_id, member.group_instance_id, member.reason) for member in message.members or ()]
        leaving = []
        for member_id, instance_id, reason in members or [(message.member_id, None, None)]:
            names = message.group_id, member_id or "", instance_id
            if entry := self._shared.entries.find(*names):
                entry.membership.record_leave_request(reason)
                leaving.append(_Leaving(entry.membership, *names))
        return FrameResult(memory=tuple(leaving)) if leaving else PASS

    def response(self, message: Any, memory: tuple[_Leaving, ...]) -> bool:  # noqa: ANN401
        """Report members that have left. Members unknown to the coordinator were lost earlier; refused ones stay."""
        codes = {(member.member_id, member.group_instance_id): member.error_code for member in message.members or ()}
        for leaving in memory:
            code = message.error_code or codes.get((leaving.member_id, leaving.instance_id), NO_ERROR)
            if code == NO_ERROR:
                self._left(leaving)
            elif code in LOST:
                leaving.membership.record_loss(f"{LOST[code]} in the response to LeaveGroup")
            else:
                leaving.membership.record_leave_refusal()
        return False

    def unanswered(self, memory: tuple[_Leaving, ...]) -> None:
        """Keep the members: the coordinator may have refused the request, which any client can send with their ids."""
        for leaving in memory:
            leaving.membership.record_leave_refusal()

    def awaited(self, memory: tuple[_Leaving, ...]) -> bool:  # noqa: ARG002
        """Return True: clients close the connection without a long wait for the response."""
        return True

    def _left(self, leaving: _Leaving) -> None:
        leaving.membership.record_leave()
        self._shared.entries.forget(leaving.group, leaving.member_id, leaving.instance_id)


class OffsetCommitHandler(FrameHandler):
    """Reads which commits the coordinator refused because of a rebalance."""

    REQUEST = OffsetCommitRequest
    RESPONSE = OffsetCommitResponse

    async def request(self, message: Any, client_id: str, ask: Ask) -> FrameResult:  # noqa: ANN401, ARG002
        """Record the member of the commit."""
        entry = self._shared.entries.find(message.group_id, message.member_id, message.group_instance_id)
        return PASS if entry is None else FrameResult(memory=_Sent(entry.membership, self._generation(message)))

    def response(self, message: Any, memory: _Sent) -> bool:  # noqa: ANN401
        """Count the partitions whose commits were refused because of a rebalance."""
        codes = [partition.error_code for topic in message.topics for partition in topic.partitions]
        refused = sum(code in LOST or code in (REBALANCE_IN_PROGRESS, STALE_MEMBER_EPOCH) for code in codes)
        if refused:
            memory.membership.events.commit_rejected(refused)
            self._note_errors(memory, codes)
        return False

    def _generation(self, message: Any) -> int:  # noqa: ANN401
        return int(message.generation_id_or_member_epoch)

    def _note_errors(self, sent: _Sent, codes: list[int]) -> None:
        """Handle the errors in the same way as the consumer."""
        if REBALANCE_IN_PROGRESS in codes:
            sent.membership.record_rebalance()
        for code in LOST.keys() & codes:
            note_loss(sent.membership, code, "OffsetCommit", sent.generation)


class TxnOffsetCommitHandler(OffsetCommitHandler):
    """Handles commits in a producer's transaction. The producer, not the consumer, gets the errors of such commits."""

    REQUEST = TxnOffsetCommitRequest
    RESPONSE = TxnOffsetCommitResponse
    VERSION_MAX = TOPIC_IDS_VERSION

    def open_request(self, head: RequestHead, frame: bytes) -> OpenedFrame:
        """Read the version with topic ids by our own schema. This request's header ends with the client id."""
        if head.api_version < TOPIC_IDS_VERSION:
            return super().open_request(head, frame)
        return OpenedFrame(frame[: client_id_end(frame)], decode_txn_commit(frame), head.api_version)

    def open_response(self, head: RequestHead, frame: bytes) -> OpenedFrame:
        """See `open_request`."""
        if head.api_version < TOPIC_IDS_VERSION:
            return super().open_response(head, frame)
        return OpenedFrame(b"", decode_txn_commit_answer(frame), head.api_version)

    def _generation(self, message: Any) -> int:  # noqa: ANN401
        return int(message.generation_id)

    def _note_errors(self, sent: _Sent, codes: list[int]) -> None:
        """Do nothing: the consumer gets the error with its next heartbeat."""


class FetchHandler(FrameHandler):
    """Reads the first Fetch from newly assigned partitions. A Fetch uses a different connection from group requests."""

    REQUEST = FetchRequest
    RESPONSE = FetchResponse

    async def request(self, message: Any, client_id: str, ask: Ask) -> FrameResult:  # noqa: ANN401, ARG002
        """Match the Fetch with members by client id and partitions; newer versions of Fetch contain only topic ids."""
        asked = {(topic.topic or None, part.partition) for topic in message.topics for part in topic.partitions}
        self._shared.fetched(client_id, asked)
        return PASS
