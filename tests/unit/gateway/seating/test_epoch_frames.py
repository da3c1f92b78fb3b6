"""Seats in groups of KIP-848, frame by frame: which heartbeats are changed, and what clients are shown."""

from __future__ import annotations

import asyncio

import pytest
from kafka.protocol.consumer.group import JoinGroupRequest

from rebalance_agent.gateway.seating.frames.connection_groups import IMPATIENT_MAX, ImpatientMembers
from rebalance_agent.gateway.seats.rules.wait_times import EPOCH_PATIENCE_SECONDS
from rebalance_agent.gateway.seats.seat_list import SeatList, decode_seats, encode_seats
from rebalance_agent.groupprotocol.requests.consumer_group_heartbeat import CONSUMER_HEARTBEAT
from rebalance_agent.model.reported.seat_event import SEAT_PREFIX
from support.epoch_seats.epoch_clients import EpochClient, EpochGateway
from support.epoch_seats.epoch_coordinator import FENCED_EPOCH, UNRELEASED
from support.gateway.seat_clients import SeatClient, settle
from support.seats.coordinator import NOT_COORDINATOR, UNKNOWN
from support.seats.frame_steps import ended, held, run

KEEPS = "orders=on,seats.hold.seconds=0,seats.keep.seconds=30"
INTERNAL = -1


async def member(gateway, client_id="old", **options):
    """A member with a seat, in a group without earlier history."""
    one = await EpochClient(gateway, client_id, **options).enter()
    await gateway.advance(5)
    assert await one.heartbeat() == 0
    return one


async def waiting(gateway, client_id="new", *, version=1, **fields):
    """A newcomer whose first heartbeat is held, and the task that joins."""
    return await held(EpochClient(gateway, client_id, version=version), **fields)


def done(gateway, *acts):
    return [gateway.acts.done(act) for act in acts]


def without_failures(gateway):
    assert [act for act in gateway.acts.counted if act[1] == "failed"] == []


@pytest.mark.parametrize("version", [0, 1])
@run
async def test_a_newcomer_that_waits_takes_the_seat_of_the_member_that_leaves_and_no_epoch_changes(version):
    gateway = EpochGateway()
    old = await member(gateway, version=version)
    new, entering = await waiting(gateway, version=version)
    before, partitions = gateway.epochs.epoch, old.partitions
    assert await old.leave() == 0
    await entering
    assert (gateway.epochs.epoch, new.generation, new.partitions) == (before, before, partitions)
    assert await new.heartbeat() == 0
    assert done(gateway, "seat", "keep", "handover") == [1, 1, 1]
    assert {*gateway.sent(-2)} == {*gateway.sent(0)}
    assert gateway.sent(-1) == []
    without_failures(gateway)


@run
async def test_a_leaving_client_is_shown_that_it_left():
    gateway = EpochGateway(KEEPS)
    old = await member(gateway)
    assert await old.leave() == 0
    assert old.generation == -1
    assert done(gateway, "keep") == [1]


@run
async def test_only_the_first_heartbeat_has_an_instance_id_and_nothing_else_is_changed():
    gateway = EpochGateway()
    one = EpochClient(gateway)
    await one.enter(rack_id="a", server_assignor="range", subscribed_topic_names=["t", "u"])
    assert await one.heartbeat() == 0
    first, second = gateway.heartbeats
    assert (first.pop("instance_id") or "").startswith(SEAT_PREFIX)
    assert second["instance_id"] is None
    assert [frame == passed for frame, passed in one.sent] == [True], "the second one passes byte by byte"
    expected = {
        "rack_id": "a",
        "server_assignor": "range",
        "subscribed_topic_names": ["t", "u"],
        "topic_partitions": [],
    }
    assert {name: first[name] for name in expected} == expected
    assert (first["member_id"], first["rebalance_timeout_ms"]) == (one.member_id, 60_000)


@pytest.mark.parametrize("seats", ["", "other=on", "orders=off", "orders=observe"])
@run
async def test_without_seats_every_frame_passes_byte_by_byte(seats):
    gateway = EpochGateway(seats)
    old = await EpochClient(gateway, "old").enter()
    new = await EpochClient(gateway, "new").enter()
    for one in (old, new):
        assert await one.heartbeat() == 0
    assert await old.leave() == 0
    frames = [pair for one in (old, new) for pair in (*one.sent, *one.shown)]
    assert [before == after for before, after in frames] == [True] * len(frames)
    assert gateway.sent(-1) == [None]
    assert gateway.described == 0


