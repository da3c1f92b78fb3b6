"""Members whose coordinator assigns (KIP-848), as their heartbeats show them. Nothing of them is changed."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafka.protocol.metadata import MetadataRequest

from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.groups.assignment_recovery import DESCRIBE_SECONDS
from rebalance_agent.gateway.groups.frame_handler import NO_ERROR, PASS, FrameHandler, FrameResult, lose
from rebalance_agent.gateway.groups.gateway_groups import GatewayGroups
from rebalance_agent.gateway.groups.member_entries import MemberEntry
from rebalance_agent.gateway.transport.kafka_messages import Ask, OpenedFrame
from rebalance_agent.gateway.transport.request_head import RequestHead
from rebalance_agent.groupprotocol.consumer_group_heartbeat import (
    HEARTBEAT_KEY,
    HEARTBEAT_VERSIONS,
    decode_heartbeat,
    decode_heartbeat_answer,
)
from rebalance_agent.groupprotocol.wire.primitives import uuid_text
from rebalance_agent.model.partitions import TopicPartitions

__all__ = ["NAMES_MAX", "ConsumerHeartbeatHandler"]

NAMES_MAX = 10_000
"""Topics whose ids are remembered: more than a pod subscribes to."""

METADATA_VERSION = 12
"""The first version that takes and tells ids; brokers with KIP-848 have it."""

JOINING, LEAVING_FOR_A_WHILE = 0, -2


@dataclass(frozen=True, slots=True)
class _Sent:
    group: str
    member_id: str
    instance_id: str | None
    epoch: int
    seat: MemberEntry


class ConsumerHeartbeatHandler(FrameHandler):
    """Epochs, what members are told to have, and when they say that they have given up and taken in."""

    API_KEY = HEARTBEAT_KEY
    VERSION_MAX = HEARTBEAT_VERSIONS[-1]

    def __init__(self, shared: GatewayGroups) -> None:
        """A connection's first."""
        self._shared = shared

    def open_request(self, head: RequestHead, frame: bytes) -> OpenedFrame:
        """By a table of ours: kafka-python has no class for it."""
        return OpenedFrame(b"", decode_heartbeat(head.api_version, frame), head.api_version)

    def open_response(self, head: RequestHead, frame: bytes) -> OpenedFrame:
        """See `open_request`."""
        return OpenedFrame(b"", decode_heartbeat_answer(head.api_version, frame), head.api_version)

    async def request(self, message: Any, client_id: str, ask: Ask) -> FrameResult:  # noqa: ANN401
        """Note what the member has given up and taken in."""
        group, member_id, instance_id = message["group_id"], message["member_id"], message["instance_id"]
        epoch, seats = message["member_epoch"], self._shared.seats
        seat = seats.find(group, member_id, instance_id)
        if epoch < JOINING:
            if seat is None:
                return PASS
            # A static member keeps its place until its session ends.
            seat.presence.leaving("for a while" if epoch == LEAVING_FOR_A_WHILE else None)
            return FrameResult(memory=_Sent(group, member_id, instance_id, epoch, seat))
        if seat is None:
            seat = MemberEntry(self._shared.presence(group, client_id, instance_id), blind=epoch > JOINING)
        presence = seat.presence
        presence.beat(self._shared.alive)
        if epoch == JOINING:
            presence.joining({})
            seat.unnamed, seat.blind = None, False  # whatever it was before is over
        await self._learn(ask, message["subscribed_topic_names"] or (), seat)
        if message["topic_partitions"] is not None:
            self._hold(seat, _by_id(message["topic_partitions"]))
        return FrameResult(memory=_Sent(group, member_id, instance_id, epoch, seat))

    def response(self, message: Any, memory: _Sent) -> bool:  # noqa: ANN401
        """Note the epoch, and what the member is to have."""
        seat, presence = memory.seat, memory.seat.presence
        if message["error_code"] != NO_ERROR:
            epoch = memory.epoch if memory.epoch >= JOINING else presence.generation
            lose(presence, message["error_code"], "ConsumerGroupHeartbeat", epoch)
            presence.kept()
            return False
        if memory.epoch < JOINING:
            self.unanswered(memory)
            return False
        presence.member_id = message["member_id"] or presence.member_id
        names = memory.group, presence.member_id, memory.instance_id
        # Of a static member another process may have taken the seat, while this one's last heartbeat was under way.
        if memory.epoch == JOINING or self._shared.seats.vacant(*names):
            self._shared.seats.put(*names, seat)
        if message["assignment"] is None and seat.unnamed is None:
            presence.advanced(message["member_epoch"])
            return False
        presence.generation = message["member_epoch"]
        if message["assignment"] is not None:
            presence.promised()
            seat.unnamed = _by_id(message["assignment"]["topic_partitions"])
            self._name(seat)
        return False

    def unanswered(self, memory: _Sent) -> None:
        """Who asked to leave has left: clients close the connection without waiting for long."""
        if memory.epoch < JOINING:
            memory.seat.presence.left()
            self._shared.seats.forget(memory.group, memory.member_id, memory.instance_id)

    async def _learn(self, ask: Ask, names: Iterable[str], seat: MemberEntry) -> None:
        """Ask for the ids of topics that are subscribed to, and for the names of those that were assigned."""
        known = self._shared.topic_names
        new = sorted(set(names) - set(known.values())) if names else []
        ids = sorted((seat.unnamed or {}).keys() - known.keys())
        if new or ids:
            kind = MetadataRequest.MetadataRequestTopic
            wanted = [kind(version=METADATA_VERSION, name=name, topic_id=None) for name in new]
            wanted += [kind(version=METADATA_VERSION, name=None, topic_id=_uuid(each)) for each in ids]
            request = MetadataRequest(version=METADATA_VERSION, topics=wanted, allow_auto_topic_creation=False)
            with contextlib.suppress(TimeoutError, ConnectionError, DecodeError):
                response = await asyncio.wait_for(ask(request), DESCRIBE_SECONDS)
                known.update(_named(response))
        while len(known) > NAMES_MAX:
            del known[next(iter(known))]
        self._name(seat)

    def _hold(self, seat: MemberEntry, partitions: Mapping[str, Sequence[int]]) -> None:
        """The member says what it has; of one that was there before anybody here saw it, that is how it is learnt."""
        if not seat.blind:
            seat.presence.holds(self._by_name(partitions))
        elif partitions.keys() <= self._shared.topic_names.keys():
            seat.presence.owned, seat.blind = self._by_name(partitions), False

    def _name(self, seat: MemberEntry) -> None:
        """Tell what was assigned, as soon as its topics' names are known."""
        target = seat.unnamed
        if target is None or not target.keys() <= self._shared.topic_names.keys():
            return
        seat.unnamed = None
        partitions = self._by_name(target)
        if seat.blind:
            # Nobody knows what it had before.
            seat.presence.owned, seat.blind = partitions, False
            return
        seat.presence.given(partitions)
        self._shared.await_fetch(seat.presence)

    def _by_name(self, partitions: Mapping[str, Sequence[int]]) -> TopicPartitions:
        """Those of topics whose names are known."""
        known = self._shared.topic_names
        named = sorted((known[each], each) for each in partitions.keys() & known.keys())
        return {name: tuple(sorted(set(partitions[each]))) for name, each in named if partitions[each]}


def _by_id(partitions: Iterable[Mapping[str, Any]]) -> Mapping[str, Sequence[int]]:
    return {each["topic_id"]: each["partitions"] for each in partitions}


def _uuid(text: str) -> uuid.UUID:
    return uuid.UUID(bytes=base64.urlsafe_b64decode(f"{text}=="))


def _named(response: Any) -> Mapping[str, str]:  # noqa: ANN401
    return {
        uuid_text(topic.topic_id.bytes): topic.name
        for topic in response.topics or ()
        if topic.name and topic.topic_id is not None and not topic.error_code
    }
