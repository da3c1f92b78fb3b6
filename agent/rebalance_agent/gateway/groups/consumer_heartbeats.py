"""Reads ConsumerGroupHeartbeat (KIP-848), for groups whose coordinator computes assignments. Changes no frame."""

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
from rebalance_agent.gateway.groups.frame_handler import PASS, FrameHandler, FrameResult, note_loss
from rebalance_agent.gateway.groups.member_entries import MemberEntry
from rebalance_agent.gateway.transport.kafka_messages import Ask, OpenedFrame
from rebalance_agent.gateway.transport.request_head import RequestHead, client_id_end
from rebalance_agent.groupprotocol.requests.consumer_group_heartbeat import (
    HEARTBEAT_KEY,
    HEARTBEAT_VERSIONS,
    JOIN_EPOCH,
    STATIC_LEAVE_EPOCH,
    decode_heartbeat,
    decode_heartbeat_answer,
)
from rebalance_agent.groupprotocol.wire.error_codes import NO_ERROR
from rebalance_agent.groupprotocol.wire.primitives import uuid_text
from rebalance_agent.model.partitions import TopicPartitions

__all__ = ["NAMES_MAX", "ConsumerHeartbeatHandler"]

NAMES_MAX = 10_000
"""Maximum number of topic ids with a cached name: more than the topics of a pod's subscriptions."""

METADATA_VERSION = 12
"""The first Metadata version with topic ids in requests and responses; brokers with KIP-848 have it."""


@dataclass(frozen=True, slots=True)
class _Sent:
    group: str
    member_id: str
    instance_id: str | None
    epoch: int
    entry: MemberEntry