@run
async def test_observing_counts_what_would_have_been_spared():
    gateway = EpochGateway("orders=observe,seats.hold.seconds=60")
    old = await member(gateway)
    await gateway.advance(1)
    new = await EpochClient(gateway, "new").enter()
    await gateway.advance(5)
    before = gateway.epochs.epoch
    assert await old.leave() == 0
    assert gateway.epochs.epoch == before + 1
    assert gateway.acts.rebalances_spared == {"observe": 1}
    assert {outcome for _, outcome in gateway.acts.counted} == {"predicted"}
    await new.heartbeat()


@run
async def test_observing_counts_for_how_long_partitions_of_a_kept_seat_would_have_stood_still():
    gateway = EpochGateway("orders=observe,seats.hold.seconds=0,seats.keep.seconds=20")
    old = await member(gateway)
    await gateway.advance(1)
    assert await old.leave() == 0
    await ended(old)
    await gateway.advance(4)
    await EpochClient(gateway, "new").enter()
    assert gateway.acts.rebalances_spared == {"observe": 1}
    assert gateway.acts.partition_seconds["observe"] == pytest.approx(4 * len(old.partitions))


@run
async def test_an_equal_handover_is_right_once_the_new_members_epoch_stays_the_same():
    gateway = EpochGateway()
    old = await member(gateway)
    new, entering = await waiting(gateway)
    await old.leave()
    await entering
    await gateway.advance(5)
    await new.heartbeat()
    assert gateway.acts.counted["handover", "right"] == 1
    assert gateway.acts.rebalances_spared == {"on": 1}


@run
async def test_the_event_of_a_handover_names_no_consumer_since_the_coordinator_does():
    gateway = EpochGateway()
    old = await member(gateway)
    new, entering = await waiting(gateway)
    await old.leave()
    await entering
    shown = [(str(event.act), event.member_id, event.client_id) for event in gateway.events]
    assert shown[0] == ("seat", old.member_id, "old")
    assert ("handover", new.member_id, None) in shown


@run
async def test_a_handover_is_wrong_if_the_groups_epoch_changes_at_once():
    gateway = EpochGateway()
    old = await member(gateway)
    new, entering = await waiting(gateway)
    await old.leave()
    await entering
    gateway.epochs.heartbeat(gateway.clock.monotonic(), "direct", 0, None, "other")
    await gateway.advance(5)
    await new.heartbeat()
    assert gateway.acts.counted["handover", "wrong"] == 1
    assert gateway.acts.rebalances_spared == {}


@run
async def test_a_handover_is_right_in_a_group_whose_members_have_not_all_reached_its_epoch():
    gateway = EpochGateway()
    old = await member(gateway)
    gateway.epochs.heartbeat(gateway.clock.monotonic(), "direct", 0, None, "other")
    new, entering = await waiting(gateway)
    await old.leave()
    await entering
    assert new.generation > gateway.events[0].generation
    await gateway.advance(5)
    await new.heartbeat()
    assert gateway.acts.counted["handover", "right"] == 1


@pytest.mark.parametrize("garbled", [0, -2])
@run
async def test_a_seat_whose_taking_was_answered_with_something_else_is_given_up(garbled):
    gateway = EpochGateway()
    old = await member(gateway)
    _, entering = await waiting(gateway)
    broker = gateway.broker

    def answered(frame):
        answer = broker(frame)
        asked = gateway.heartbeats[-1]
        unread = asked["member_epoch"] == garbled and asked["instance_id"] is not None
        return frame[4:8] + b"?" if unread else answer

    gateway.broker = answered
    await old.leave()
    await entering
    gateway.broker = broker
    await gateway.advance(10)
    assert gateway.acts.counted["give_up", "done"] + gateway.acts.counted["give_up", "refused"] == 1


