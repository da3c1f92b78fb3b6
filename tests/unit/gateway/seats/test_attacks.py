"""Hostile clients and unlucky orders of frames, in groups with seats: a client must not affect another member."""

from __future__ import annotations

import asyncio

import pytest
import structlog
from kafka.protocol.consumer.group import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeaveGroupResponse,
)
from kafka.protocol.producer import TxnOffsetCommitRequest

from rebalance_agent.clock import FakeClock
from rebalance_agent.gateway.seating import acting_group
from rebalance_agent.gateway.seating.act_report import ActReport
from rebalance_agent.gateway.seating.acting_group import ActingGroup
from rebalance_agent.gateway.seating.acts.act_events import ActEvents
from rebalance_agent.gateway.seating.connections.open_clients import OpenClients
from rebalance_agent.gateway.seating.group_names import GROUP_NAMES_MAX, GroupNames
from rebalance_agent.gateway.seating.newcomers import HELD_BYTES_MAX
from rebalance_agent.gateway.seats.group_seats import GroupSeats
from rebalance_agent.gateway.seats.predicted_seats import PredictedSeats
from rebalance_agent.gateway.seats.rules.leave_rules import LeaveForecast
from rebalance_agent.gateway.seats.seat_acts import AnswerLeave, ForwardSeated, GiveUpSeat, KeepSeat
from rebalance_agent.gateway.transport.request_head import read_head
from rebalance_agent.groupprotocol.consumer_protocol import encode_subscription
from rebalance_agent.model.reported.seat_event import Act, ActOutcome
from rebalance_agent.model.subscription import ConsumerSubscription
from support.gateway.acts import RecordedActs
from support.gateway.seat_clients import GROUP, SeatClient, SeatGateway, settle
from support.gateway.seats import CHEAP, STABLE, newcomer, only, seated, seats
from support.memory import traced_memory
from support.seats.frame_steps import OTHER_TOPIC, UNKNOWN, ended, member, run, waiting

MEBIBYTE = 1024 * 1024
REFUSED = 30
"""GROUP_AUTHORIZATION_FAILED."""


async def passed(client, message):
    """Return the gateway's reaction to a request, which the coordinator does not get."""
    message.with_header(correlation_id=1, client_id=client.client_id)
    frame = bytes(message.encode(header=True))
    return await client.talk.request(read_head(frame), frame, client.ask), frame


def commits(version, member_id=""):
    """A transactional commit of no offsets; from version 3 on it may name the member."""
    names = {"member_id": member_id, "generation_id": 1 if member_id else -1} if version >= 3 else {}
    fields = {"transactional_id": "x", "group_id": GROUP, "producer_id": 1, "producer_epoch": 0, "topics": []}
    return TxnOffsetCommitRequest(version=version, **fields, **names)


def beat(member_id, generation=1):
    fields = {"group_id": GROUP, "generation_id": generation, "member_id": member_id}
    return HeartbeatRequest(version=3, group_instance_id=None, **fields)


def without_rights(gateway):
    """A client whose requests the coordinator refuses, including those that the gateway sends on its connection."""
    one = SeatClient(gateway, "hostile", host="10.0.0.9")

    async def refused(message):
        return HeartbeatResponse(version=message.version, error_code=REFUSED)

    one.ask = refused
    return one


def goodbye(member_id):
    kind = LeaveGroupRequest.MemberIdentity
    one = kind(version=3, member_id=member_id, group_instance_id=None)
    return LeaveGroupRequest(version=3, group_id=GROUP, members=[one])


# -- requests about another client's membership -----------------------------------------------------------------------


@run
async def test_a_client_without_rights_cannot_make_another_member_leave():
    gateway = SeatGateway("orders=on,seats.keep.seconds=60")
    old = await member(gateway)
    hostile = without_rights(gateway)
    shown, frame = await passed(hostile, goodbye(old.member_id))
    assert shown == frame, "only the coordinator knows whether this client has the right"
    await gateway.advance(5)
    assert await old.heartbeat() == 0


