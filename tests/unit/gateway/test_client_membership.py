"""A gateway's events about members whose frames it sees, with their times."""

from __future__ import annotations

import asyncio
import struct
import threading

import pytest
from kafka.protocol.consumer.fetch import FetchRequest
from kafka.protocol.consumer.group import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    SyncGroupRequest,
)

from rebalance_agent.clock import FakeClock
from rebalance_agent.gateway.groups.client_membership import FETCH_SECONDS_MAX, FETCH_SECONDS_MIN, ClientMembership
from rebalance_agent.gateway.groups.member_entries import MemberEntries, MemberEntry
from rebalance_agent.gateway.transport.request_head import RequestHead
from rebalance_agent.instrumentation.assign_decision import AssignDecision
from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.events import AssignEvent, Callback, MemberEvent
from rebalance_agent.model.reported.member_software import ClientSoftware
from support.gateway.coordinator import ToyCoordinator
from support.gateway.groups import Client, Gateway, Line
from support.telemetry.requests import JAVA, LIBRDKAFKA

START = FakeClock().now_ms()


def member(broker=None, rules="", **options):
    gateway = Gateway(rules)
    one = Client(Line(gateway, broker or ToyCoordinator(1)), **options)
    one.gateway = gateway
    one.wait = gateway.clock.advance
    return one


def reported(one, callback):
    return one.gateway.reported(callback)


async def assigned(one, given):
    await one.join()
    await one.sync({one.member_id: given})


async def settled(one, gateway):
    """A heartbeat that ends the wait for the first fetch."""
    gateway.clock.advance(FETCH_SECONDS_MIN * 1_000 + 1)
    await one.heartbeat()


def fetch(topic, *partitions, version=11):
    kind = FetchRequest.FetchTopic
    each = kind.FetchPartition
    wanted = [each(version=version, partition=number) for number in partitions]
    return FetchRequest(
        version=version,
        max_wait_ms=1,
        min_bytes=1,
        topics=[kind(version=version, topic=topic, partitions=wanted)],
    )


def test_an_eager_members_rebalance_step_by_step():
    broker = ToyCoordinator(1)
    one = member(broker)

    async def go():
        await assigned(one, {"t": (0, 1)})
        broker.errors[HeartbeatRequest] = 27
        one.wait(1_000)
        await one.heartbeat()  # settles the first assignment, and learns of the rebalance
        one.wait(2_500)
        await one.join()
        one.wait(300)
        await one.sync({one.member_id: {"t": (1, 2)}})
        one.wait(40)
        await Line(one.gateway, broker).send(fetch("t", 7))
        assert len(reported(one, Callback.ASSIGNED)) == 1
        await Line(one.gateway, broker, "somebody else").send(fetch("t", 1))
        assert len(reported(one, Callback.ASSIGNED)) == 1
        await Line(one.gateway, broker).send(fetch("t", 2))

    asyncio.run(go())
    (revoked,) = reported(one, Callback.REVOKED)
    assert (revoked.partitions, revoked.generation, revoked.member_id) == ({"t": (0, 1)}, 1, one.member_id)
    assert (revoked.started_ms, revoked.timestamp_ms) == (START + 3_500, START + 3_500)
    assert (revoked.stop_seconds, revoked.asked_ms, revoked.evidence) == (2.5, START + 1_000, Evidence.GATEWAY)
    first, second = reported(one, Callback.ASSIGNED)
    assert (first.partitions, first.generation, first.timestamp_ms - first.started_ms) == ({"t": (0, 1)}, 1, 0)
    assert (second.partitions, second.generation) == ({"t": (1, 2)}, 2)
    assert (second.join_seconds, second.sync_seconds) == (0.0, 0.3)
    assert second.timestamp_ms - second.started_ms == 40
    assert [event.sequence for event in one.gateway.events] == [1, 2, 3]
    assert len({event.process for event in one.gateway.events}) == 1


