"""How members leave, why they join, and which request a response belongs to, if responses are late or missing."""

from __future__ import annotations

import asyncio
import logging

import pytest
from kafka.protocol.consumer.group import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    SyncGroupRequest,
)
from kafka.protocol.producer import TxnOffsetCommitRequest

from rebalance_agent.gateway.groups import group_interceptor
from rebalance_agent.gateway.groups.client_events import REASON_MAX
from rebalance_agent.gateway.groups.client_membership import FETCH_SECONDS_MIN
from rebalance_agent.gateway.groups.gateway_groups import COMPLAINTS_MAX, NAME_MAX, PROBLEM_MAX
from rebalance_agent.gateway.transport.kafka_messages import open_frame
from rebalance_agent.gateway.transport.request_head import read_head
from rebalance_agent.model.events import Callback
from support.gateway.coordinator import ToyCoordinator
from support.gateway.frames import with_topic_id
from support.gateway.groups import Client, Gateway, Line


def member(broker=None, rules="", **options):
    gateway = Gateway(rules)
    one = Client(Line(gateway, broker or ToyCoordinator(1)), **options)
    one.gateway = gateway
    return one


async def assigned(one, given):
    await one.join()
    await one.sync({one.member_id: given})
    await settled(one, one.gateway)


async def settled(one, gateway):
    """A heartbeat that ends the wait for the first fetch."""
    gateway.clock.advance(FETCH_SECONDS_MIN * 1_000 + 1)
    await one.heartbeat()


class Flying:
    """A sent request whose response the test releases."""

    @classmethod
    async def send(cls, line, message):
        self = cls()
        frame = line.framed(message)
        self.line, self.head = line, read_head(frame)
        self.sent = open_frame(type(message), self.head, await line.talk.request(self.head, frame, line.ask)).message
        self.shown = line.talk.wants_answer(self.head)
        return self

    async def land(self):
        answer = await self.line.answer(self.sent)
        answer.with_header(correlation_id=self.head.correlation_id)
        return self.line.talk.response(self.head, bytes(answer.encode(header=True)))


def leave(one, version=5, reason="bye"):
    why = {"reason": reason} if version >= 5 else {}
    who = LeaveGroupRequest.MemberIdentity(version=version, member_id=one.member_id, group_instance_id=None, **why)
    return LeaveGroupRequest(version=version, group_id=one.group, members=[who])


def heartbeat(one):
    return HeartbeatRequest(
        version=4,
        group_id=one.group,
        generation_id=one.generation,
        member_id=one.member_id,
        group_instance_id=one.instance_id,
    )


def commit(one, kind=OffsetCommitRequest, version=8, topic_name="t"):
    topic = next(value for name, value in vars(kind).items() if name.endswith("RequestTopic"))
    each = next(value for name, value in vars(topic).items() if name.endswith("RequestPartition"))
    offsets = [
        each(version=version, partition_index=number, committed_offset=1, committed_leader_epoch=-1)
        for number in (0, 1)
    ]
    generation = "generation_id" if kind is TxnOffsetCommitRequest else "generation_id_or_member_epoch"
    return kind(
        version=version,
        group_id=one.group,
        member_id=one.member_id,
        group_instance_id=None,
        topics=[topic(version=version, name=topic_name, partitions=offsets)],
        **{generation: one.generation},
    )


def reported(one):
    return [(event.callback, dict(event.partitions)) for event in one.gateway.events]


ASSIGNED = (Callback.ASSIGNED, {"t": (0,)})


def test_a_leave_is_reported_at_the_response_with_the_time_of_the_request():
    one = member()

    async def go():
        await assigned(one, {"t": (0,)})
        flying = await Flying.send(one.line, leave(one))
        asked_ms = one.gateway.clock.now_ms()
        one.gateway.clock.advance(300)
        before = reported(one)
        await flying.land()
        return before, asked_ms

    before, asked_ms = asyncio.run(go())
    assert before == [ASSIGNED]
    left = one.gateway.events[-1]
    assert (left.callback, left.reason, left.started_ms, left.timestamp_ms) == (
        Callback.LEFT,
        "bye",
        asked_ms,
        asked_ms,
    )
    assert len(one.gateway.groups.entries) == 0


