"""Clients that send frames to a gateway with seats, in front of the model's coordinator."""

from __future__ import annotations

import asyncio
import itertools
from types import SimpleNamespace

from kafka.protocol.admin.groups import DescribeGroupsRequest, DescribeGroupsResponse
from kafka.protocol.consumer.group import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse, MetadataRequest, MetadataResponse

from rebalance_agent.clock import FakeClock
from rebalance_agent.gateway.groups import GroupInterceptors, parse_rules
from rebalance_agent.gateway.seat_rules import parse_seat_rules
from rebalance_agent.gateway.seating import SeatingGroups
from rebalance_agent.gateway.seating.connections.client_connection import OwnAnswer
from rebalance_agent.gateway.transport.kafka_messages import open_frame
from rebalance_agent.gateway.transport.request_head import read_head
from rebalance_agent.groupprotocol.consumer_protocol import encode_assignment, encode_subscription
from rebalance_agent.http.latched_readiness import LatchedReadiness
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription
from support.gateway.acts import RecordedActs
from support.gateway.groups import RESPONSES
from support.seats.coordinator import PARTITIONS, ModelCoordinator
from support.seats.helper_group import HelperGroup
from support.seats.lock_frames import answer, is_of_locks

GROUP, NOBODY = "orders", "no consumer has joined a group through this gateway yet"
STATES = {"empty": "Empty", "preparing": "PreparingRebalance", "completing": "CompletingRebalance", "stable": "Stable"}
SUBSCRIPTION = encode_subscription(ConsumerSubscription(3, ("t",)))


class FrameCoordinator:
    """Answers requests with a `ModelCoordinator`, and those for locks with a `HelperGroup`.

    ``errors``: JoinGroupRequest or HeartbeatRequest -> error code of the next answer (to a JoinGroup only if it has an
    instance id); ``lock_error``: that of all requests for locks.
    """

    def __init__(self, clock):
        self.helper, self.lock_frames, self.lock_error = HelperGroup(), [], None
        self.versions = {68: 1, 69: 1}
        self.model, self.clock, self.errors, self.came = ModelCoordinator(), clock, {}, []
        self.hidden = False  # described as a nonexistent group, like a group of KIP-848
        self.partitions = len(PARTITIONS)

    async def __call__(self, message):
        self.came.append(message)
        kinds = {
            JoinGroupRequest: self._join,
            SyncGroupRequest: self._sync,
            HeartbeatRequest: self._heartbeat,
            LeaveGroupRequest: self._leave,
            DescribeGroupsRequest: self._describe,
            MetadataRequest: self._metadata,
            ApiVersionsRequest: self._versions,
        }
        return await kinds[type(message)](message)

    def asked(self, kind):
        return [each for each in self.came if type(each) is kind]

    async def _join(self, request):
        version, replied = request.version, asyncio.get_running_loop().create_future()
        if (error := self.errors.pop(JoinGroupRequest, 0)) and request.group_instance_id is not None:
            return JoinGroupResponse(version=version, error_code=error, member_id="", leader="", members=[])
        profile = SimpleNamespace(assignors=[SimpleNamespace(name=each.name) for each in request.protocols])
        self.model.join(
            self.clock.monotonic(), request.member_id, request.group_instance_id, profile, 45.0, 0, replied.set_result
        )
        joined = await replied
        return JoinGroupResponse(
            version=version,
            error_code=joined.error,
            generation_id=joined.generation,
            protocol_name="range",
            leader=joined.leader,
            member_id=joined.member_id,
            members=[],
        )

    async def _sync(self, request):
        done = asyncio.get_running_loop().create_future()
        self.model.sync(
            self.clock.monotonic(), request.member_id, request.generation_id, lambda *given: done.set_result(given)
        )
        error, partitions = await done
        data = encode_assignment(ConsumerAssignment(1, {"t": tuple(sorted(partitions))}))
        return SyncGroupResponse(version=request.version, error_code=error, assignment=b"" if error else data)

    async def _heartbeat(self, request):
        error = self.errors.pop(HeartbeatRequest, None)
        if error is None:
            error = self.model.heartbeat(self.clock.monotonic(), request.member_id, request.generation_id)
        return HeartbeatResponse(version=request.version, error_code=error)

    async def _leave(self, request):
        version, members = request.version, request.members or ()
        one = members[0] if members else SimpleNamespace(member_id=request.member_id, group_instance_id=None)
        error = self.model.leave(self.clock.monotonic(), one.member_id, one.group_instance_id)
        if not members:
            return LeaveGroupResponse(version=version, error_code=error)
        kind = LeaveGroupResponse.MemberResponse
        given = {"member_id": one.member_id, "group_instance_id": one.group_instance_id, "error_code": error}
        return LeaveGroupResponse(version=version, error_code=0, members=[kind(version=version, **given)])

    async def _describe(self, request):
        version, group = request.version, DescribeGroupsResponse.DescribedGroup
        members = [
            group.DescribedGroupMember(
                version=version,
                member_id=each.member_id,
                group_instance_id=each.instance_id,
                member_metadata=SUBSCRIPTION,
                member_assignment=encode_assignment(ConsumerAssignment(1, {"t": tuple(sorted(each.partitions))})),
            )
            for each in self.model.members.values()
        ]
        facts = {"group_state": STATES[self.model.state], "protocol_type": "consumer", "members": members}
        if self.hidden:
            facts = {"group_state": "Dead", "protocol_type": "", "members": []}
        described = group(version=version, error_code=0, group_id=request.groups[0], protocol_data="range", **facts)
        return DescribeGroupsResponse(version=version, groups=[described])

    def locks(self, frame):
        self.lock_frames.append(frame)
        return answer(frame, self.helper, self.clock.monotonic(), self.lock_error)

    async def _versions(self, request):
        kind = ApiVersionsResponse.ApiVersion
        keys = [
            kind(version=0, api_key=key, min_version=0, max_version=newest) for key, newest in self.versions.items()
        ]
        return ApiVersionsResponse(version=request.version, error_code=0, api_keys=keys)

    async def _metadata(self, request):
        version, topic = request.version, MetadataResponse.MetadataResponseTopic
        part = topic.MetadataResponsePartition
        partitions = [
            part(version=version, partition_index=number, replica_nodes=[], isr_nodes=[])
            for number in range(self.partitions)
        ]
        topics = [
            topic(version=version, error_code=0, name=each.name, partitions=partitions) for each in request.topics
        ]
        return MetadataResponse(version=version, brokers=[], topics=topics)