@pytest.mark.parametrize(("seconds", "waits"), [(0.0, True), (FETCH_SECONDS_MIN, True), (FETCH_SECONDS_MIN + 1, False)])
def test_a_heartbeat_soon_after_the_assignment_does_not_end_the_wait_for_the_first_fetch(seconds, waits):
    """librdkafka sends one before its application can have been called."""
    one = member()

    async def go():
        await assigned(one, {"t": (0,)})
        one.wait(seconds * 1_000)
        await one.heartbeat()
        one.wait(40)
        await Line(one.gateway, ToyCoordinator(1)).send(fetch("t", 0))

    asyncio.run(go())
    (event,) = reported(one, Callback.ASSIGNED)
    assert event.timestamp_ms - event.started_ms == (seconds * 1_000 + 40 if waits else 0)


def test_an_announced_reason_is_not_awaited_again():
    broker = ToyCoordinator(1)
    one = member(broker)

    async def go():
        await assigned(one, {"t": (0,)})
        broker.errors[HeartbeatRequest] = 27
        await one.heartbeat()
        one.wait(500)
        for _ in range(2):
            await assigned(one, {"t": (0,)})
            one.wait(9_000)

    asyncio.run(go())
    assert [event.stop_seconds for event in reported(one, Callback.REVOKED)] == [0.5, None]


def test_a_repeated_join_is_one_wait():
    broker = ToyCoordinator(1)
    one = member(broker)

    async def go():
        broker.errors[JoinGroupRequest] = 14
        await one.join()
        one.wait(800)
        broker.errors.clear()
        await assigned(one, {})

    asyncio.run(go())
    (event,) = reported(one, Callback.ASSIGNED)
    assert event.join_seconds == 0.8


def test_the_wait_for_others_has_the_length_of_the_join():
    one = member(ToyCoordinator(2))
    other = Client(Line(one.gateway, one.line.broker))

    async def go():
        joining = asyncio.create_task(one.join())
        await one.line.broker.somebody_waits.wait()
        one.wait(2_012)
        await other.join()
        await joining
        await asyncio.gather(one.sync(), other.sync())
        await settled(one, one.gateway)

    asyncio.run(go())
    joins = {event.member_id: event.join_seconds for event in reported(one, Callback.ASSIGNED)}
    assert joins[one.member_id] == 2.012


def test_a_cooperative_member_gives_up_between_its_assignment_and_its_next_join():
    one = member(names=("cooperative-sticky",))

    async def go():
        await assigned(one, {"t": (0, 1, 2)})
        await one.join()
        await one.sync({one.member_id: {"t": (0,)}})
        one.wait(700)
        await one.join()
        await one.sync({one.member_id: {"t": (0, 5)}})
        await settled(one, one.gateway)

    asyncio.run(go())
    (revoked,) = reported(one, Callback.REVOKED)
    assert (revoked.partitions, revoked.generation) == ({"t": (1, 2)}, 2)
    assert (revoked.started_ms, revoked.timestamp_ms) == (START, START + 700)
    assert [event.partitions for event in reported(one, Callback.ASSIGNED)] == [{"t": (0, 1, 2)}, {}, {"t": (5,)}]


@pytest.mark.parametrize(("error", "name"), [(25, "UNKNOWN_MEMBER_ID"), (22, "ILLEGAL_GENERATION"), (82, "FENCED")])
def test_an_expelled_member_has_lost_its_partitions(error, name):
    broker = ToyCoordinator(1)
    one = member(broker)

    async def go():
        await assigned(one, {"t": (3,)})
        broker.errors[HeartbeatRequest] = error
        await one.heartbeat()
        await one.heartbeat()

    asyncio.run(go())
    (lost,) = reported(one, Callback.LOST)
    assert (lost.partitions, lost.generation) == ({"t": (3,)}, 1)
    assert lost.reason.startswith(name)
    assert lost.reason.endswith("in the response to Heartbeat")


def test_a_late_answer_to_an_old_heartbeat_is_ignored():
    broker = ToyCoordinator(1)
    one = member(broker)

    async def go():
        await assigned(one, {"t": (3,)})
        broker.errors[HeartbeatRequest] = 22
        one.generation = 0
        await one.heartbeat()

    asyncio.run(go())
    assert reported(one, Callback.LOST) == []