@pytest.mark.parametrize("version", [2, 4])
def test_a_refused_leave_is_not_reported(version):
    broker = ToyCoordinator(1)
    one = member(broker)

    async def go():
        await assigned(one, {"t": (0,)})
        broker.errors[LeaveGroupRequest] = 16
        request = leave(one, 4) if version == 4 else None
        request = request or LeaveGroupRequest(version=2, group_id=one.group, member_id=one.member_id)
        await (await Flying.send(one.line, request)).land()
        members = len(one.gateway.groups.entries)
        await one.join()
        return members

    assert asyncio.run(go()) == 1
    assert reported(one) == [ASSIGNED, (Callback.REVOKED, {"t": (0,)})]


def test_several_leaving_members_have_separate_results():
    broker = ToyCoordinator(2)
    one = member(broker)
    other = Client(Line(one.gateway, broker))

    async def go():
        await asyncio.gather(one.join(), other.join())
        given = {one.member_id: {"t": (0,)}, other.member_id: {"t": (1,)}}
        await asyncio.gather(one.sync(given), other.sync(given))
        kind = LeaveGroupRequest.MemberIdentity
        both = [kind(version=5, member_id=each.member_id, reason="removed") for each in (one, other)]
        flying = await Flying.send(one.line, LeaveGroupRequest(version=5, group_id="orders", members=both))
        answered = LeaveGroupResponse.MemberResponse
        codes = ((one, 25), (other, 0))
        members = [
            answered(version=5, member_id=each.member_id, group_instance_id=None, error_code=code)
            for each, code in codes
        ]
        answer = LeaveGroupResponse(version=5, error_code=0, members=members)
        answer.with_header(correlation_id=flying.head.correlation_id)
        one.line.talk.response(flying.head, bytes(answer.encode(header=True)))

    asyncio.run(go())
    ended = [event for event in one.gateway.events if event.callback is not Callback.ASSIGNED]
    assert [(event.callback, event.member_id, event.reason) for event in ended] == [
        (Callback.LOST, one.member_id, "UNKNOWN_MEMBER_ID in the response to LeaveGroup"),
        (Callback.LEFT, other.member_id, "removed"),
    ]


def test_a_leave_without_a_response_changes_nothing():
    """Any client can send it with the member's id, and close its connection."""
    one = member()

    async def go():
        await assigned(one, {"t": (0,)})
        stranger = Line(one.gateway, None, "stranger")
        await Flying.send(stranger, leave(one))
        stranger.talk.closed()
        stranger.talk.closed()
        await one.heartbeat()
        return list(one.gateway.groups.entries)

    (entry,) = asyncio.run(go())
    assert (entry.membership.member_id, dict(entry.membership.owned)) == (one.member_id, {"t": (0,)})
    assert reported(one) == [ASSIGNED]


class Answering:
    """The connection of a client that is gone; ``answered`` returns once ``answer`` is set."""

    def __init__(self):
        self.asked, self.answer = asyncio.Event(), asyncio.Event()

    async def answered(self):
        self.asked.set()
        await self.answer.wait()


def test_the_response_to_a_leave_is_awaited_after_the_client_is_gone():
    one = member()

    async def go():
        await assigned(one, {"t": (0,)})
        connection = Answering()
        one.line.talk.connected(connection)
        flying = await Flying.send(one.line, leave(one))
        ending = asyncio.create_task(one.line.talk.client_ended())
        await connection.asked.wait()
        before = reported(one)
        await flying.land()
        connection.answer.set()
        await ending
        one.line.talk.closed()
        return before

    assert asyncio.run(go()) == [ASSIGNED]
    assert reported(one) == [ASSIGNED, (Callback.LEFT, {"t": (0,)})]
    assert len(one.gateway.groups.entries) == 0


