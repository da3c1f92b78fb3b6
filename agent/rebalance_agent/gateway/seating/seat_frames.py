"""Handles the frames on one connection that belong to classic groups with a rule for seats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka.protocol.consumer.group import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    SyncGroupRequest,
)
from kafka.protocol.producer import TxnOffsetCommitRequest

from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.seating.connections.client_connection import (
    ClientConnection,
    Held,
    OwnAnswer,
    SeatNote,
)
from rebalance_agent.gateway.seating.frames.connection_groups import ConnectionGroups
from rebalance_agent.gateway.seating.frames.epoch_frames import EpochFrames
from rebalance_agent.gateway.seating.frames.newcomer_admission import NewcomerAdmission
from rebalance_agent.gateway.seating.newcomers import newcomer
from rebalance_agent.gateway.seating.seated_group import JoinResult, SeatedGroup
from rebalance_agent.gateway.seats.rules.eligibility import Newcomer
from rebalance_agent.gateway.transport.kafka_messages import OpenedFrame, open_frame
from rebalance_agent.gateway.transport.request_head import RequestHead, client_id
from rebalance_agent.groupprotocol.consumer_protocol import decode_assignment
from rebalance_agent.groupprotocol.requests.consumer_group_heartbeat import CONSUMER_HEARTBEAT
from rebalance_agent.groupprotocol.wire.error_codes import NO_ERROR
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.model.reported.member_software import ClientSoftware

if TYPE_CHECKING:
    from rebalance_agent.gateway.seating.seating_groups import SeatingGroups

__all__ = ["SeatFrames"]

_APIS = {
    kind.API_KEY
    for kind in (
        JoinGroupRequest,
        SyncGroupRequest,
        HeartbeatRequest,
        LeaveGroupRequest,
        OffsetCommitRequest,
        TxnOffsetCommitRequest,
    )
}


class SeatFrames:
    """Handles the frames of one connection. A method that fails leaves the client's own frame unchanged.

    A client with its own instance id gets no seat; only its JoinGroup is recorded.
    """

    def __init__(self, groups: SeatingGroups, connection: ClientConnection, held: Held) -> None:
        """Handle the frames of ``connection``; ``held`` is entered while a JoinGroup waits."""
        self._groups, self._connection = groups, connection
        self._software = ""
        self._members = ConnectionGroups(groups)
        self._admission = NewcomerAdmission(groups, self._members, connection, held)
        self._epochs = EpochFrames(groups, self._members, connection, self._admission)

    def greeted(self, name: str, software: ClientSoftware) -> None:
        """Store the client's id and library."""
        self._software = software.name
        self._groups.opened(self._connection, name)

    async def request(self, head: RequestHead, opened: OpenedFrame, size: int) -> OwnAnswer | SeatNote | None:
        """Handle a request. If the result is an answer, the request is not sent to the broker.

        ``size``: bytes of the received frame.

        Raises:
            ConnectionError: the client or the broker closed the connection.
        """
        if head.api_key == CONSUMER_HEARTBEAT.key:
            return await self._epochs.request(head, opened, size)
        if head.api_key not in _APIS:
            return None
        message = opened.message
        if head.api_key == TxnOffsetCommitRequest.API_KEY and _unfenced(message):
            self._groups.refuse_unfenced(message.group_id)
        group = self._members.of(message.group_id, GroupType.CLASSIC)
        if group is None:
            return None
        if head.api_key == JoinGroupRequest.API_KEY:
            return await self._join(group, head, opened, size)
        if head.api_key == LeaveGroupRequest.API_KEY:
            return await self._leave(group, head, opened)
        member_id = message.member_id or ""
        if message.group_instance_id is not None or not member_id:
            return None
        if head.api_key not in (SyncGroupRequest.API_KEY, HeartbeatRequest.API_KEY):
            return None  # a commit may come from a producer, whose connections prove nothing about the consumer
        return SeatNote(lambda response: self._accepted(group, head, message.group_id, member_id, response))

    @staticmethod
    def response(note: SeatNote, message: Any) -> bool:  # noqa: ANN401 - kafka-python is untyped
        """Handle the response to the request of ``note``; return whether the message was changed."""
        if isinstance(message, dict):
            note.answered(message)  # the answer to an unchanged heartbeat (KIP-848) stays unchanged
            return False
        before = message.error_code
        message.error_code = note.answered(message)
        return bool(message.error_code != before)

    async def client_ended(self) -> None:
        """Record that the client closed its connection; return when the broker's side is no longer needed."""
        await self._groups.linger(self._connection)

    def closed(self) -> None:
        """Record that the connection is closed on both sides."""
        self._groups.closed(self._connection)

    async def _join(
        self, group: SeatedGroup, head: RequestHead, opened: OpenedFrame, size: int
    ) -> OwnAnswer | SeatNote:
        message = opened.message
        who = newcomer(
            message,
            size,
            self._groups.next_join(),
            head.api_version,
            self._software,
            self._groups.process(self._connection),
            former=self._groups.clients.former(self._connection),
            was_member=self._members.was_member(message.group_id),
            client_id=client_id(opened.header),
        )
        own = SeatNote(lambda response: self._joined(group, who, message.group_id, response))
        seat = await self._admission.seat(group, message.group_id, who, size)
        if seat is None:
            return own
        try:
            response, answer = await self._seated(head, opened, seat.instance_id)
        except BaseException:
            group.withdraw(who)
            raise
        if not group.seated(who, _result(response), self._connection):
            return own
        self._members.note_answer(message.group_id, response.member_id, response.error_code)
        return OwnAnswer(answer)

    async def _seated(self, head: RequestHead, opened: OpenedFrame, instance_id: str) -> tuple[Any, bytes]:
        """Send the JoinGroup with an instance id; return the answer both decoded and as received.

        Afterwards ``opened`` contains the client's own message again.
        """
        opened.message.group_instance_id = instance_id
        try:
            frame = opened.frame()
        finally:
            opened.message.group_instance_id = None
        answer = await self._connection.exchange(frame)  # even if the client disconnects: it may have got the seat
        return open_frame(JoinGroupResponse, head, answer).message, answer

    def _joined(self, group: SeatedGroup, who: Newcomer, name: str, response: Any) -> int:  # noqa: ANN401
        self._members.note_answer(name, response.member_id, response.error_code)
        return group.join_answered(who, _result(response), self._connection)

    def _accepted(self, group: SeatedGroup, head: RequestHead, name: str, member_id: str, response: Any) -> int:  # noqa: ANN401
        """Handle the coordinator's answer to a member's SyncGroup or Heartbeat; return the error for the client."""
        self._members.note_answer(name, member_id, response.error_code)
        group.answered(member_id, response.error_code, self._connection, self._groups.process(self._connection))
        if head.api_key == SyncGroupRequest.API_KEY:
            return group.sync_answered(member_id, response.error_code, _partitions(response))
        return group.heartbeat_answered(member_id, response.error_code)

    async def _leave(self, group: SeatedGroup, head: RequestHead, opened: OpenedFrame) -> OwnAnswer | None:
        message = opened.message
        members = [(one.member_id, one.group_instance_id, one.reason) for one in message.members or ()]
        if not members:
            members = [(message.member_id, None, None)]
        ((member_id, instance_id, reason),) = members[:1]
        if len(members) != 1 or instance_id is not None or group.seat_of(member_id) is None:
            return None
        known = self._members.is_member(message.group_id, member_id)
        if not known and not await group.is_member(member_id, self._connection):
            return None  # only the coordinator decides whether this client may make the member leave
        if not await group.leaves(member_id, reason, self._connection):
            return None
        return OwnAnswer(_left(head, opened, member_id))