@pytest.mark.parametrize("version", range(6))
def test_a_leave_is_reported_with_its_reason(version):
    one = member()

    async def go():
        await assigned(one, {"t": (3,)})
        fields = {"member_id": one.member_id}
        if version >= 3:
            kind = LeaveGroupRequest.MemberIdentity
            why = {"reason": "the consumer is being closed"} if version >= 5 else {}
            fields = {"members": [kind(version=version, member_id=one.member_id, group_instance_id=None, **why)]}
        await one.line.send(LeaveGroupRequest(version=version, group_id=one.group, **fields))

    asyncio.run(go())
    (left,) = reported(one, Callback.LEFT)
    assert (left.partitions, left.member_id) == ({"t": (3,)}, one.member_id)
    assert left.reason == ("the consumer is being closed" if version >= 5 else None)
    assert len(one.gateway.groups.entries) == 0


def test_the_next_event_contains_the_number_of_refused_commits():
    broker = ToyCoordinator(1)
    one = member(broker)

    def commit(version=8):
        kind = OffsetCommitRequest.OffsetCommitRequestTopic
        each = kind.OffsetCommitRequestPartition
        offsets = [
            each(version=version, partition_index=number, committed_offset=1, committed_leader_epoch=-1)
            for number in (0, 1)
        ]
        return OffsetCommitRequest(
            version=version,
            group_id=one.group,
            generation_id_or_member_epoch=one.generation,
            member_id=one.member_id,
            group_instance_id=None,
            topics=[kind(version=version, name="t", partitions=offsets)],
        )

    async def go():
        await assigned(one, {"t": (0, 1)})
        await one.heartbeat()
        await one.line.send(commit())
        broker.errors[OffsetCommitRequest] = 27
        await one.line.send(commit())
        one.wait(200)
        await one.join()

    asyncio.run(go())
    (revoked,) = reported(one, Callback.REVOKED)
    assert (revoked.rejected_commits, revoked.stop_seconds) == (2, 0.2)
    assert reported(one, Callback.ASSIGNED)[0].rejected_commits is None


def test_a_restarted_rebalance_has_one_stop_and_two_waits():
    broker = ToyCoordinator(1)
    one = member(broker)

    async def go():
        await assigned(one, {"t": (0,)})
        broker.errors[HeartbeatRequest] = 27
        await one.heartbeat()
        one.wait(5_000)
        await one.join()
        broker.errors[SyncGroupRequest] = 27
        await one.sync({})
        broker.errors.clear()
        one.wait(100)
        await one.join()
        await one.sync({one.member_id: {"t": (0,)}})
        await settled(one, one.gateway)

    asyncio.run(go())
    assert len(reported(one, Callback.REVOKED)) == 1
    last = reported(one, Callback.ASSIGNED)[-1]
    assert (last.stop_seconds, last.join_seconds, last.generation) == (0.1, 0.0, 3)


def test_a_member_that_cannot_join_loses_its_partitions_once():
    broker = ToyCoordinator(1)
    one = member(broker)

    async def go():
        await assigned(one, {"t": (0,)})
        broker.errors[JoinGroupRequest] = 25
        await one.join()

    asyncio.run(go())
    assert len(reported(one, Callback.REVOKED)) == 1
    assert reported(one, Callback.LOST) == []


def test_a_returning_static_member_is_another_process_and_revoked_nothing():
    broker = ToyCoordinator(1)
    one = member(broker, instance_id="i")

    async def go():
        await assigned(one, {"t": (0,)})
        again = Client(Line(one.gateway, broker), instance_id="i")
        await assigned(again, {"t": (0,)})
        await settled(again, one.gateway)

    asyncio.run(go())
    first, second = one.gateway.events
    assert (first.callback, second.callback) == (Callback.ASSIGNED, Callback.ASSIGNED)
    assert first.process != second.process
    assert first.instance_id == "i"