@run
async def test_a_newcomer_with_other_topics_does_not_take_the_seat():
    gateway = EpochGateway()
    old = await member(gateway)
    _, entering = await waiting(gateway, subscribed_topic_names=["other"])
    assert await old.leave() == 0
    assert gateway.sent(-1) == [None]
    await gateway.advance(EPOCH_PATIENCE_SECONDS)
    await entering
    assert done(gateway, "handover", "keep") == [0, 0]


@pytest.mark.parametrize("seats", ["orders=on", "orders=observe"])
@run
async def test_a_member_that_changes_its_topics_is_succeeded_by_one_with_the_new_ones(seats):
    gateway = EpochGateway(seats)
    old = await member(gateway)
    assert await old.beat(old.generation, subscribed_topic_names=["t", "u"]) == 0
    same, changed = EpochClient(gateway, "same"), EpochClient(gateway, "changed")
    joins = [asyncio.create_task(same.enter()), asyncio.create_task(changed.enter(subscribed_topic_names=["u", "t"]))]
    await settle()
    assert await old.leave() == 0
    await settle()
    spared = gateway.acts.counted["handover", "predicted"] + gateway.acts.done("handover")
    assert (joins[1].done(), spared) == (True, 1)
    await gateway.advance(EPOCH_PATIENCE_SECONDS)
    await asyncio.gather(*joins)


@pytest.mark.parametrize("changed", [{"rack_id": "b"}, {"server_assignor": "range"}])
@run
async def test_rack_and_assignor_do_not_count(changed):
    gateway = EpochGateway()
    old = await member(gateway)
    _, entering = await waiting(gateway, **changed)
    assert await old.leave() == 0
    await entering
    assert done(gateway, "handover") == [1]


@run
async def test_a_newcomer_is_held_no_longer_than_its_client_waits():
    gateway = EpochGateway("orders=on,seats.hold.seconds=600")
    await member(gateway)
    _, entering = await waiting(gateway)
    await gateway.advance(EPOCH_PATIENCE_SECONDS + 0.5)
    assert entering.done()
    await entering


@run
async def test_a_client_that_does_not_wait_as_long_is_held_once():
    gateway = EpochGateway()
    await member(gateway)
    one, entering = await waiting(gateway)
    await gateway.advance(5)
    one.gone = True
    gateway.seats.step()
    await asyncio.gather(entering, return_exceptions=True)
    again, other = EpochClient(gateway, "new"), EpochClient(gateway, "other")
    again.member_id = one.member_id
    joins = [asyncio.create_task(each.enter()) for each in (again, other)]
    await gateway.advance(1)
    assert [each.done() for each in joins] == [True, False]
    await gateway.advance(EPOCH_PATIENCE_SECONDS)
    await asyncio.gather(*joins)


def test_as_many_impatient_members_are_known_as_a_group_holds():
    members = ImpatientMembers()
    for number in range(IMPATIENT_MAX + 1):
        members.add("orders", f"m{number}")
    members.add("orders", "")
    known = [("orders", name) in members for name in ("m0", "m1", f"m{IMPATIENT_MAX}", "")]
    assert known == [False, True, True, False]


@run
async def test_a_client_with_an_instance_id_of_its_own_is_left_alone():
    gateway = EpochGateway(KEEPS)
    await member(gateway)
    one = await EpochClient(gateway, "own").enter(instance_id="own")
    assert await one.beat(-2, instance_id="own") == 0
    assert [before == after for before, after in one.sent + one.shown] == [True] * 4
    assert gateway.acts.done("keep") == 0


@run
async def test_a_member_without_a_seat_leaves_as_it_is():
    gateway = EpochGateway("")
    one = await EpochClient(gateway, "before").enter()
    later = EpochGateway(KEEPS)
    later.epochs = gateway.epochs
    again = EpochClient(later, "before")
    again.member_id, again.generation = one.member_id, one.generation
    assert await again.heartbeat() == 0
    assert await again.leave() == 0
    assert later.sent(-1) == [None]


@run
async def test_the_seat_of_a_member_that_leaves_is_kept_without_heartbeats_and_the_next_newcomer_takes_it():
    gateway = EpochGateway(KEEPS)
    old = await member(gateway)
    before, partitions = gateway.epochs.epoch, old.partitions
    assert await old.leave() == 0
    await ended(old)
    sent = len(gateway.heartbeats)
    await gateway.advance(20)
    assert len(gateway.heartbeats) == sent
    new = EpochClient(gateway, "new")
    entering = asyncio.create_task(new.enter())
    await settle()
    await entering
    assert (gateway.epochs.epoch, new.partitions) == (before, partitions)


