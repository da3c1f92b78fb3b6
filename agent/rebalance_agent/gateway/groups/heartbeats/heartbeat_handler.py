"""The base class for handlers of heartbeats with a member epoch."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from kafka.protocol.metadata import MetadataRequest

from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.groups.assignment_recovery import DESCRIBE_SECONDS
from rebalance_agent.gateway.groups.client_membership import ClientMembership
from rebalance_agent.gateway.groups.frame_handler import PASS, FrameHandler, FrameResult, note_loss
from rebalance_agent.gateway.groups.member_entries import MemberEntry
from rebalance_agent.gateway.transport.kafka_messages import Ask, OpenedFrame
from rebalance_agent.gateway.transport.request_head import RequestHead, client_id_end
from rebalance_agent.groupprotocol.requests.consumer_group_heartbeat import JOIN_EPOCH, STATIC_LEAVE_EPOCH
from rebalance_agent.groupprotocol.requests.flexible_api import FlexibleApi
from rebalance_agent.groupprotocol.wire.error_codes import NO_ERROR
from rebalance_agent.model.partitions import TopicPartitions

__all__ = ["NAMES_MAX", "EpochHeartbeatHandler", "Keyed", "topics_described"]

NAMES_MAX = 10_000
"""Maximum number of topics with a cached name or partition count: more than the topics of a pod's subscriptions."""

METADATA_VERSION = 12
"""The first Metadata version with topic ids in requests and responses; brokers with KIP-848 have it."""

Keyed = Mapping[str, Sequence[int]]
"""Partitions as frames name them: by topic id, or by subtopology."""


@dataclass(frozen=True, slots=True)
class _Sent:
    group: str
    member_id: str
    instance_id: str | None
    epoch: int
    entry: MemberEntry
    detail: Any