@pytest.mark.parametrize("rules", ["", "orders=weighted-sticky"])
def test_responses_to_a_fenced_process_are_not_reported_for_its_successor(rules):
    broker = ToyCoordinator(1)
    old = member(broker, rules, instance_id="i")
    new = Client(Line(old.gateway, broker), instance_id="i")

    async def go():
        await assigned(old, {"t": (0,)})
        broker.generation -= 1  # a static member returns to the same generation
        await assigned(new, {"t": (0,)})
        (entry,) = old.gateway.groups.entries
        entry.membership.member_id = new.member_id = "another"  # as a coordinator responds
        for kind in (HeartbeatRequest, SyncGroupRequest, JoinGroupRequest):
            broker.errors[kind] = 82
        await old.heartbeat()
        await old.sync({})
        await old.join()
        broker.errors.clear()
        await settled(new, old.gateway)
        return entry

    entry = asyncio.run(go())
    assert [event.callback for event in old.gateway.events if isinstance(event, MemberEvent)] == [
        Callback.ASSIGNED,
        Callback.ASSIGNED,
    ]
    assert list(old.gateway.groups.entries) == [entry]


def test_a_member_that_ended_without_leaving_is_forgotten():
    gateway, broker = Gateway(), ToyCoordinator(1)

    async def go():
        for _ in range(3):
            await assigned(Client(Line(gateway, broker)), {"t": (0,)})
            gateway.clock.advance(int(FETCH_SECONDS_MAX * 1_000) + 1)
        other = Line(gateway, broker, "another")
        await other.send(fetch("t", 0))
        return other.talk.wants(RequestHead(1, 11, 1))

    assert asyncio.run(go()) is False
    assert [event.callback for event in gateway.events] == [Callback.ASSIGNED] * 3


def test_our_assignment_is_reported_with_its_own_generation_after_the_next_has_begun(monkeypatch):
    one = member(rules="orders=weighted-sticky")
    begun, quality = threading.Event(), AssignDecision.quality
    monkeypatch.setattr(AssignDecision, "quality", lambda decision: begun.wait(5) and quality(decision))

    async def go():
        await one.join()
        await one.sync()
        await one.join()
        reported = asyncio.Event()
        one.gateway.on_event = reported.set
        begun.set()
        await reported.wait()

    asyncio.run(go())
    (event,) = [each for each in one.gateway.events if isinstance(each, AssignEvent)]
    assert (event.generation, one.generation) == (1, 2)


def test_groups_without_consumers_are_not_reported():
    one = member(protocol_type="connect", names=("sessioned",))

    async def go():
        await one.join()
        await one.sync({})
        await one.heartbeat()

    asyncio.run(go())
    assert one.gateway.events == []


def test_connect_is_not_reported_although_a_rule_matches_its_group():
    class Connect(ToyCoordinator):
        async def _describe(self, request):
            described = await super()._describe(request)
            described.groups[0].protocol_type = "connect"
            return described

    broker = Connect(1)
    one = member(broker, ".*=weighted-sticky", protocol_type="connect", names=("sessioned",))
    asked = []

    async def go():
        await assigned(one, {})
        one.line.ask = lambda message: asked.append(message) or broker(message)
        await one.heartbeat()
        await one.heartbeat()
        await assigned(one, {})
        who = LeaveGroupRequest.MemberIdentity(version=5, member_id=one.member_id, reason="bye")
        await one.line.send(LeaveGroupRequest(version=5, group_id="orders", members=[who]))

    asyncio.run(go())
    assert one.gateway.events == []
    assert len(asked) == 1


def test_our_own_assignment_is_reported_with_its_quality():
    one = member(rules="orders=weighted-sticky")

    async def go():
        await one.join()
        reported = asyncio.Event()
        one.gateway.on_event = reported.set
        await one.sync()
        await reported.wait()

    asyncio.run(go())
    (event,) = [each for each in one.gateway.events if isinstance(each, AssignEvent)]
    assert (event.assignor, event.members, event.partitions) == ("weighted-sticky", 1, 16)
    assert event.quality.skew_ratio == 1.0


def test_fetches_are_parsed_only_while_a_member_has_not_resumed():
    one = member()
    fetches = RequestHead(1, 11, 1)

    async def go():
        before = one.line.talk.wants(fetches)
        await assigned(one, {"t": (0,)})
        during = one.line.talk.wants(fetches)
        await one.line.send(fetch("t", 0))
        return before, during, one.line.talk.wants(fetches), one.line.talk.wants_answer(fetches)

    assert asyncio.run(go()) == (False, True, False, False)