@run
async def test_a_leave_on_a_new_connection_counts_once_the_coordinator_confirms_it():
    gateway = SeatGateway("orders=on,seats.keep.seconds=60")
    old = await member(gateway)
    again = SeatClient(gateway, "old")
    again.member_id, again.generation = old.member_id, old.generation
    beats = len(gateway.coordinator.asked(HeartbeatRequest))
    assert await again.leave() == 0
    assert len(gateway.coordinator.asked(HeartbeatRequest)) == beats + 1
    assert gateway.acts.done("keep") == 1


@run
async def test_a_client_without_rights_cannot_give_another_members_seat_to_a_newcomer():
    gateway = SeatGateway()
    old = await member(gateway)
    _, entering = await waiting(gateway)
    hostile = without_rights(gateway)
    await passed(hostile, goodbye(old.member_id))
    await settle()
    entering.cancel()
    assert await old.heartbeat() == 0
    assert gateway.acts.done("handover") == 0


@run
async def test_a_connection_that_names_another_member_and_closes_is_not_the_crash_of_that_member():
    gateway = SeatGateway()
    old = await member(gateway)
    _, entering = await waiting(gateway)
    hostile = SeatClient(gateway, "hostile")
    await passed(hostile, beat(old.member_id, generation=-1))
    await ended(hostile)
    await gateway.advance(1)
    entering.cancel()
    assert gateway.acts.done("handover") == 0
    assert await old.heartbeat() == 0


@run
async def test_a_transactional_producer_that_is_closed_is_not_the_crash_of_its_consumer():
    gateway = SeatGateway()
    old = await member(gateway)
    _, entering = await waiting(gateway)
    producer = SeatClient(gateway, "producer-1")
    await passed(producer, commits(3, old.member_id))
    await ended(producer)
    await gateway.advance(1)
    entering.cancel()
    assert gateway.acts.done("handover") == 0
    assert await old.heartbeat() == 0


@run
async def test_a_refused_join_does_not_change_the_known_member():
    gateway = SeatGateway()
    old = await member(gateway)
    hostile = SeatClient(gateway, "hostile", host="10.0.0.9")
    await passed(hostile, hostile._join_request(member_id=old.member_id, metadata=OTHER_TOPIC))
    new = SeatClient(gateway, "new")
    entering = asyncio.create_task(new.enter(metadata=OTHER_TOPIC))
    await settle()
    await old.leave()
    await gateway.advance(1)
    entering.cancel()
    assert gateway.acts.done("handover") == 0, (
        "it subscribes to another topic, and would get the assignment of the old one"
    )


@pytest.mark.parametrize("vacant", [False, True])
@run
async def test_a_client_that_copies_the_instance_id_of_a_seat_is_left_to_the_coordinator(vacant):
    gateway = SeatGateway("orders=on,seats.keep.seconds=60")
    old = await member(gateway)
    (seat,) = gateway.seats.of(GROUP)._seats.table
    if vacant:
        await old.leave()
        await ended(old)
    copies = await SeatClient(gateway, "copies").enter(group_instance_id=seat.instance_id)
    assert all(frame == sent for frame, sent in copies.sent)
    if not vacant:
        assert await old.heartbeat() == UNKNOWN
    await gateway.advance(5)
    assert await copies.heartbeat() == 0, "its membership is not given up"
    assert not gateway.seats.of(GROUP)._seats.table.get(seat.instance_id)


@run
async def test_a_leave_of_several_members_or_of_an_instance_is_left_to_the_coordinator():
    gateway = SeatGateway("orders=on,seats.keep.seconds=60")
    old = await member(gateway)
    kind, admin = LeaveGroupRequest.MemberIdentity, SeatClient(gateway, "admin")
    one = kind(version=3, member_id=old.member_id, group_instance_id=None)
    other = kind(version=3, member_id="other", group_instance_id=None)
    named = kind(version=3, member_id=old.member_id, group_instance_id="mine")
    for members in ([one, other], [one, one], [named], []):
        shown, frame = await passed(admin, LeaveGroupRequest(version=3, group_id=GROUP, members=members))
        assert shown == frame


@run
async def test_a_repeated_leave_does_not_end_the_successor():
    gateway = SeatGateway()
    old = await member(gateway)
    new, entering = await waiting(gateway)
    assert await old.leave() == 0
    await entering
    assert await old.leave() == UNKNOWN
    assert await new.heartbeat() == 0