class EpochHeartbeatHandler(FrameHandler):
    """Tracks members' epochs and assignments, and when members report that they gave up or took over partitions.

    Subclasses find the topics of partitions. ``API``: the request, which kafka-python has no class for.
    """

    API: ClassVar[FlexibleApi]

    def __init_subclass__(cls) -> None:
        """Take the API key and the versions from `API`."""
        cls.API_KEY = cls.API.key
        cls.VERSION_MIN, cls.VERSION_MAX = cls.API.versions[0], cls.API.versions[-1]

    def open_request(self, head: RequestHead, frame: bytes) -> OpenedFrame:
        """Read the request with our own schema. Its header ends with the client id."""
        header = frame[: client_id_end(frame)]
        return OpenedFrame(header, self.API.decode_request(head.api_version, frame), head.api_version)

    def open_response(self, head: RequestHead, frame: bytes) -> OpenedFrame:
        """See `open_request`."""
        return OpenedFrame(b"", self.API.decode_answer(head.api_version, frame), head.api_version)

    def held(self, group: str, message: Any) -> Keyed | None:  # noqa: ANN401 - a decoded request
        """Return the partitions that a member of ``group`` reports in a request; None if they have not changed."""
        raise NotImplementedError

    def target(self, group: str, message: Any) -> Keyed | None:  # noqa: ANN401 - a decoded response
        """Return the assignment in a response to a member of ``group``; None if it has not changed."""
        raise NotImplementedError

    async def learn(self, ask: Ask, message: Any, detail: Any, target: Keyed) -> None:  # noqa: ANN401
        """Before a request is sent: read what `topics` needs for its `detail`, and for the pending ``target``."""
        raise NotImplementedError

    def knows(self, group: str, partitions: Keyed) -> bool:
        """Whether the topics of all these partitions are known."""
        raise NotImplementedError

    def certain(self, group: str, partitions: Keyed) -> bool:
        """Whether `topics` is right without another `learn`; otherwise a new target waits for the next request."""
        return self.knows(group, partitions)

    def topics(self, group: str, partitions: Keyed) -> TopicPartitions:
        """Return partitions by topic name, for those whose topics are known."""
        raise NotImplementedError

    def assign(self, membership: ClientMembership, partitions: TopicPartitions) -> None:
        """Record the assignment of a member, whose topics are known now."""
        membership.record_assigned(partitions)

    def detail(self, message: Any) -> Any:  # noqa: ANN401, ARG002
        """Return what `accepted` needs of a request."""
        return None

    def accepted(self, group: str, detail: Any) -> None:  # noqa: ANN401
        """Process the `detail` of a request that the coordinator accepted."""

    async def request(self, message: Any, client_id: str, ask: Ask) -> FrameResult:  # noqa: ANN401
        """Record the partitions that the member reports."""
        group, member_id, instance_id = message["group_id"], message["member_id"], message.get("instance_id")
        epoch, entries = message["member_epoch"], self._shared.entries
        entry = entries.find(group, member_id, instance_id)
        if entry is not None and entry.heartbeats not in ("", self.API.name):
            entry = None  # a group of the other type, which the coordinator no longer has or never had
        if epoch < JOIN_EPOCH:
            if entry is None:
                return PASS
            # A static member stays a member until its session ends.
            entry.membership.record_leave_request("for a while" if epoch == STATIC_LEAVE_EPOCH else None)
            return FrameResult(memory=_Sent(group, member_id, instance_id, epoch, entry, None))
        if entry is None:
            entry = MemberEntry(self.new_membership(group, client_id, instance_id), unseen_before=epoch > JOIN_EPOCH)
        membership = entry.membership
        membership.beat(self._shared.alive)
        if epoch == JOIN_EPOCH:
            membership.record_join_request({})
            entry.pending_target, entry.unseen_before = None, False  # the member's former membership has ended
        detail = self.detail(message)
        await self.learn(ask, message, detail, entry.pending_target or {})
        self._name(group, entry)
        if (held := self.held(group, message)) is not None:
            self._hold(group, entry, held)
        return FrameResult(memory=_Sent(group, member_id, instance_id, epoch, entry, detail))

    def member_of(self, message: Any) -> tuple[str, float] | None:  # noqa: ANN401
        """Return the member's group and timeout; a heartbeat has a timeout only if the member joins or changes it."""
        return message["group_id"], max(0, message.get("rebalance_timeout_ms", 0)) / 1000

    def response(self, message: Any, memory: _Sent) -> bool:  # noqa: ANN401
        """Record the epoch and the assignment."""
        entry, membership = memory.entry, memory.entry.membership
        if message["error_code"] != NO_ERROR:
            epoch = memory.epoch if memory.epoch >= JOIN_EPOCH else membership.generation
            note_loss(membership, message["error_code"], self.API.name, epoch)
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
        entry.heartbeats = self.API.name
        self.accepted(memory.group, memory.detail)
        target = self.target(memory.group, message)
        if target is None and entry.pending_target is None:
            membership.record_epoch(message["member_epoch"])
            return False
        if target is not None:
            membership.expect_assignment()
        membership.generation = message["member_epoch"]
        if target is not None:
            entry.pending_target = target
            if self.certain(memory.group, target):
                self._name(memory.group, entry)
        return False

    def unanswered(self, memory: _Sent) -> None:
        """Keep a member that asked to leave: any client can send a request with its id."""
        if memory.epoch < JOIN_EPOCH:
            memory.entry.membership.record_leave_refusal()

    def awaited(self, memory: _Sent) -> bool:
        """Whether the member asks to leave: clients close the connection without a long wait for the response."""
        return memory.epoch < JOIN_EPOCH

    def _hold(self, group: str, entry: MemberEntry, partitions: Keyed) -> None:
        """Process the partitions that the member reports; for a member unseen before, only these are known."""
        if not entry.unseen_before:
            entry.membership.record_owned(self.topics(group, partitions))
        elif self.knows(group, partitions):
            entry.membership.owned, entry.unseen_before = self.topics(group, partitions), False

    def _name(self, group: str, entry: MemberEntry) -> None:
        """Report the pending target once its topics are known."""
        target = entry.pending_target
        if target is None or not self.knows(group, target):
            return
        entry.pending_target = None
        partitions = self.topics(group, target)
        if entry.unseen_before:
            # The partitions that the member owned before are unknown.
            entry.membership.owned, entry.unseen_before = partitions, False
            return
        self.assign(entry.membership, partitions)
        self._shared.await_fetch(entry.membership)


async def topics_described(ask: Ask, names: Iterable[str], ids: Iterable[uuid.UUID] = ()) -> tuple[Any, ...]:
    """Return the brokers' descriptions of topics; none if no topic is wanted, or no answer comes in time."""
    kind = MetadataRequest.MetadataRequestTopic
    topics = [kind(version=METADATA_VERSION, name=name, topic_id=None) for name in names]
    topics += [kind(version=METADATA_VERSION, name=None, topic_id=topic_id) for topic_id in ids]
    if topics:
        request = MetadataRequest(version=METADATA_VERSION, topics=topics, allow_auto_topic_creation=False)
        with contextlib.suppress(TimeoutError, ConnectionError, DecodeError):
            response = await asyncio.wait_for(ask(request), DESCRIBE_SECONDS)
            return tuple(response.topics or ())
    return ()