class SeatGateway:
    """The group code of one gateway with rules for seats, and its coordinator; only `advance` moves the time.

    ``beside``: another gateway in front of the same coordinator, with the same time; ``options``: those of
    `SeatingGroups`.
    """

    def __init__(self, seats="orders=on", rules="", beside=None, **options):
        self.clock, self.acts = FakeClock() if beside is None else beside.clock, RecordedActs()
        self.coordinator = FrameCoordinator(self.clock) if beside is None else beside.coordinator
        self.beside = beside
        self.events = []
        options = {"emit": lambda event, _left_out: self.events.append(event), **options}
        self.seats = SeatingGroups(parse_seat_rules(seats), self.clock, self.acts, **options) if seats else None
        self.readiness = LatchedReadiness(self.clock, NOBODY)
        more = {"seats": self.seats, "readiness": self.readiness}
        self.groups = GroupInterceptors(parse_rules(rules), lambda _event: None, self.clock, **more)

    async def advance(self, seconds, step=0.25):
        """Advance the time, and execute due work."""
        for _ in range(round(seconds / step)):
            self.clock.advance(round(step * 1000))
            for one in (self, self.beside):
                if one is not None and one.seats is not None:
                    one.seats.step()
            await settle()


async def settle():
    """Run all tasks until each waits for an event."""
    for _ in range(30):
        await asyncio.sleep(0)