@run
async def test_a_kept_seat_that_nobody_takes_is_given_up_by_both_ids():
    gateway = EpochGateway(KEEPS)
    old, other = await member(gateway), await EpochClient(gateway, "other").enter()
    assert await old.leave() == 0
    closing = await ended(old)
    await gateway.advance(30.5)
    assert len(gateway.epochs.members) == 1
    assert gateway.sent(-1)[0].startswith(SEAT_PREFIX)
    assert done(gateway, "give_up") == [1]
    await gateway.advance(1)
    await closing
    await other.heartbeat()


@run
async def test_a_seat_is_kept_no_longer_than_the_coordinator_keeps_its_member():
    gateway = EpochGateway("orders=on,seats.hold.seconds=0,seats.keep.seconds=300")
    old, other = await member(gateway), await EpochClient(gateway, "other").enter()
    await old.leave()
    await ended(old)
    for _ in range(8):
        await gateway.advance(5)
        await other.heartbeat()
    assert done(gateway, "give_up") == [0]
    await gateway.advance(2.5)
    assert done(gateway, "give_up") == [1], "before the session of 45 s ends"
    assert len(gateway.epochs.members) == 1


@run
async def test_a_member_that_left_and_does_not_end_is_given_up_and_may_join_again():
    gateway = EpochGateway(KEEPS)
    old = await member(gateway)
    await old.leave()  # like a client that did not poll in time: it goes on living
    await gateway.advance(4)
    assert done(gateway, "give_up") == [1]
    await old.enter()
    assert await old.heartbeat() == 0
    without_failures(gateway)


@run
async def test_a_member_that_returns_by_its_own_id_keeps_its_seat():
    gateway = EpochGateway(KEEPS)
    old = await member(gateway)
    before = gateway.epochs.epoch
    await old.leave()
    await old.enter()
    await gateway.advance(40)
    assert (gateway.epochs.epoch, done(gateway, "give_up")) == (before, [0])
    assert await old.heartbeat() == 0


@run
async def test_the_successor_of_a_killed_process_takes_its_seat_though_that_never_left():
    gateway = EpochGateway()
    old = await member(gateway)
    before, partitions = gateway.epochs.epoch, old.partitions
    closing = await ended(old)
    new = EpochClient(gateway, "old")
    new.member_id = "another"
    entering = asyncio.create_task(new.enter())
    await gateway.advance(1.5)
    await entering
    assert (gateway.epochs.epoch, new.partitions) == (before, partitions)
    assert gateway.sent(-2) == [gateway.sent(0)[0]]
    await gateway.advance(1)
    await closing


@run
async def test_the_seat_of_a_killed_process_without_successor_is_given_up_before_its_session_ends():
    gateway = EpochGateway("orders=on,seats.hold.seconds=0")
    old, other = await member(gateway), await EpochClient(gateway, "other").enter()
    closing = await ended(old)
    await gateway.advance(11)
    assert old.member_id not in gateway.epochs.members
    assert done(gateway, "give_up") == [1]
    for _ in range(8):
        await other.heartbeat()
        await gateway.advance(5)
    assert gateway.acts.stall_seconds_spared > 30 * len(old.partitions)
    await closing


@pytest.mark.parametrize("error", [UNRELEASED, FENCED_EPOCH, INTERNAL, 42, UNKNOWN])
@run
async def test_an_error_of_a_changed_first_heartbeat_is_not_shown_and_the_clients_own_is_sent(error):
    gateway = EpochGateway()
    gateway.refused = {0: error}
    one = await EpochClient(gateway).enter()
    assert one.errors == [0]
    assert [asked["instance_id"] is None for asked in gateway.heartbeats] == [False, True]
    assert [frame == passed for frame, passed in one.sent] == [True]


