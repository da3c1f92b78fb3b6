"""Seats of one gateway, frame by frame: held JoinGroups, their seats, and the responses to clients."""

from __future__ import annotations

import asyncio
import threading

import pytest
from kafka.protocol.consumer.group import HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest
from kafka.protocol.producer import TxnOffsetCommitRequest

from rebalance_agent.gateway.seating import acting_group
from rebalance_agent.gateway.seating.newcomers import patience_seconds
from rebalance_agent.gateway.seats.group_seats import GroupSeats
from rebalance_agent.gateway.transport.request_head import read_head
from rebalance_agent.groupprotocol.consumer_protocol import encode_subscription
from rebalance_agent.model.reported.seat_event import SEAT_PREFIX
from rebalance_agent.model.subscription import ConsumerSubscription
from rebalance_agent.runtime.processes.gateway import _watch
from support.gateway.seat_clients import SeatClient, SeatGateway, settle
from support.memory import traced_memory
from support.seats.frame_steps import OTHER_TOPIC, REBALANCING, UNKNOWN, ended, member, run, waiting

MEBIBYTE = 1024 * 1024
NOT_COORDINATOR = 16


@run
async def test_a_newcomer_that_waits_takes_the_seat_of_the_member_that_leaves():
    gateway = SeatGateway()
    old = await member(gateway)
    new, entering = await waiting(gateway)
    before = gateway.coordinator.model.generation
    assert await old.leave() == 0
    await entering
    assert (new.generation, new.member_id == old.member_id) == (before, False)
    assert await new.heartbeat() == 0
    assert gateway.coordinator.asked(LeaveGroupRequest) == []
    assert [gateway.acts.done(act) for act in ("seat", "keep", "handover")] == [1, 1, 1]


@run
async def test_only_the_first_join_is_sent_with_an_instance_id():
    gateway = SeatGateway()
    one = await member(gateway)
    (sent,) = gateway.coordinator.asked(JoinGroupRequest)
    assert sent.group_instance_id.startswith(SEAT_PREFIX)
    assert one.sent == [(frame, frame) for frame, _ in one.sent], "its other frames are unchanged, byte for byte"
    await one.enter()
    assert gateway.coordinator.asked(JoinGroupRequest)[-1].group_instance_id is None


@pytest.mark.parametrize("seats", ["", "orders=off; .*=on", "others=on", "orders=observe"])
def test_without_an_enabled_rule_every_byte_passes_unchanged(seats):
    @run
    async def passes():
        gateway = SeatGateway(seats)
        one = await member(gateway)
        await one.heartbeat()
        await one.leave()
        await one.close()
        assert len(one.sent) == 5
        assert all(frame == passed for frame, passed in one.sent)
        assert all(answer == shown for answer, shown in one.shown)

    passes()


@run
async def test_after_an_error_caused_by_the_instance_id_the_clients_own_join_is_sent():
    gateway = SeatGateway()
    gateway.coordinator.errors[JoinGroupRequest] = 23
    one = await member(gateway)
    joins = [each.group_instance_id for each in gateway.coordinator.asked(JoinGroupRequest)]
    assert (joins[0].startswith(SEAT_PREFIX), joins[1:]) == (True, [None, None])
    assert one.sent[0][0] == one.sent[0][1]
    assert gateway.acts.counted["seat", "refused"] == 1
    assert await one.heartbeat() == 0


@run
async def test_a_member_whose_seat_is_taken_gets_an_error_that_clients_handle():
    gateway = SeatGateway()
    one = await member(gateway)
    gateway.coordinator.errors[HeartbeatRequest] = 82
    assert await one.heartbeat() == UNKNOWN


@run
async def test_a_client_that_disconnects_while_its_join_is_held_sends_nothing_to_the_coordinator():
    gateway = SeatGateway()
    await member(gateway)
    joins = len(gateway.coordinator.asked(JoinGroupRequest))
    new, entering = await waiting(gateway)
    new.gone = True
    await gateway.advance(1)
    with pytest.raises(ConnectionAbortedError):
        await entering
    await gateway.advance(70)
    assert len(gateway.coordinator.asked(JoinGroupRequest)) == joins
    assert gateway.acts.held == 0