class SeatClient:
    """One consumer and its connection, which implements the `ClientConnection` of the gateway's code."""

    def __init__(self, gateway, client_id="app", version=9, host="127.0.0.1"):
        self.gateway, self.client_id, self.version, self.host = gateway, client_id, version, host
        self.local_host = "10.0.0.9"
        self.closed, self.gone, self.unanswered = False, False, 0
        self.member_id, self.generation, self.joined, self.sent, self.shown = "", -1, None, [], []
        self._numbers = itertools.count(1)
        self.talk = gateway.groups.for_connection()
        self.talk.connected(self)
        if gateway.seats is not None:
            gateway.seats.opened(self, client_id)

    # -- interface for the gateway's code ----------------------------------------------------------------------------

    def hung_up(self):
        return self.gone

    async def answered(self):
        while self.unanswered:  # noqa: ASYNC110 - there is no event for the change
            await asyncio.sleep(0)

    async def ask(self, message):
        if self.closed:
            raise ConnectionAbortedError("closed")
        return await self.gateway.coordinator(message)

    async def exchange(self, frame):
        if self.closed:
            raise ConnectionAbortedError("closed")
        return await self._broker(frame)

    # -- actions of the client ------------------------------------------------------------------------------------

    async def send(self, message):
        message.with_header(correlation_id=next(self._numbers), client_id=self.client_id)
        frame = bytes(message.encode(header=True))
        shown = await self._sent(frame)
        return open_frame(RESPONSES[type(message)[None]], read_head(frame), shown).message

    async def _sent(self, frame):
        """Send a frame; return the answer that the client gets."""
        head = read_head(frame)
        passed = await self.talk.request(head, frame, self.ask) if self.talk.wants(head) else frame
        if isinstance(passed, OwnAnswer):
            shown = passed.frame
        else:
            self.sent.append((frame, passed))
            answer = await self._broker(passed)
            shown = self.talk.response(head, answer)
            self.shown.append((answer, shown))
        assert shown[:4] == frame[4:8], "the correlation id is the client's"
        return shown

    async def join(self, **fields):
        self.joined = await self.send(self._join_request(**fields))
        if self.joined.error_code == 79:
            self.member_id = self.joined.member_id
            self.joined = await self.send(self._join_request(**fields))
        if not self.joined.error_code:
            self.member_id, self.generation = self.joined.member_id, self.joined.generation_id
        return self.joined

    async def sync(self):
        fields = {"group_id": GROUP, "generation_id": self.generation, "member_id": self.member_id, "assignments": []}
        return await self.send(SyncGroupRequest(version=3, group_instance_id=None, **fields))

    async def enter(self, **fields):
        """Join and sync; returns itself."""
        await self.join(**fields)
        assert (await self.sync()).error_code == 0
        return self

    async def heartbeat(self):
        fields = {"group_id": GROUP, "generation_id": self.generation, "member_id": self.member_id}
        return (await self.send(HeartbeatRequest(version=3, group_instance_id=None, **fields))).error_code

    async def leave(self, reason=None, version=5):
        if version < 3:
            answer = await self.send(LeaveGroupRequest(version=version, group_id=GROUP, member_id=self.member_id))
            return answer.error_code
        kind = LeaveGroupRequest.MemberIdentity
        more = {"reason": reason} if version >= 5 else {}
        member = kind(version=version, member_id=self.member_id, group_instance_id=None, **more)
        answer = await self.send(LeaveGroupRequest(version=version, group_id=GROUP, members=[member]))
        return answer.error_code or answer.members[0].error_code

    async def close(self):
        """End the process; return when the connection to the broker is closed, too."""
        self.gone = True
        await self.talk.client_ended()
        self.closed = True
        self.talk.closed()

    def _join_request(self, metadata=SUBSCRIPTION, **fields):
        kind = JoinGroupRequest.JoinGroupRequestProtocol
        values = {
            "group_id": GROUP,
            "session_timeout_ms": 45_000,
            "rebalance_timeout_ms": 60_000,
            "member_id": self.member_id,
            "group_instance_id": None,
            "protocol_type": "consumer",
            "protocols": [kind(version=self.version, name="range", metadata=metadata)],
        }
        return JoinGroupRequest(version=self.version, **{**values, **fields})

    async def _broker(self, frame):
        head = read_head(frame)
        if is_of_locks(frame):
            return self.gateway.coordinator.locks(frame)
        kinds = {kind.API_KEY: kind for kind in RESPONSES}
        kind = kinds[head.api_key]
        self.unanswered += 1
        try:
            answer = await self.gateway.coordinator(open_frame(kind, head, frame).message)
        finally:
            self.unanswered -= 1
        answer.with_header(correlation_id=head.correlation_id)
        return bytes(answer.encode(header=True))