@run
async def test_a_consumer_that_leaves_and_joins_repeatedly_takes_no_memory():
    gateway = SeatGateway()
    old = await member(gateway)
    for _ in range(50):
        assert await old.leave() == 0
        old.member_id = ""
        await old.enter()
    group = gateway.seats.of(GROUP)
    assert len(group._seats.table) == 1
    assert len(group._connections._of_seat) <= 2


@run
async def test_seats_are_kept_even_without_a_hold():
    gateway = SeatGateway("orders=on,seats.hold.seconds=0,seats.keep.seconds=60")
    old = await member(gateway)
    await old.leave()
    await ended(old)
    await gateway.advance(5)
    await member(gateway, "new")
    assert gateway.acts.done("handover") == 1


# -- commits that nothing fences -------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [2, 3])
def test_commits_in_transactions_that_name_no_member_end_seats_in_any_version(version):
    @run
    async def no_seats():
        gateway = SeatGateway()
        await member(gateway)
        await passed(SeatClient(gateway, "producer"), commits(version))
        new = SeatClient(gateway, "new")
        joining = asyncio.create_task(new.join())
        await settle()
        assert [frame == sent for frame, sent in new.sent[:1]] == [True]
        joining.cancel()

    no_seats()


@run
async def test_a_group_with_unfenced_commits_has_no_seats_also_after_all_its_members_were_gone():
    gateway = SeatGateway()
    old = await member(gateway)
    producer = SeatClient(gateway, "producer")
    await passed(producer, commits(2))
    assert await old.leave() == 0
    await ended(producer)
    await ended(old)
    await gateway.advance(70)
    await SeatClient(gateway, "new").enter()
    assert gateway.coordinator.asked(JoinGroupRequest)[-1].group_instance_id is None


# -- bounds in bytes -------------------------------------------------------------------------------------------


def large(size, number=0):
    return encode_subscription(ConsumerSubscription(3, ("t",), user_data=number.to_bytes(4, "big") + b"x" * size))


@run
async def test_observing_keeps_no_large_subscriptions_of_newcomers():
    gateway = SeatGateway("orders=observe")
    client = SeatClient(gateway)
    await client.send(client._join_request(member_id="", metadata=large(MEBIBYTE)))  # kafka-python keeps its buffer
    with traced_memory() as used:
        for number in range(16):
            answer = await client.send(client._join_request(member_id="", metadata=large(MEBIBYTE, number)))
            assert answer.error_code == 79
            client.sent.clear()
            client.shown.clear()
            gateway.coordinator.came.clear()
        taken, _ = used()
    assert taken < 16 * HELD_BYTES_MAX + MEBIBYTE


@run
async def test_a_seat_keeps_no_large_subscription_of_a_member_that_joins_again():
    gateway = SeatGateway()
    old = await member(gateway)
    await old.enter(metadata=large(MEBIBYTE))
    (seat,) = gateway.seats.of(GROUP)._seats.table
    kept = 0 if seat.profile is None else sum(len(offer.user_data) for offer in seat.profile.assignors)
    assert kept <= 2 * HELD_BYTES_MAX


@run
async def test_a_join_whose_bytes_are_mostly_unknown_fields_is_not_held():
    gateway = SeatGateway()
    await member(gateway)
    new = SeatClient(gateway, "new")
    message = new._join_request()
    message.with_header(correlation_id=1, client_id="new")
    frame = bytes(message.encode(header=True))
    assert frame.endswith(b"\0")
    size = MEBIBYTE - 1  # as a varint: ff ff 3f
    frame = frame[:-1] + b"\1\x63\xff\xff\x3f" + b"x" * size
    joining = asyncio.create_task(new.talk.request(read_head(frame), frame, new.ask))
    await settle()
    assert joining.done()