def test_a_response_that_never_comes_is_not_awaited_forever(monkeypatch):
    monkeypatch.setattr(group_interceptor, "AWAITED_SECONDS_MAX", 0)
    one = member()

    async def go():
        await assigned(one, {"t": (0,)})
        one.line.talk.connected(Answering())
        await Flying.send(one.line, leave(one))
        await one.line.talk.client_ended()

    asyncio.run(go())
    assert len(one.gateway.groups.entries) == 1


def test_no_other_response_is_awaited():
    one = member()

    async def go():
        await assigned(one, {"t": (0,)})
        one.line.talk.connected(Answering())
        await Flying.send(one.line, heartbeat(one))
        await one.line.talk.client_ended()

    asyncio.run(go())


def test_a_leave_is_reported_once_if_the_member_rejoins_before_the_response():
    one = member()

    async def go():
        await assigned(one, {"t": (0,)})
        flying = await Flying.send(one.line, leave(one))
        one.member_id, one.generation = "", -1
        await one.join()
        await one.sync({one.member_id: {"t": (0,)}})
        before = len(one.gateway.groups.entries)
        flying.line.talk.closed()
        return before

    # The fake broker answers the second request first. A real one does not, so there the leave is already reported.
    assert asyncio.run(go()) == 1
    assert [callback for callback, _ in reported(one)] == [Callback.ASSIGNED, Callback.LEFT]


def test_an_assignment_is_reported_with_the_reason_of_the_join():
    one = member()
    long = "metadata has changed " * 100

    async def go():
        await one.join(reason=None)
        await one.sync({one.member_id: {"t": (0,)}})
        await one.join(reason=long)
        await one.join(reason="another attempt")
        await one.sync({one.member_id: {"t": (0,)}})
        await settled(one, one.gateway)

    asyncio.run(go())
    assert [(event.callback, event.reason) for event in one.gateway.events] == [
        (Callback.ASSIGNED, None),
        (Callback.REVOKED, None),
        (Callback.ASSIGNED, long[:REASON_MAX]),
    ]


def test_a_refused_commit_shows_that_its_sender_is_no_longer_a_member():
    broker = ToyCoordinator(1)
    one = member(broker)

    async def go():
        await assigned(one, {"t": (0, 1)})
        broker.errors[OffsetCommitRequest] = 25
        await one.line.send(commit(one))

    asyncio.run(go())
    lost = one.gateway.events[-1]
    assert (lost.callback, lost.rejected_commits) == (Callback.LOST, 2)
    assert lost.reason == "UNKNOWN_MEMBER_ID in the response to OffsetCommit"


@pytest.mark.parametrize("version", range(TxnOffsetCommitRequest.max_version + 1))
def test_refused_transactional_commits_are_counted_if_they_name_their_member(version):
    broker = ToyCoordinator(1)
    one = member(broker)
    producer = Line(one.gateway, broker, "producer")

    async def go():
        await assigned(one, {"t": (0, 1)})
        await producer.send(commit(one, TxnOffsetCommitRequest, version))
        broker.errors[TxnOffsetCommitRequest] = 22
        await producer.send(commit(one, TxnOffsetCommitRequest, version))
        await one.heartbeat()
        await one.join()

    asyncio.run(go())
    revoked = one.gateway.events[-1]
    assert (revoked.callback, revoked.rejected_commits) == (Callback.REVOKED, 2 if version >= 3 else None)