def _unfenced(commit: Any) -> bool:  # noqa: ANN401 - kafka-python is untyped
    """Whether a TxnOffsetCommit names no member: the coordinator then cannot refuse the commits of a former owner.

    Versions below 3 never name a member. Later versions do, unless the producer does not have the consumer's group
    metadata (measured on 4.3.0: the coordinator accepts such a commit).
    """
    return not commit.member_id and commit.generation_id < 0 and commit.group_instance_id is None


def _result(response: Any) -> JoinResult:  # noqa: ANN401 - kafka-python is untyped
    """Return the fields of a JoinGroup response that seats need."""
    return JoinResult(
        error=response.error_code,
        member_id=response.member_id,
        generation=response.generation_id,
        leads=response.leader == response.member_id,
    )


def _partitions(response: Any) -> int:  # noqa: ANN401 - kafka-python is untyped
    """Return the number of partitions in a SyncGroup response; 0 if its assignment cannot be read."""
    try:
        return count_partitions(decode_assignment(bytes(response.assignment or b"")).partitions)
    except DecodeError:
        return 0


def _left(head: RequestHead, opened: OpenedFrame, member_id: str) -> bytes:
    """Return a LeaveGroup response with error NONE for one member."""
    version = head.api_version
    fields: dict[str, Any] = {}
    if opened.message.members:
        kind = LeaveGroupResponse.MemberResponse
        fields["members"] = [kind(version=version, member_id=member_id, group_instance_id=None, error_code=NO_ERROR)]
    answer = LeaveGroupResponse(version=version, throttle_time_ms=0, error_code=NO_ERROR, **fields)
    answer.with_header(correlation_id=head.correlation_id)
    return bytes(answer.encode(header=True))