@pytest.mark.parametrize("version", [13, 15])
def test_fetches_with_topic_ids_are_matched_by_their_partitions(version):
    one = member()

    async def go():
        await assigned(one, {"t": (4,)})
        one.wait(10)
        kind = FetchRequest.FetchTopic
        each = kind.FetchPartition
        topics = [kind(version=version, topic_id=None, partitions=[each(version=version, partition=4)])]
        await one.line.send(FetchRequest(version=version, max_wait_ms=1, min_bytes=1, topics=topics))

    asyncio.run(go())
    (event,) = reported(one, Callback.ASSIGNED)
    assert event.timestamp_ms - event.started_ms == 10


def test_after_a_backward_clock_step_no_event_ends_before_its_start():
    events = []
    clock = FakeClock()
    presence = ClientMembership("g", "c", None, clock, events.append)
    presence.record_join("m", 1)
    presence.record_assigned({"t": (1,)})
    clock.advance(-5_000)
    presence.record_fetch({("t", 1)})
    assert events[0].timestamp_ms == events[0].started_ms


def test_heartbeats_of_a_member_are_passed_on_at_intervals():
    lives = []
    gateway = Gateway(alive=lives.append)
    one = Client(Line(gateway, ToyCoordinator(1)))

    async def go():
        await assigned(one, {"t": (0,)})
        for _ in range(41):
            await one.heartbeat()
            gateway.clock.advance(3_000)

    asyncio.run(go())
    assert lives == [gateway.events[0].process] * 2


def test_a_member_with_an_empty_assignment_owns_nothing():
    broker = ToyCoordinator(1)
    one = member(broker)

    async def go():
        await assigned(one, {"t": (0,)})
        await one.join()
        await one.sync({"somebody else": {}})
        await one.join()

    asyncio.run(go())
    assert [event.partitions for event in reported(one, Callback.ASSIGNED)] == [{"t": (0,)}, {}]
    assert len(reported(one, Callback.REVOKED)) == 1


def test_the_least_recently_used_member_entries_are_removed():
    entries = MemberEntries(2)
    for name in "abc":
        entries.put("g", name, None, MemberEntry(ClientMembership("g", name, None, FakeClock(), print)))
        entries.find("g", "a", None)
    assert [entries.find("g", name, None) is not None for name in "abc"] == [True, False, True]


def test_a_dynamic_member_is_distinguished_from_a_static_one_with_the_same_name():
    entries = MemberEntries()
    entries.put("g", "x", None, MemberEntry(ClientMembership("g", "x", None, FakeClock(), print)))
    assert entries.find("g", "", "x") is None


def test_an_unreadable_heartbeat_is_forwarded():
    talk = Gateway().groups.for_connection()
    frame = struct.pack(">hhih", 12, 4, 1, -1) + b"\0\xff\xff"
    assert asyncio.run(talk.request(RequestHead(12, 4, 1), frame, None)) == frame


@pytest.mark.parametrize(("named", "reported_as"), [(JAVA, ClientSoftware(*JAVA)), (("", ""), None)])
def test_events_have_the_library_that_the_client_named(named, reported_as):
    one = member()
    one.line.talk.greeted("app", ClientSoftware(*named))

    async def go():
        await assigned(one, {"t": (0,)})
        await one.join()

    asyncio.run(go())
    assert {event.callback for event in one.gateway.events} == {Callback.ASSIGNED, Callback.REVOKED}
    assert {event.software for event in one.gateway.events} == {reported_as}


def test_a_new_process_of_a_static_member_has_its_own_library():
    gateway, broker, libraries = Gateway(), ToyCoordinator(1), (JAVA, LIBRDKAFKA)

    async def go():
        for library in libraries:
            one = Client(Line(gateway, broker), instance_id="static")
            one.line.talk.greeted("app", ClientSoftware(*library))
            await assigned(one, {"t": (0,)})
            await one.heartbeat()
        gateway.groups.close()

    asyncio.run(go())
    reports = [event.software for event in gateway.reported(Callback.ASSIGNED)]
    assert reports == [ClientSoftware(*library) for library in libraries]