@run
async def test_a_moved_coordinator_is_shown_as_it_would_be_to_the_clients_own_frame():
    gateway = EpochGateway()
    gateway.refused = {0: NOT_COORDINATOR}
    one = EpochClient(gateway)
    assert await one.beat(0, subscribed_topic_names=["t"], rebalance_timeout_ms=60_000) == NOT_COORDINATOR
    assert await one.beat(0, subscribed_topic_names=["t"], rebalance_timeout_ms=60_000) == 0


@pytest.mark.parametrize("error", [UNKNOWN, FENCED_EPOCH, UNRELEASED, INTERNAL, 42])
@run
async def test_an_error_of_a_changed_leave_is_not_shown_and_the_clients_own_is_sent(error):
    gateway = EpochGateway(KEEPS)
    old = await member(gateway)
    gateway.refused = {-2: error}
    assert await old.leave() == 0
    assert gateway.sent(-1)[-1] is None
    await gateway.advance(1)
    assert (gateway.epochs.members, gateway.acts.vacant) == ({}, 0)
    without_failures(gateway)


@run
async def test_a_leave_that_comes_after_its_successor_has_the_seat_is_answered_as_done():
    gateway = EpochGateway()
    old = await member(gateway)
    new, entering = await waiting(gateway)
    exchange = old.exchange

    async def late(frame):
        await entering
        return await exchange(frame)

    old.exchange = late
    assert await old.leave() == 0
    assert gateway.sent(-2) == [gateway.sent(0)[0]] * 2
    assert gateway.sent(-1) == []
    assert await new.heartbeat() == 0


@run
async def test_a_member_that_is_back_before_its_successor_has_the_seat_keeps_it():
    gateway = EpochGateway("orders=on,seats.keep.seconds=30")
    old = await member(gateway)
    new, entering = await waiting(gateway)

    def come_back(asked):
        if asked["member_id"] == new.member_id and asked["instance_id"] is not None:
            gateway.epochs.heartbeat(gateway.clock.monotonic(), old.member_id, 0, None, (["t"], None))

    gateway.before_answer = come_back
    await old.leave()
    await entering
    assert gateway.sent(0)[-1] is None, "the seat is not free: its own frame"
    old.generation = gateway.epochs.members[old.member_id].epoch
    for _ in range(9):
        assert await old.heartbeat() == 0
        assert await new.heartbeat() == 0
        await gateway.advance(4)
    assert done(gateway, "give_up") == [0]
    assert {old.member_id, new.member_id} == {*gateway.epochs.members}


@run
async def test_a_member_with_a_seat_that_joins_again_is_not_given_another_one():
    gateway = EpochGateway()
    one = await member(gateway)
    await one.enter()
    assert [name is None for name in gateway.sent(0)] == [False, True]
    assert await one.heartbeat() == 0


@run
async def test_another_client_does_not_make_a_member_leave_for_a_while():
    gateway = EpochGateway(KEEPS)
    old = await member(gateway)
    other = EpochClient(gateway, "other")
    other.member_id = old.member_id
    await other.leave()
    assert (gateway.sent(-1), gateway.sent(-2)) == ([None], [])
    assert done(gateway, "keep") == [0]


@run
async def test_a_former_members_requests_are_refused_as_those_of_a_member_that_is_gone():
    gateway = EpochGateway()
    old = await member(gateway)
    epoch = old.generation
    new, entering = await waiting(gateway)
    await old.leave()
    await entering
    old.generation = epoch
    assert await old.heartbeat() == UNKNOWN
    assert gateway.epochs.commit(old.member_id, epoch) == UNKNOWN
    assert gateway.epochs.commit(new.member_id, epoch) == 0


@run
async def test_a_group_with_members_of_the_classic_protocol_gets_no_seats_and_keeps_none():
    gateway = EpochGateway(KEEPS)
    old = await member(gateway)
    for one in gateway.epochs.members.values():
        one.classic = True
    await gateway.advance(5)
    new = await EpochClient(gateway, "new").enter()
    assert gateway.sent(0)[-1] is None
    assert await old.leave() == 0
    assert gateway.sent(-1) == [None]
    assert await new.heartbeat() == 0


@run
async def test_a_broker_that_does_not_know_the_description_gets_none_and_the_group_no_seats():
    gateway = EpochGateway()
    gateway.coordinator.versions[69] = 0
    one = EpochClient(gateway)
    entering = asyncio.create_task(one.enter())
    await gateway.advance(4)
    await entering
    assert (gateway.described, gateway.sent(0)) == (0, [None])