def test_refused_transactional_commits_by_topic_ids_are_counted_and_pass_unchanged():
    broker = ToyCoordinator(1)
    one = member(broker)
    producer = Line(one.gateway, broker, "producer")

    async def go():
        await assigned(one, {"t": (0, 1)})
        frame = producer.framed(commit(one, TxnOffsetCommitRequest, 5, topic_name="topic"))
        broker.errors[TxnOffsetCommitRequest] = 22
        answer = await producer.answer(open_frame(TxnOffsetCommitRequest, read_head(frame), frame).message)
        answer.with_header(correlation_id=read_head(frame).correlation_id)
        frames = [with_topic_id(each, "topic", bytes(range(16))) for each in (frame, bytes(answer.encode(header=True)))]
        frames = frames[0][:2] + b"\0\6" + frames[0][4:], frames[1]
        assert await producer.exchange(*frames) == frames
        await one.heartbeat()
        await one.join()

    asyncio.run(go())
    revoked = one.gateway.events[-1]
    assert (revoked.callback, revoked.rejected_commits) == (Callback.REVOKED, 2)


@pytest.mark.parametrize("kind", [HeartbeatRequest, SyncGroupRequest, JoinGroupRequest])
def test_a_pending_response_belongs_to_its_process_after_another_took_the_instance_id(kind):
    broker = ToyCoordinator(1)
    old = member(broker, "orders=weighted-sticky", instance_id="i")
    new = Client(Line(old.gateway, broker), instance_id="i")

    async def go():
        await old.join()
        await old.sync({old.member_id: {"t": (0,)}})
        await settled(old, old.gateway)
        if kind is JoinGroupRequest:
            flying = await Flying.send(old.line, old.join_request())
        elif kind is SyncGroupRequest:
            request = SyncGroupRequest(
                version=5,
                group_id="orders",
                generation_id=old.generation,
                member_id=old.member_id,
                group_instance_id="i",
                protocol_type="consumer",
                protocol_name="range",
                assignments=[],
            )
            flying = await Flying.send(old.line, request)
        else:
            flying = await Flying.send(old.line, heartbeat(old))
        broker.generation -= 1
        await new.join()
        await new.sync({})
        await settled(new, old.gateway)
        (entry,) = old.gateway.groups.entries
        entry.membership.member_id = "another"  # as a coordinator responds
        broker.errors[kind] = 82
        await flying.land()
        return entry

    entry = asyncio.run(go())
    assert entry.membership.generation == new.generation
    assert entry.membership.owned == new.owned
    processes = {}
    for event in old.gateway.events:
        if hasattr(event, "callback"):
            processes.setdefault(event.process, []).append(event.callback)
    ended = Callback.REVOKED if kind is JoinGroupRequest else Callback.LOST
    assert list(processes.values()) == [[Callback.ASSIGNED, ended], [Callback.ASSIGNED]]


def test_a_client_may_repeat_its_correlation_ids():
    broker = ToyCoordinator(1)
    one = member(broker)

    async def go():
        await assigned(one, {"t": (0,)})
        one.line._numbers = iter([7] * 3)
        first, second = await Flying.send(one.line, heartbeat(one)), await Flying.send(one.line, commit(one))
        stranger = await Flying.send(one.line, OffsetCommitRequest(version=8, group_id="x", member_id="", topics=[]))
        await first.land()
        broker.errors[OffsetCommitRequest] = 22
        await second.land()
        return first.shown, second.shown, stranger.shown

    assert asyncio.run(go()) == (True, True, False)
    assert reported(one)[-1] == (Callback.LOST, {"t": (0,)})


def test_problems_are_logged_once_and_shortened(caplog):
    shared = Gateway().groups
    for _ in range(2):
        shared.log_problem(logging.ERROR, "g" * 40_000, "c" * 40_000, "p" * 40_000)
    (record,) = caplog.records
    assert len(record.getMessage()) < 2 * NAME_MAX + PROBLEM_MAX + 100
    for number in range(COMPLAINTS_MAX):
        shared.log_problem(logging.ERROR, f"{number}", "c" * 40_000, "p")
    assert len(shared._complaints) <= COMPLAINTS_MAX
    assert max(len(part) for complaint in shared._complaints for part in complaint) <= PROBLEM_MAX