@run
async def test_a_newcomer_that_waited_long_enough_joins_with_a_seat_of_its_own():
    gateway = SeatGateway("orders=on,seats.hold.seconds=5")
    old = await member(gateway)
    new, entering = await waiting(gateway)
    await gateway.advance(6)
    assert gateway.coordinator.model.state == "preparing"
    await asyncio.gather(entering, old.enter())
    assert gateway.acts.done("handover") == 0
    assert len({each.instance_id for each in gateway.coordinator.model.members.values()} - {None}) == 2
    assert new.generation == old.generation


@run
async def test_an_exception_in_the_decisions_leaves_every_frame_unchanged(monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("a bug")

    gateway = SeatGateway()
    for name in ("join", "rejoin_answered", "sync_answered", "heartbeat_answered", "seen"):
        monkeypatch.setattr(GroupSeats, name, broken)
    one = await member(gateway)
    assert await one.heartbeat() == 0
    assert all(frame == passed for frame, passed in one.sent)
    assert all(answer == shown for answer, shown in one.shown)


@run
async def test_an_exception_in_seats_does_not_affect_the_rules_of_strategies(monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("a bug")

    gateway = SeatGateway("orders=on", rules="orders=rack-aware-sticky")
    answered = gateway.coordinator._join

    async def chooses(request):
        answer = await answered(request)
        answer.protocol_name = request.protocols[0].name  # our instance id, which no client knows
        return answer

    gateway.coordinator._join = chooses
    monkeypatch.setattr(GroupSeats, "rejoin_answered", broken)
    joined = await SeatClient(gateway, version=4).join()
    assert joined.protocol_name == "range"


@run
async def test_the_gateway_also_ends_if_seats_cannot_be_switched_off():
    class Broken:
        async def switch_off(self):
            raise RuntimeError("a bug")

    stop, stopped = threading.Event(), asyncio.Event()
    stop.set()
    with pytest.raises(RuntimeError):
        await _watch(stop, stopped, Broken())
    assert stopped.is_set()


@run
async def test_a_hold_without_a_decision_ends_at_its_timeout(monkeypatch):
    gateway = SeatGateway("orders=on,seats.hold.seconds=5")
    await member(gateway)
    monkeypatch.setattr("rebalance_agent.gateway.seating.acting_group.OVERDUE_SECONDS", -4.99)
    monkeypatch.setattr(GroupSeats, "due", lambda *_: [])
    new = SeatClient(gateway, "new")
    joining = asyncio.create_task(new.join())
    while not gateway.acts.counted["hold", "failed"]:  # noqa: ASYNC110 - what changes is no event
        await asyncio.sleep(0.01)
    await settle()
    assert new.sent
    joining.cancel()


@pytest.mark.parametrize("version", [1, 3, 5])
def test_a_leave_is_answered_in_its_own_version(version):
    @run
    async def answered():
        gateway = SeatGateway()
        old = await member(gateway)
        _, entering = await waiting(gateway)
        assert await old.leave(version=version) == 0
        await entering
        assert gateway.acts.done("keep") == 1

    answered()


@run
async def test_a_leave_is_answered_after_all_earlier_requests():
    gateway = SeatGateway()
    old = await member(gateway)
    _, entering = await waiting(gateway)
    old.unanswered = 1  # a commit
    leaving = asyncio.create_task(old.leave())
    await settle()
    assert not leaving.done()
    assert gateway.acts.done("keep") == 0
    old.unanswered = 0
    assert await leaving == 0
    await entering


@run
async def test_without_a_newcomer_a_leave_passes_and_the_group_goes_on():
    gateway = SeatGateway()
    old, other = await member(gateway), SeatClient(gateway, "other")
    joining = asyncio.create_task(other.enter())
    await gateway.advance(61)
    await asyncio.gather(joining, old.enter())
    assert await old.leave() == 0
    assert await other.heartbeat() == REBALANCING
    assert gateway.acts.done("pass_leave") == 1


@run
async def test_a_consumer_that_left_by_its_poll_limit_leaves_for_real_though_a_newcomer_waits():
    gateway = SeatGateway()
    old = await member(gateway)
    new, entering = await waiting(gateway)
    assert await old.leave("consumer poll timeout has expired.") == 0
    await gateway.advance(2)
    await entering
    assert len(gateway.coordinator.asked(LeaveGroupRequest)) == 1
    assert gateway.acts.done("handover") == 0
    assert new.generation > old.generation


@run
async def test_a_kept_seat_gets_heartbeats_on_the_connection_of_its_last_member_until_it_is_given_up():
    gateway = SeatGateway("orders=on,seats.keep.seconds=60")
    old = await member(gateway)
    assert await old.leave() == 0
    closing = await ended(old)
    await gateway.advance(50)
    (kept,) = gateway.coordinator.model.members.values()
    assert gateway.clock.monotonic() - kept.heard_at < 1
    assert (closing.done(), gateway.acts.vacant) == (False, 1)
    await gateway.advance(12)
    assert gateway.coordinator.model.members == {}
    assert (gateway.acts.done("give_up"), gateway.acts.vacant, closing.done()) == (1, 0, True)
    assert 60 * 6 <= gateway.acts.partition_seconds["on"] <= 62 * 6


@run
async def test_a_successor_within_the_time_of_the_rule_takes_the_seat():
    gateway = SeatGateway("orders=on,seats.keep.seconds=60")
    old = await member(gateway)
    await old.leave()
    closing = await ended(old)
    await gateway.advance(5)
    new = await member(gateway, "new")
    await gateway.advance(1)
    assert (new.generation, closing.done()) == (old.generation, True)
    assert gateway.acts.done("handover") == 1


@run
async def test_a_consumer_that_left_and_keeps_running_does_not_keep_its_seat():
    gateway = SeatGateway("orders=on,seats.keep.seconds=60")
    old = await member(gateway)
    await old.leave()
    await gateway.advance(4)
    assert gateway.coordinator.model.members == {}
    assert gateway.acts.done("give_up") == 1


@run
async def test_a_newcomer_with_another_subscription_does_not_get_the_seat():
    gateway = SeatGateway()
    old = await member(gateway)
    _, entering = await waiting(gateway, metadata=OTHER_TOPIC)
    assert await old.leave() == 0
    await gateway.advance(70)
    await entering
    assert gateway.acts.done("handover") == 0


@run
async def test_the_seat_of_a_process_that_closed_all_its_connections_is_given_up_after_the_window():
    gateway = SeatGateway()
    old = await member(gateway)
    closing = await ended(old)
    await gateway.advance(9)
    assert len(gateway.coordinator.model.members) == 1
    await gateway.advance(2)
    assert (gateway.coordinator.model.members, closing.done()) == ({}, True)


@run
async def test_a_successor_of_a_crashed_process_takes_its_seat_at_once():
    gateway = SeatGateway()
    old = await member(gateway)
    await ended(old)
    await gateway.advance(1)
    new = await member(gateway)
    assert (new.generation, gateway.acts.done("handover")) == (old.generation, 1)


@run
async def test_a_process_counts_as_alive_while_a_connection_with_its_client_id_is_open():
    gateway = SeatGateway()
    old, again = await member(gateway), SeatClient(gateway, "old")
    await ended(old)
    await gateway.advance(30)
    again.member_id, again.generation = old.member_id, old.generation
    assert await again.heartbeat() == 0


@run
async def test_a_closed_connection_from_another_machine_is_no_crash():
    gateway = SeatGateway()
    old = await member(gateway, host="10.0.0.7")
    closing = await ended(old)
    await gateway.advance(30)
    assert (len(gateway.coordinator.model.members), closing.done()) == (1, True)


@run
async def test_a_member_that_the_coordinator_removed_has_no_seat_any_more():
    gateway = SeatGateway("orders=on,seats.hold.seconds=5")
    old = await member(gateway, host="10.0.0.7")
    await ended(old)
    gateway.clock.advance(60_000)
    gateway.coordinator.model.tick(gateway.clock.monotonic())
    assert gateway.coordinator.model.members == {}
    assert gateway.seats.of("orders").seat_of(old.member_id)
    await member(gateway, "new")
    assert gateway.seats.of("orders").seat_of(old.member_id) is None
    assert gateway.acts.counted["seat", "done"] == 2


@run
async def test_observing_does_not_delay_a_leave():
    gateway = SeatGateway("orders=observe")
    old = await member(gateway)
    old.unanswered = 1  # a commit
    assert await old.leave() == 0


@run
async def test_the_seat_of_a_consumer_that_left_is_kept_although_others_have_its_client_id():
    gateway = SeatGateway("orders=on,seats.keep.seconds=60")
    old, _other = await member(gateway), SeatClient(gateway, "old")
    await old.leave()
    await ended(old)
    await gateway.advance(10)
    assert (len(gateway.coordinator.model.members), gateway.acts.vacant) == (1, 1)


@run
async def test_a_client_that_reconnected_and_is_killed_then_is_noticed():
    gateway = SeatGateway()
    old = await member(gateway)
    await ended(old)
    again = SeatClient(gateway, "old")
    again.member_id, again.generation = old.member_id, old.generation
    assert await again.heartbeat() == 0
    await gateway.advance(20)
    assert len(gateway.coordinator.model.members) == 1
    await ended(again)
    await gateway.advance(12)
    assert gateway.coordinator.model.members == {}


@run
async def test_a_group_that_is_no_longer_classic_gets_no_further_seats():
    gateway = SeatGateway()
    old = await member(gateway)
    gateway.coordinator.hidden = True
    new = SeatClient(gateway, "new")
    joining = asyncio.create_task(new.join())
    await gateway.advance(5)
    assert [frame == passed for frame, passed in new.sent] == [True, True]
    assert await old.heartbeat() == REBALANCING
    joining.cancel()


@run
async def test_a_client_that_reconnects_within_the_window_keeps_its_seat():
    gateway = SeatGateway()
    for number in range(20):
        if not number:
            one = await member(gateway)
        await ended(one)
        await gateway.advance(2)
        again = SeatClient(gateway, "old")
        again.member_id, again.generation = one.member_id, one.generation
        assert await again.heartbeat() == 0
        one = again
    await gateway.advance(30)
    assert await one.heartbeat() == 0
    assert gateway.acts.counted["give_up", "done"] == 0


@run
async def test_a_seat_that_the_coordinator_does_not_take_back_for_long_is_reported_once():
    gateway = SeatGateway()
    old = await member(gateway)
    gateway.coordinator.model.leave = lambda *_: NOT_COORDINATOR
    await ended(old)
    await gateway.advance(20)  # it is tried twice a second
    assert (gateway.acts.counted["give_up", "failed"], gateway.acts.done("give_up")) == (1, 0)


@run
async def test_a_rebalance_ends_kept_seats_at_once():
    gateway = SeatGateway("orders=on,seats.hold.seconds=1,seats.keep.seconds=60")
    old, other = await member(gateway), SeatClient(gateway, "other")
    joining = asyncio.create_task(other.enter())
    await gateway.advance(2)
    await asyncio.gather(joining, old.enter())
    await old.leave()
    await ended(old)
    await gateway.advance(1)
    rejoining = asyncio.create_task(SeatClient(gateway, "plain").send(other._join_request(member_id="")))
    await gateway.advance(4)
    assert gateway.coordinator.model.state == "preparing" or gateway.acts.done("handover")
    rejoining.cancel()


@run
async def test_after_switching_off_the_gateway_holds_and_keeps_nothing():
    gateway = SeatGateway("orders=on,seats.hold.seconds=1,seats.keep.seconds=60; others=on")
    old = await member(gateway)
    await old.leave()
    await ended(old)
    await gateway.seats.switch_off()
    assert gateway.coordinator.model.members == {}
    assert gateway.acts.done("give_up") == 1
    one = await member(gateway, "later")
    assert one.sent[0][0] == one.sent[0][1]


@run
async def test_after_switching_off_a_held_join_is_forwarded_unchanged():
    gateway = SeatGateway()
    old = await member(gateway)
    new, entering = await waiting(gateway)
    await gateway.seats.switch_off()
    await settle()
    await asyncio.gather(entering, old.enter())
    assert [frame == passed for frame, passed in new.sent] == [True, True, True]
    assert gateway.acts.done("pass_join") == 1


@pytest.mark.parametrize("version", [2, 5, 6])
@run
async def test_a_group_with_unfenced_commits_has_no_seats(version):
    gateway = SeatGateway()
    await member(gateway)
    fields = {"transactional_id": "x", "group_id": "orders", "producer_id": 1, "producer_epoch": 0, "topics": []}
    producer = SeatClient(gateway, "producer")
    message = TxnOffsetCommitRequest(version=min(version, 5), **fields)  # without topics, 6 differs by its number only
    message.with_header(correlation_id=1, client_id="producer")
    frame = bytes(message.encode(header=True))
    frame = frame[:2] + version.to_bytes(2, "big") + frame[4:]
    assert producer.talk.wants(read_head(frame))
    assert await producer.talk.request(read_head(frame), frame, producer.ask) == frame
    new = SeatClient(gateway, "new")
    joining = asyncio.create_task(new.join())
    await settle()
    assert new.sent[0][0] == new.sent[0][1]
    joining.cancel()


@run
async def test_a_returned_leader_that_would_not_notice_new_partitions_must_rejoin():
    gateway = SeatGateway()
    old = await member(gateway, version=5)
    new, entering = await waiting(gateway, version=5)
    await old.leave()
    await entering
    await gateway.advance(31)
    assert await new.heartbeat() == 0
    gateway.coordinator.partitions += 1
    await gateway.advance(31)
    assert await new.heartbeat() == REBALANCING
    assert await new.heartbeat() == 0


@pytest.mark.parametrize(
    ("software", "rebalance_ms", "seconds"),
    [
        ("apache-kafka-java", 300_000, 150),
        ("confluent-kafka-python", 300_000, 150),
        ("kafka-python", 60_000, 30),
        ("sarama", 60_000, 12),
        ("", 10_000, 5),
        ("", -1, 12),
    ],
)
def test_a_client_is_held_for_half_of_its_request_timeout(software, rebalance_ms, seconds):
    assert patience_seconds(software, rebalance_ms) == seconds


@pytest.mark.no_cover  # other tests cover the same lines
@run
async def test_a_thousand_held_joins_cost_no_thread_and_little_memory(monkeypatch):
    # Sending them takes seconds of processor time.
    monkeypatch.setattr(acting_group, "OVERDUE_SECONDS", 300.0)
    gateway = SeatGateway()
    await member(gateway)
    threads = threading.active_count()
    with traced_memory() as used:
        clients = [SeatClient(gateway, f"new-{number}") for number in range(1_000)]
        tasks = [asyncio.create_task(each.enter()) for each in clients]
        await settle()
        gateway.seats.step()
        taken, _ = used()
    assert gateway.acts.held == 1_000
    assert threading.active_count() <= threads
    assert taken < 50 * MEBIBYTE
    for each in tasks:
        each.cancel()


@run
async def test_a_join_beyond_the_bounds_is_forwarded():
    gateway = SeatGateway()
    await member(gateway)
    large = encode_subscription(ConsumerSubscription(3, ("t",), user_data=b"x" * 40_000))
    new = SeatClient(gateway, "new")
    joining = asyncio.create_task(new.join(metadata=large))
    await settle()
    assert [frame == passed for frame, passed in new.sent] == [True, True]
    joining.cancel()


@run
async def test_observing_counts_the_rebalances_that_would_have_been_spared():
    gateway = SeatGateway("orders=observe")
    old, new = await member(gateway), SeatClient(gateway, "new")
    joining = asyncio.create_task(new.join())
    await settle()
    await asyncio.gather(joining, old.join())
    await asyncio.gather(new.sync(), old.sync())
    assert await old.leave() == 0
    assert await new.heartbeat() == REBALANCING
    gateway.seats.step()
    assert gateway.acts.rebalances_spared["observe"] == 1
    assert gateway.acts.counted["handover", "predicted"] == 1
    assert {outcome for _, outcome in gateway.acts.counted} == {"predicted"}