@run
async def test_a_group_has_seats_of_one_protocol_at_a_time():
    gateway = EpochGateway(KEEPS)
    await member(gateway)
    classic = await SeatClient(gateway, "classic").enter()
    assert {asked.group_instance_id for asked in gateway.coordinator.asked(JoinGroupRequest)} == {None}
    assert [before == after for before, after in classic.sent] == [True] * len(classic.sent)
    assert gateway.acts.counted["hold", "done"] == 1


@run
async def test_after_a_restart_a_member_has_its_seat_again_once_the_coordinator_accepts_its_heartbeat():
    gateway, later = EpochGateway(KEEPS), EpochGateway(KEEPS)
    old = await member(gateway)
    saved = gateway.seats.saved()
    later.seats.restore(decode_seats(encode_seats(SeatList(0, saved))).groups, 1.0)
    later.epochs = gateway.epochs
    again = EpochClient(later, "old")
    again.member_id, again.generation = old.member_id, old.generation
    assert await again.heartbeat() == 0
    assert done(later, "restore") == [1]
    assert await again.leave() == 0
    assert (later.sent(-2), later.sent(-1)) == ([gateway.sent(0)[0]], [])


@run
async def test_a_vacant_seat_is_forgotten_at_a_restart_and_ends_with_its_session():
    gateway, later = EpochGateway(KEEPS), EpochGateway(KEEPS)
    old = await member(gateway)
    await old.leave()
    later.seats.restore(gateway.seats.saved(), 1.0)
    later.epochs = gateway.epochs
    await later.advance(20)
    assert later.heartbeats == []
    assert (later.acts.vacant, later.seats.saved()) == (0, {})


@run
async def test_switched_off_every_leave_passes_and_kept_seats_are_given_up():
    gateway = EpochGateway(KEEPS)
    old, other = await member(gateway), await EpochClient(gateway, "other").enter()
    await old.leave()
    await gateway.seats.switch_off()
    await settle()
    assert old.member_id not in gateway.epochs.members
    assert await other.leave() == 0
    assert gateway.sent(-1)[-1] is None


@run
async def test_after_three_wrong_handovers_in_a_row_the_group_is_only_observed():
    gateway = EpochGateway()
    old = await member(gateway)
    for number in range(3):
        new, entering = await waiting(gateway, f"new-{number}")
        await old.leave()
        await entering
        gateway.epochs.heartbeat(gateway.clock.monotonic(), f"direct-{number}", 0, None, "other")
        await gateway.advance(5)
        await new.heartbeat()
        old = new
    assert gateway.acts.counted["handover", "wrong"] == 3
    await EpochClient(gateway, "last").enter()
    assert gateway.sent(0)[-1] is None


@run
async def test_a_transaction_that_names_no_member_ends_seats():
    gateway = EpochGateway(KEEPS)
    old = await member(gateway)
    gateway.seats.refuse_unfenced("orders")
    assert await old.leave() == 0
    assert gateway.sent(-1) == [None]


@run
async def test_a_newcomer_that_is_gone_when_it_gets_the_seat_leaves_it_to_nobody():
    gateway = EpochGateway()
    old = await member(gateway)
    new, entering = await waiting(gateway)

    def hang_up(asked):
        if asked["member_id"] == new.member_id:
            new.gone = True

    gateway.before_answer = hang_up
    assert await old.leave() == 0
    await entering
    await settle()
    assert (done(gateway, "give_up"), gateway.epochs.members) == ([1], {})


def test_the_frame_of_a_first_heartbeat_is_readable_with_its_client_id():
    async def join():
        gateway = EpochGateway()
        frames = []
        broker = gateway.broker
        gateway.broker = lambda frame: frames.append(frame) or broker(frame)
        await EpochClient(gateway, "my-client").enter()
        return [frame for frame in frames if frame[1] == 68]

    (frame,) = asyncio.run(join())
    assert frame[8:19] == b"\0\x09my-client"
    assert CONSUMER_HEARTBEAT.decode_request(1, frame)["instance_id"].startswith(SEAT_PREFIX)
