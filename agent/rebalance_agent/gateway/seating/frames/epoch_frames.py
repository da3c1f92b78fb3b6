"""Handles ConsumerGroupHeartbeat on one connection, for KIP-848 groups with a rule for seats.

The gateway adds an instance id to a member's first heartbeat. If the seat is kept, the gateway changes a leave (epoch
-1) to a temporary leave (-2). The coordinator gives a seat to one member at a time and refuses others: this serves as
compare-and-set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rebalance_agent.gateway.seating.connections.client_connection import (
    ClientConnection,
    OwnAnswer,
    SeatNote,
)
from rebalance_agent.gateway.seating.connections.epoch_requests import leave_for_a_while
from rebalance_agent.gateway.seating.frames.connection_groups import ConnectionGroups
from rebalance_agent.gateway.seating.frames.newcomer_admission import NewcomerAdmission
from rebalance_agent.gateway.seating.newcomers import EpochSubscription, epoch_newcomer
from rebalance_agent.gateway.seating.seated_group import GrantedSeat, JoinResult, SeatedGroup
from rebalance_agent.gateway.seats.rules.eligibility import Newcomer
from rebalance_agent.gateway.seats.rules.join_profile import JoinProfile
from rebalance_agent.gateway.seats.seat import EpochBeat
from rebalance_agent.gateway.transport.kafka_messages import OpenedFrame
from rebalance_agent.gateway.transport.request_head import RequestHead, client_id
from rebalance_agent.groupprotocol.requests.consumer_group_heartbeat import (
    CONSUMER_HEARTBEAT,
    JOIN_EPOCH,
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
)
from rebalance_agent.groupprotocol.wire.error_codes import FENCED_INSTANCE_ID, NO_ERROR
from rebalance_agent.model.group import GroupType

if TYPE_CHECKING:
    from rebalance_agent.gateway.seating.seating_groups import SeatingGroups

__all__ = ["EpochFrames"]


class EpochFrames:
    """Handles the heartbeats of one connection. A method that fails leaves the client's own frame unchanged.

    Heartbeats of clients with their own instance id are not changed.
    """

    def __init__(
        self,
        groups: SeatingGroups,
        members: ConnectionGroups,
        connection: ClientConnection,
        admission: NewcomerAdmission,
    ) -> None:
        """Handle the heartbeats of ``connection``; its newcomers wait in ``admission``."""
        self._groups, self._members, self._connection, self._admission = groups, members, connection, admission
        self._subscriptions: dict[str, EpochSubscription] = {}

    async def request(self, head: RequestHead, opened: OpenedFrame, size: int) -> OwnAnswer | SeatNote | None:
        """Handle a heartbeat; see `SeatFrames.request`."""
        message = opened.message
        group = self._members.of(message["group_id"], GroupType.CONSUMER)
        if group is None or message["instance_id"] is not None:
            return None
        member_id, epoch = message["member_id"], message["member_epoch"]
        if epoch == JOIN_EPOCH:
            return await self._join(group, head, opened, size)
        if epoch == LEAVE_EPOCH:
            return await self._leave(group, head, opened)
        if epoch < JOIN_EPOCH or not member_id:
            return None
        name, profile = message["group_id"], self._changed_profile(message)
        return SeatNote(lambda answer: self._beaten(group, name, member_id, profile, answer))

    def _changed_profile(self, message: Mapping[str, Any]) -> JoinProfile | None:
        """Return the member's new profile if this heartbeat changes the subscription, otherwise None."""
        if message["subscribed_topic_names"] is None and message.get("subscribed_topic_regex") is None:
            return None
        return self._subscribed(message["group_id"], message).profile

    def _subscribed(self, group: str, message: Mapping[str, Any]) -> EpochSubscription:
        """Return the client's subscription in a group, in which a client has one member."""
        known = EpochSubscription() if message["member_epoch"] == JOIN_EPOCH else self._subscriptions.get(group)
        subscription = self._subscriptions[group] = (known or EpochSubscription()).changed(message)
        return subscription

    async def _join(
        self, group: SeatedGroup, head: RequestHead, opened: OpenedFrame, size: int
    ) -> OwnAnswer | SeatNote:
        message = opened.message
        name, member_id = message["group_id"], message["member_id"]
        who = epoch_newcomer(
            self._subscribed(name, message),
            size,
            self._groups.next_join(),
            head.api_version,
            self._groups.process(self._connection),
            former=self._groups.clients.former(self._connection),
            member_id="" if group.seat_of(member_id) is None else member_id,
            was_member=self._members.was_member(name) or (name, member_id) in self._groups.impatient,
            client_id=client_id(opened.header),
        )
        own = SeatNote(lambda answer: self._joined(group, who, name, answer))
        try:
            seat = await self._admission.seat(group, name, who, size)
        except ConnectionError:
            self._groups.impatient.add(name, member_id)
            raise
        if seat is None:
            return own
        try:
            answer = await self._seated(head, opened, seat)
            fields = CONSUMER_HEARTBEAT.decode_answer(head.api_version, answer)
        except BaseException:
            group.withdraw(who)
            raise
        result = _result(fields, member_id)
        if not group.seated(who, result, self._connection):
            return own
        self._members.note_answer(name, result.member_id, result.error)
        if result.error == NO_ERROR:
            group.sync_answered(result.member_id, NO_ERROR, _partitions(fields) or 0)
        return OwnAnswer(answer)

    async def _seated(self, head: RequestHead, opened: OpenedFrame, seat: GrantedSeat) -> bytes:
        """Send the first heartbeat with an instance id; return its answer.

        First the gateway makes the seat's last member leave temporarily, on this connection: a killed member has not
        left, and the leave of a member on another connection may arrive later. If the coordinator has removed the last
        member, the newcomer gets a new seat. If another consumer has taken the seat, the coordinator refuses both
        requests.
        """
        name, instance_id = opened.message["group_id"], seat.instance_id
        if seat.last_member:
            await leave_for_a_while(self._connection, name, seat.last_member, instance_id)
        return await self._connection.exchange(_changed(head, opened, instance_id=instance_id))

    def _joined(self, group: SeatedGroup, who: Newcomer, name: str, answer: Mapping[str, Any]) -> int:
        result = _result(answer, who.member_id)
        self._members.note_answer(name, result.member_id, result.error)
        shown = group.join_answered(who, result, self._connection)
        if result.error == NO_ERROR:
            group.sync_answered(result.member_id, NO_ERROR, _partitions(answer) or 0)
        return shown

    def _beaten(
        self, group: SeatedGroup, name: str, member_id: str, profile: JoinProfile | None, answer: Mapping[str, Any]
    ) -> int:
        error, partitions = answer["error_code"], _partitions(answer)
        self._members.note_answer(name, member_id, error)
        group.answered(member_id, error, self._connection, self._groups.process(self._connection))
        shown = group.heartbeat_answered(member_id, error, EpochBeat(answer["member_epoch"], profile))
        if error == NO_ERROR and partitions is not None:
            group.sync_answered(member_id, error, partitions)
        return shown

    async def _leave(self, group: SeatedGroup, head: RequestHead, opened: OpenedFrame) -> OwnAnswer | None:
        """Leave temporarily if the seat is kept; return None if the client's own frame is to be sent."""
        message = opened.message
        name, member_id = message["group_id"], message["member_id"]
        instance_id = group.seat_of(member_id)
        if instance_id is None or not self._members.is_member(name, member_id):
            return None
        if not await group.leaves(member_id, None, self._connection):
            return None
        changed = _changed(head, opened, instance_id=instance_id, member_epoch=STATIC_LEAVE_EPOCH)
        fields = CONSUMER_HEARTBEAT.decode_answer(head.api_version, await self._connection.exchange(changed))
        error = fields["error_code"]
        if error not in (NO_ERROR, FENCED_INSTANCE_ID):  # FENCED_INSTANCE_ID: a successor already has the seat
            group.leave_refused(member_id, error)
            return None
        shown = {**fields, "error_code": NO_ERROR, "error_message": None, "member_epoch": LEAVE_EPOCH}
        return OwnAnswer(CONSUMER_HEARTBEAT.encode_answer(head.api_version, head.correlation_id, shown))


def _changed(head: RequestHead, opened: OpenedFrame, **fields: Any) -> bytes:  # noqa: ANN401 - of several types
    """Return the client's heartbeat with the values of ``fields`` instead of its own."""
    changed = {**opened.message, **fields}
    return CONSUMER_HEARTBEAT.encode_request(head.api_version, head.correlation_id, client_id(opened.header), changed)


def _result(answer: Mapping[str, Any], member_id: str) -> JoinResult:
    """Return the fields that seats need. ``member_id``: the client's own id, for answers without an id."""
    given = answer["member_id"] or member_id
    return JoinResult(error=answer["error_code"], member_id=given, generation=answer["member_epoch"])


def _partitions(answer: Mapping[str, Any]) -> int | None:
    """Return the number of partitions that an answer assigns; None if it does not change the assignment."""
    assignment = answer["assignment"]
    return None if assignment is None else sum(len(one["partitions"]) for one in assignment["topic_partitions"])