@pytest.mark.no_cover  # other tests cover the same lines
@run
async def test_a_thousand_held_joins_of_the_largest_size_cost_little_memory(monkeypatch):
    # Sending them takes seconds of processor time.
    monkeypatch.setattr(acting_group, "OVERDUE_SECONDS", 300.0)
    gateway = SeatGateway()
    await member(gateway)
    topics = tuple(f"{number:04x}" for number in range(5_000))
    data = encode_subscription(ConsumerSubscription(3, topics))
    assert len(data) < HELD_BYTES_MAX
    with traced_memory() as used:
        clients = [SeatClient(gateway, f"new-{number}") for number in range(50)]
        tasks = [asyncio.create_task(each.enter(metadata=bytes(bytearray(data)))) for each in clients]
        await settle()
        taken, _ = used()
    assert gateway.acts.held in (0, 50)
    for each in tasks:
        each.cancel()
    print("bytes of each", taken // 50, "of", len(data))
    assert taken < 50 * 4 * HELD_BYTES_MAX


# -- no request waits beyond the bound -----------------------------------------------------------------------------


@run
async def test_two_leaves_of_one_member_on_two_connections_are_both_answered():
    gateway = SeatGateway()
    old = await member(gateway)
    asked = asyncio.get_running_loop().create_future()

    async def slow(_message):
        return await asked

    again = SeatClient(gateway, "old")
    again.member_id, again.generation = old.member_id, old.generation
    assert await again.heartbeat() == 0  # otherwise the coordinator would be queried first
    old.ask = again.ask = slow
    first, second = asyncio.create_task(old.leave()), asyncio.create_task(again.leave())
    await gateway.advance(10)
    assert (first.done(), second.done()) == (True, True)


@run
async def test_a_leave_without_a_decision_is_sent_in_the_end(monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("a bug")

    gateway = SeatGateway()
    old = await member(gateway)
    monkeypatch.setattr(GroupSeats, "due", broken)
    monkeypatch.setattr(GroupSeats, "described", broken)
    leaving = asyncio.create_task(old.leave())
    await gateway.advance(30)
    done, _ = await asyncio.wait((leaving,), timeout=5)
    leaving.cancel()
    assert done, "the LeaveGroup would wait without end"


@run
async def test_a_newcomer_is_held_once_although_the_coordinator_moved():
    gateway = SeatGateway("orders=on,seats.hold.seconds=10")
    await member(gateway)
    new, joining = SeatClient(gateway, "new"), None
    gateway.coordinator.errors[JoinGroupRequest] = 16
    joining = asyncio.create_task(new.join())
    await gateway.advance(11)
    assert (await joining).error_code == 16
    joining = asyncio.create_task(new.join())
    await gateway.advance(2)
    joining.cancel()
    assert gateway.acts.held == 0, "it has waited for the maximum time"


# -- unlucky orders --------------------------------------------------------------------------------------------


def test_a_seat_stays_known_if_its_former_member_is_refused_before_its_successors_response():
    group = seats()
    seated(group, process=7)
    group.described(STABLE, 10)
    group.connections_closed(7, 10)
    group.facts.lock_answered(11)
    acts = group.join(newcomer(2), 11, 11)
    assert only(acts, ForwardSeated)
    group.heartbeat_answered("m1", UNKNOWN, 11.1)
    group.join_answered(2, 0, "m2", 5, leads=False, now=11.2)
    group.sync_answered("m2", 0, 11.3)
    group.described(STABLE, 12)
    group.facts.lock_answered(12)
    group.join(newcomer(3), 12, 12)
    acts = group.leave("m2", None, LeaveForecast(), 13, 13)
    if only(acts, AnswerLeave):
        assert only(acts, ForwardSeated) or only(group.due(14), (KeepSeat, GiveUpSeat)), "answered, and forgotten"


@run
async def test_a_newcomer_that_is_gone_when_the_member_leaves_does_not_block_the_seat_for_a_session():
    gateway = SeatGateway()
    old = await member(gateway)
    new, entering = await waiting(gateway)
    answered = asyncio.Event()

    async def slow(frame):
        answer = await new._broker(frame)
        await answered.wait()
        return answer

    new.exchange, new.gone = slow, True  # the next check for this is up to half a second later
    assert await old.leave() == 0
    await ended(old)
    await gateway.advance(1)
    answered.set()
    with pytest.raises(ConnectionAbortedError):
        await entering
    await ended(new)
    await gateway.advance(20)
    gateway.coordinator.model.tick(gateway.clock.monotonic())
    assert gateway.coordinator.model.members == {}, "no member consumes its partitions until the session ends"


@pytest.mark.parametrize("another", [False, True])
def test_a_newcomer_that_is_gone_before_the_response_leaves_its_seat(another):
    @run
    async def leaves():
        gateway = SeatGateway()
        old = await member(gateway)
        new, entering = await waiting(gateway)
        exchange, other = new.exchange, None

        async def gone(frame):
            new.gone = True
            return await exchange(frame)

        new.exchange = gone
        if another:
            other, joining = await waiting(gateway, "other")
        assert await old.leave() == 0
        await ended(old)
        await gateway.advance(1)
        await entering
        await ended(new)
        await gateway.advance(1)
        if another:
            await joining
        members = gateway.coordinator.model.members
        assert list(members) == ([other.member_id] if another else [])
        assert gateway.coordinator.model.rebalances == (1 if another else 2)

    leaves()


@run
async def test_a_seat_is_given_up_once_its_waiting_newcomer_is_gone():
    gateway = SeatGateway()
    old = await member(gateway)
    new, entering = await waiting(gateway)

    async def broken(_frame):
        raise ConnectionAbortedError("closed")

    new.exchange = broken
    assert await old.leave() == 0
    await settle()
    await ended(old)
    with pytest.raises(ConnectionAbortedError):
        await entering
    await gateway.advance(5)
    assert gateway.coordinator.model.members == {}, "seats.keep.seconds is 0"


@run
async def test_a_seat_is_given_up_at_the_new_coordinator_after_it_moved():
    gateway = SeatGateway("orders=on,seats.hold.seconds=1,seats.keep.seconds=60")
    old, other = await member(gateway), SeatClient(gateway, "other")
    joining = asyncio.create_task(other.enter())
    await gateway.advance(2)
    await asyncio.gather(joining, old.enter())
    await old.leave()
    await ended(old)

    async def moved(message):
        if isinstance(message, HeartbeatRequest):
            return HeartbeatResponse(version=message.version, error_code=16)
        return LeaveGroupResponse(version=message.version, error_code=16, members=[])

    old.ask = moved
    await gateway.advance(62)
    members = gateway.coordinator.model.members
    assert old.member_id not in members, "requested on a connection to a former coordinator"


@run
async def test_a_client_that_reconnects_within_the_window_is_alive_although_its_heartbeat_is_not_due():
    gateway = SeatGateway()
    old = await member(gateway)
    await ended(old)
    await gateway.advance(1)
    again = SeatClient(gateway, "old")
    again.member_id, again.generation = old.member_id, old.generation
    await gateway.advance(14)
    assert await again.heartbeat() == 0


@run
async def test_a_waiting_newcomer_does_not_take_the_seat_of_a_client_that_only_reconnects():
    gateway = SeatGateway()
    old = await member(gateway)
    _, entering = await waiting(gateway)
    await ended(old)
    await gateway.advance(1)
    again = SeatClient(gateway, "old")
    again.member_id, again.generation = old.member_id, old.generation
    entering.cancel()
    assert await again.heartbeat() == 0


@run
async def test_a_recreated_group_has_seats_again():
    gateway = SeatGateway("orders=on,seats.hold.seconds=5")
    old = await member(gateway, host="10.0.0.7")
    await ended(old)
    gateway.clock.advance(60_000)
    gateway.coordinator.model.tick(gateway.clock.monotonic())
    gateway.coordinator.hidden = True  # a group without offsets ends with its last member
    new = SeatClient(gateway, "new")
    joining = asyncio.create_task(new.enter())
    await gateway.advance(5)
    gateway.coordinator.hidden = False
    await gateway.advance(5)
    await joining
    later = SeatClient(gateway, "later")
    joining = asyncio.create_task(later.join())
    await settle()
    joining.cancel()
    assert not later.sent, "held for a predecessor, as in any group with seats"


# -- errors of one part ----------------------------------------------------------------------------------------


@run
async def test_an_error_of_one_group_does_not_prevent_switching_off_others(monkeypatch):
    gateway = SeatGateway(".*=on,seats.keep.seconds=60")
    gateway.seats.of("another")
    old = await member(gateway)
    await old.leave()
    await ended(old)
    stop = ActingGroup.stop

    def broken(group, *, keep=False):
        if group.group == "another":
            raise RuntimeError("a bug")
        stop(group, keep=keep)

    monkeypatch.setattr(ActingGroup, "stop", broken)
    gateway.seats.of("another")
    await gateway.seats.switch_off()
    assert gateway.coordinator.model.members == {}


@run
async def test_an_error_of_one_group_does_not_end_the_timers_of_others(monkeypatch):
    gateway = SeatGateway(".*=on,seats.keep.seconds=60")
    old = await member(gateway)
    await old.leave()
    await ended(old)
    fields = {"group_id": "another", "generation_id": 1, "member_id": "m"}
    await passed(SeatClient(gateway, "x"), HeartbeatRequest(version=3, group_instance_id=None, **fields))
    due = ActingGroup.next_due
    monkeypatch.setattr(ActingGroup, "next_due", lambda group: due(group) if group.group == GROUP else 1 / 0)
    running = asyncio.create_task(gateway.seats.run())
    await settle()
    assert not running.done()
    running.cancel()


# -- groups that have no seats -------------------------------------------------------------------------------------


@run
async def test_a_seat_is_not_kept_in_a_group_that_the_coordinator_does_not_describe_as_classic():
    gateway = SeatGateway("orders=on,seats.keep.seconds=60")
    gateway.coordinator.hidden = True  # a group of KIP-848, which a member of the classic protocol joins
    old = await member(gateway)
    await old.leave()
    assert gateway.acts.done("keep") == 0


@run
async def test_one_client_that_names_many_groups_cannot_take_the_seats_of_all():
    gateway = SeatGateway(".*=on")
    hostile = SeatClient(gateway, "hostile", host="10.0.0.9")
    for number in range(100):
        fields = {"group_id": f"name-{number}", "generation_id": 1, "member_id": "m"}
        await passed(hostile, HeartbeatRequest(version=3, group_instance_id=None, **fields))
    await member(gateway)
    assert gateway.acts.done("seat") == 1


@run
async def test_a_member_that_reconnected_and_lost_its_membership_then_is_not_held_for_a_predecessor():
    gateway = SeatGateway()
    one, other = await member(gateway), SeatClient(gateway, "other")
    joining = asyncio.create_task(other.enter())
    await gateway.advance(61)
    await asyncio.gather(joining, one.enter())
    again = SeatClient(gateway, "old")
    again.member_id, again.generation = one.member_id, one.generation
    assert await again.heartbeat() == 0
    gateway.coordinator.errors[HeartbeatRequest] = UNKNOWN  # the member's session ended
    assert await again.heartbeat() == UNKNOWN
    again.member_id = ""
    joining = asyncio.create_task(again.join())
    await gateway.advance(5)
    joining.cancel()
    assert gateway.acts.held == 0


def test_closed_connections_of_one_client_are_remembered_in_bounded_number():
    clients = OpenClients(10.0)
    clients.opened(Closed(), "x" * 30_000)
    for _ in range(1_100):
        one = Closed()
        clients.opened(one, "x" * 30_000)
        clients.ended(one, 0.0, by_client=True)
    clients.crashed(0.0)
    assert len(clients._closed) <= 1_000, "at most the number of open connections"


class Closed:
    """A connection."""

    host = "127.0.0.1"


# -- observing -------------------------------------------------------------------------------------------------


@run
async def test_observing_counts_newcomers_with_time_between_their_two_joins():
    gateway = SeatGateway("orders=observe")
    old = SeatClient(gateway, "old")
    old.joined = await old.send(old._join_request())
    old.member_id = old.joined.member_id
    await gateway.advance(1)
    await old.enter()
    await gateway.advance(4)  # before that newcomers join at once, as where a group begins
    new = SeatClient(gateway, "new")
    joining = asyncio.create_task(new.join())
    await settle()
    await asyncio.gather(joining, old.join())
    await asyncio.gather(new.sync(), old.sync())
    assert await old.leave() == 0
    gateway.seats.step()
    assert gateway.acts.rebalances_spared["observe"] == 1


def test_observing_goes_on_after_many_members_vanished_without_leaving():
    predicted = PredictedSeats(seats(seats_max=2))
    for number, name in enumerate("abcd", 1):
        now = 1_000.0 * number
        predicted.joined(newcomer(number), name, now, now)
        for second in range(61):
            predicted.due(now + second)
    predicted.joined(newcomer(5), "e", 5_000, 5_000)
    predicted.left("d", None, LeaveForecast(), 5_001, 5_001, partitions=1, stable=True)
    assert predicted.tally.rebalances_saved_min == 1


@pytest.mark.parametrize("leaves", [True, False])
def test_a_seat_that_a_newcomer_joins_with_stays_known_whatever_its_former_member_does(leaves):
    group = seats()
    instance_id = seated(group, process=7)
    group.described(STABLE, 10)
    group.connections_closed(7, 10)
    group.facts.lock_answered(11)
    assert only(group.join(newcomer(2), 11, 11), ForwardSeated)
    if leaves:
        group.leave("m1", None, LeaveForecast(), 11.1, 11.1)
    else:
        group.heartbeat_answered("m1", UNKNOWN, 11.1)
    group.join_answered(2, 0, "m2", 5, leads=False, now=11.2)
    assert group.table.get(instance_id) is group.table.of_member("m2")


def test_a_seat_that_its_successor_did_not_get_is_given_up_if_seats_were_switched_off():
    group = seats()
    seated(group)
    group.described(STABLE, 10)
    group.leave("m1", None, CHEAP, 10, 10)
    (seat,) = group.table
    group.join(newcomer(2), 11, 11)
    assert only(group.lock_answered(seat.instance_id, granted=True, now=11), ForwardSeated)
    group.stop(12)
    acts, _ = group.join_answered(2, 23, "", -1, leads=False, now=13)
    assert only(acts, GiveUpSeat), "no newcomer takes it any more"


@run
async def test_all_held_joins_have_a_bound_in_bytes(monkeypatch):
    monkeypatch.setattr("rebalance_agent.gateway.seating.newcomers.HELD_TOTAL_BYTES_MAX", 50_000)
    gateway = SeatGateway("orders=on,seats.hold.seconds=5")
    old = await member(gateway)
    clients = [SeatClient(gateway, f"new-{number}") for number in range(3)]
    tasks = [asyncio.create_task(each.join(metadata=large(20_000))) for each in clients]
    await settle()
    assert [bool(each.sent) for each in clients] == [False, False, True]
    await gateway.advance(6)
    again = SeatClient(gateway, "again")
    tasks.append(asyncio.create_task(again.join(metadata=large(20_000))))
    await settle()
    assert not again.sent, "the others are no longer held"
    assert old.member_id
    for each in tasks:
        each.cancel()


@run
async def test_a_seat_is_kept_although_the_newest_newcomer_has_no_right_to_query_the_group():
    gateway = SeatGateway("orders=on,seats.keep.seconds=60")
    old = await member(gateway)
    await old.leave()
    await ended(old)
    old.closed = True
    hostile = without_rights(gateway)
    joining = asyncio.create_task(hostile.join(group_instance_id="its own"))
    await settle()
    joining.cancel()
    await gateway.advance(3)
    assert gateway.acts.vacant == 1, "only the coordinator's answer to one with rights ends a kept seat"


@run
async def test_a_newcomer_that_never_joins_with_its_member_id_is_forgotten():
    gateway = SeatGateway("orders=observe")
    client = SeatClient(gateway)
    assert (await client.send(client._join_request())).error_code == 79
    await gateway.advance(59)
    assert "orders" in gateway.seats._groups
    await gateway.advance(2)
    assert "orders" not in gateway.seats._groups


def test_acts_that_clients_can_cause_at_will_are_counted_but_not_all_logged():
    clock, counts = FakeClock(), RecordedActs()
    report = ActReport(counts, clock, ActEvents(lambda _event, _left_out: None, clock, "p"))
    with structlog.testing.capture_logs() as lines:
        for _ in range(150):
            report.report(Act.PASS_JOIN, ActOutcome.DONE, "g")
        report.report(Act.KEEP, ActOutcome.DONE, "g")
        clock.advance(10_000)
        report.report(Act.PASS_JOIN, ActOutcome.DONE, "g")
    assert counts.done("pass_join") == 151
    assert len(lines) == 102
    assert lines[-1]["left_out_before"] == 50


def test_too_many_groups_with_unfenced_commits_switch_all_seats_off():
    groups = GroupNames()
    for number in range(GROUP_NAMES_MAX - 1):
        groups.add(f"group-{number}")
    assert ("group-0" in groups, "another" in groups) == (True, False)
    groups.add("the last")
    assert "another" in groups