class ConsumerHeartbeatHandler(FrameHandler):
    """Tracks members' epochs and assignments, and when members report that they gave up or took over partitions."""

    API_KEY = HEARTBEAT_KEY
    VERSION_MAX = HEARTBEAT_VERSIONS[-1]

    def open_request(self, head: RequestHead, frame: bytes) -> OpenedFrame:
        """Read the request with our own schema, since kafka-python has no class for this API.

        The request's header ends with the client id.
        """
        header = frame[: client_id_end(frame)]
        return OpenedFrame(header, decode_heartbeat(head.api_version, frame), head.api_version)

    def open_response(self, head: RequestHead, frame: bytes) -> OpenedFrame:
        """See `open_request`."""
        return OpenedFrame(b"", decode_heartbeat_answer(head.api_version, frame), head.api_version)

    async def request(self, message: Any, client_id: str, ask: Ask) -> FrameResult:  # noqa: ANN401
        """Record the partitions that the member reports."""
        group, member_id, instance_id = message["group_id"], message["member_id"], message["instance_id"]
        epoch, entries = message["member_epoch"], self._shared.entries
        entry = entries.find(group, member_id, instance_id)
        if epoch < JOIN_EPOCH:
            if entry is None:
                return PASS
            # A static member stays a member until its session ends.
            entry.membership.record_leave_request("for a while" if epoch == STATIC_LEAVE_EPOCH else None)
            return FrameResult(memory=_Sent(group, member_id, instance_id, epoch, entry))
        if entry is None:
            entry = MemberEntry(self.new_membership(group, client_id, instance_id), unseen_before=epoch > JOIN_EPOCH)
        membership = entry.membership
        membership.beat(self._shared.alive)
        if epoch == JOIN_EPOCH:
            membership.record_join_request({})
            entry.pending_target, entry.unseen_before = None, False  # the member's former membership has ended
        await self._learn(ask, message["subscribed_topic_names"] or (), entry)
        if message["topic_partitions"] is not None:
            self._hold(entry, _by_id(message["topic_partitions"]))
        return FrameResult(memory=_Sent(group, member_id, instance_id, epoch, entry))

    def member_of(self, message: Any) -> tuple[str, float] | None:  # noqa: ANN401
        """Return the member's group and timeout; a heartbeat has a timeout only if the member joins or changes it."""
        return message["group_id"], max(0, message["rebalance_timeout_ms"]) / 1000

    def response(self, message: Any, memory: _Sent) -> bool:  # noqa: ANN401
        """Record the epoch and the assignment."""
        entry, membership = memory.entry, memory.entry.membership
        if message["error_code"] != NO_ERROR:
            epoch = memory.epoch if memory.epoch >= JOIN_EPOCH else membership.generation
            note_loss(membership, message["error_code"], "ConsumerGroupHeartbeat", epoch)
            membership.record_leave_refusal()
            return False
        if memory.epoch < JOIN_EPOCH:
            membership.record_leave()
            self._shared.entries.forget(memory.group, memory.member_id, memory.instance_id)
            return False
        membership.member_id = message["member_id"] or membership.member_id
        names = memory.group, membership.member_id, memory.instance_id
        # During this heartbeat, another process of the same static member may have taken over the entry.
        if memory.epoch == JOIN_EPOCH or self._shared.entries.vacant(*names):
            self._shared.entries.put(*names, entry)
        if message["assignment"] is None and entry.pending_target is None:
            membership.record_epoch(message["member_epoch"])
            return False
        membership.generation = message["member_epoch"]
        if message["assignment"] is not None:
            membership.expect_assignment()
            entry.pending_target = _by_id(message["assignment"]["topic_partitions"])
            self._name(entry)
        return False

    def unanswered(self, memory: _Sent) -> None:
        """Keep a member that asked to leave: any client can send a request with its id."""
        if memory.epoch < JOIN_EPOCH:
            memory.entry.membership.record_leave_refusal()

    def awaited(self, memory: _Sent) -> bool:
        """Whether the member asks to leave: clients close the connection without a long wait for the response."""
        return memory.epoch < JOIN_EPOCH

    async def _learn(self, ask: Ask, names: Iterable[str], entry: MemberEntry) -> None:
        """Request the ids of newly subscribed topics, and the names of assigned topic ids."""
        names_by_id = self._shared.topic_names
        new = sorted(set(names) - set(names_by_id.values())) if names else []
        ids = sorted((entry.pending_target or {}).keys() - names_by_id.keys())
        if new or ids:
            kind = MetadataRequest.MetadataRequestTopic
            topics = [kind(version=METADATA_VERSION, name=name, topic_id=None) for name in new]
            topics += [kind(version=METADATA_VERSION, name=None, topic_id=_uuid(topic_id)) for topic_id in ids]
            request = MetadataRequest(version=METADATA_VERSION, topics=topics, allow_auto_topic_creation=False)
            with contextlib.suppress(TimeoutError, ConnectionError, DecodeError):
                response = await asyncio.wait_for(ask(request), DESCRIBE_SECONDS)
                names_by_id.update(_named(response))
        while len(names_by_id) > NAMES_MAX:
            del names_by_id[next(iter(names_by_id))]
        self._name(entry)

    def _hold(self, entry: MemberEntry, partitions: Mapping[str, Sequence[int]]) -> None:
        """Process the partitions that the member reports; for a member unseen before, only these are known."""
        if not entry.unseen_before:
            entry.membership.record_owned(self._by_name(partitions))
        elif partitions.keys() <= self._shared.topic_names.keys():
            entry.membership.owned, entry.unseen_before = self._by_name(partitions), False

    def _name(self, entry: MemberEntry) -> None:
        """Report the pending target once its topics' names are known."""
        target = entry.pending_target
        if target is None or not target.keys() <= self._shared.topic_names.keys():
            return
        entry.pending_target = None
        partitions = self._by_name(target)
        if entry.unseen_before:
            # The partitions that the member owned before are unknown.
            entry.membership.owned, entry.unseen_before = partitions, False
            return
        entry.membership.record_assigned(partitions)
        self._shared.await_fetch(entry.membership)

    def _by_name(self, partitions: Mapping[str, Sequence[int]]) -> TopicPartitions:
        """Return partitions by topic name, for the topics whose names are known."""
        names_by_id = self._shared.topic_names
        named = sorted((names_by_id[topic_id], topic_id) for topic_id in partitions.keys() & names_by_id.keys())
        return {name: tuple(sorted(set(partitions[topic_id]))) for name, topic_id in named if partitions[topic_id]}


def _by_id(partitions: Iterable[Mapping[str, Any]]) -> Mapping[str, Sequence[int]]:
    return {topic["topic_id"]: topic["partitions"] for topic in partitions}


def _uuid(text: str) -> uuid.UUID:
    return uuid.UUID(bytes=base64.urlsafe_b64decode(f"{text}=="))


def _named(response: Any) -> Mapping[str, str]:  # noqa: ANN401
    return {
        uuid_text(topic.topic_id.bytes): topic.name
        for topic in response.topics or ()
        if topic.name and topic.topic_id is not None and not topic.error_code
    }
