"""Acts of a gateway as events: which consumer has a seat, their outcomes, and lower bounds of what they spared."""

from __future__ import annotations

import asyncio

import pytest
from kafka.protocol.consumer.group import HeartbeatRequest

from rebalance_agent.clock import FakeClock
from rebalance_agent.gateway.seating.acts.act_events import EVENTS_MAX, OPEN_MAX, PUBLISHED, ActEvents
from rebalance_agent.gateway.seats.outcomes.handover_checks import SETTLED_SECONDS
from rebalance_agent.gateway.seats.outcomes.spared_stalls import (
    HEARD_LATE_SECONDS,
    STALLS_MAX,
    KilledMember,
    SparedStalls,
)
from rebalance_agent.model.event_json import event_from_json, event_to_json
from rebalance_agent.model.reported.seat_event import Act, ActOutcome, SeatOccupant
from support.gateway.seat_clients import GROUP, SeatClient, SeatGateway
from support.seats.coordinator import PARTITIONS
from support.seats.frame_steps import ended, member, run, waiting

SESSION_SECONDS, WINDOW_SECONDS = 45.0, 10.0
REBALANCING = 27
KEPT = "orders=on,seats.keep.seconds=60"


class Published:
    """The events of acts, and how many were left out before each."""

    def __init__(self):
        self.clock, self.events, self.left_out = FakeClock(), [], []
        self.acts = ActEvents(self._take, self.clock, "gateway")

    def _take(self, event, left_out):
        self.events.append(event)
        self.left_out.append(left_out)

    def report(self, act=Act.HANDOVER, outcome=ActOutcome.DONE, **facts):
        self.acts.report(act, outcome, "orders", facts)


def published(gateway, act):
    """Outcomes and revisions of the events of one act, in order."""
    return [(str(event.outcome), event.revision) for event in gateway.events if event.act is act]


def killed(member_id="m", partitions=4, heard_at=0.0, rebalance_seconds=60.0):
    return KilledMember(member_id, partitions, heard_at, SESSION_SECONDS, rebalance_seconds)


# -- events ----------------------------------------------------------------------------------------------------


@run
async def test_a_handover_says_which_consumer_the_member_is_served_for_and_later_that_it_was_right():
    gateway = SeatGateway()
    old = await member(gateway)
    new, entering = await waiting(gateway)
    await old.leave()
    await entering
    (event,) = [event for event in gateway.events if event.act is Act.HANDOVER]
    assert (event.member_id, event.generation) == (new.member_id, new.generation)
    assert event.occupant == SeatOccupant("new", "10.0.0.9", gateway.clock.now_ms())
    await gateway.advance(SETTLED_SECONDS)
    await new.heartbeat()
    right = gateway.events[-1]
    assert (right.event_id, right.revision, right.outcome) == (event.event_id, 1, ActOutcome.RIGHT)
    assert (event.rebalances_spared, right.rebalances_spared) == (None, 1)
    assert right.occupant == event.occupant
    assert event_from_json(event_to_json(right)) == right


@run
async def test_a_client_on_another_machine_is_named_by_its_own_address():
    gateway = SeatGateway()
    await member(gateway, host="10.0.0.7")
    assert [(event.act, event.client_id, event.host) for event in gateway.events] == [(Act.SEAT, "old", "10.0.0.7")]
    assert gateway.events[0].occupant is None, "the coordinator names it"


@run
async def test_a_kept_seat_and_its_end_are_events_with_their_outcomes():
    gateway = SeatGateway(KEPT)
    one = await member(gateway)
    await one.leave()
    await ended(one)
    await SeatClient(gateway, "next").enter()
    assert published(gateway, Act.KEEP) == [("done", 0), ("right", 1)]
    assert {event.member_id for event in gateway.events if event.act is Act.KEEP} == {one.member_id}


@run
async def test_in_mode_observe_nothing_is_done_and_nothing_published():
    gateway = SeatGateway("orders=observe")
    await (await member(gateway)).leave()
    await member(gateway, "new")
    assert gateway.events == []


@pytest.mark.parametrize("outcome", [ActOutcome.REFUSED, ActOutcome.FAILED])
def test_what_was_refused_names_no_occupant(outcome):
    sent = Published()
    sent.report(outcome=outcome, member_id="m", client_id="c", host="h")
    assert sent.events[0].occupant is None


def test_an_act_whose_consumer_is_unknown_names_no_occupant():
    sent = Published()
    sent.report(member_id="m", client_id="", host="")
    assert (sent.events[0].client_id, sent.events[0].occupant) == (None, None)


def test_acts_that_change_no_membership_have_no_event():
    sent = Published()
    for act in Act:
        sent.report(act)
    assert {event.act for event in sent.events} == PUBLISHED


def test_clients_cause_a_bounded_number_of_events_and_the_next_one_has_the_number_of_those_left_out():
    sent = Published()
    for number in range(EVENTS_MAX + 5):
        sent.report(member_id=f"m{number}")
    assert len(sent.events) == EVENTS_MAX
    sent.clock.advance(10_000)
    sent.report(member_id="later")
    assert sent.left_out[-1] == 5
    assert len({event.event_id for event in sent.events}) == len(sent.events)


def test_of_many_acts_whose_outcome_may_come_the_oldest_are_forgotten():
    sent = Published()
    for number in range(OPEN_MAX + 1):
        sent.clock.advance(10_000)
        sent.report(member_id=f"m{number}")
    sent.report(outcome=ActOutcome.RIGHT, member_id="m0")
    sent.report(outcome=ActOutcome.RIGHT, member_id="m1")
    assert [event.member_id for event in sent.events[OPEN_MAX + 1 :]] == ["m1"]


def test_names_that_clients_choose_are_cut():
    sent = Published()
    sent.report(member_id="m" * 500, client_id="c" * 500)
    assert (len(sent.events[0].member_id), len(sent.events[0].client_id)) == (200, 200)


def test_what_was_spared_is_published_for_a_member_with_a_long_id():
    sent = Published()
    sent.report(member_id="m" * 500)
    sent.acts.spared(sent.events[0].act, sent.events[0].group, "m" * 500, 2.0)
    assert sent.events[-1].partition_seconds_spared == 2.0


@run
async def test_a_handover_says_by_when_the_former_consumer_had_stopped():
    gateway = SeatGateway(KEPT)
    old = await member(gateway)
    left_ms = gateway.clock.now_ms()
    await old.leave()
    await ended(old)
    await gateway.advance(7.0)
    await SeatClient(gateway, "next").enter()
    (event,) = [event for event in gateway.events if event.act is Act.HANDOVER]
    assert (event.former_member_id, event.stopped_ms) == (old.member_id, left_ms)
    assert event.timestamp_ms == left_ms + 7_000
    assert event_from_json(event_to_json(event)) == event


def test_a_former_consumer_that_sends_requests_had_not_stopped():
    sent = Published()
    sent.report(member_id="new", former_member_id="old", stopped_ms=5)
    sent.acts.heard("other group", "old")
    sent.acts.heard("orders", "new")
    assert len(sent.events) == 1
    for _ in range(2):
        sent.acts.heard("orders", "old")
    assert [(event.revision, event.stopped_ms) for event in sent.events] == [(0, 5), (1, None)]
    sent.report(outcome=ActOutcome.WRONG, member_id="new")
    assert (sent.events[-1].revision, sent.events[-1].stopped_ms) == (2, None)


@run
async def test_a_request_of_the_former_member_withdraws_the_time():
    gateway = SeatGateway(KEPT)
    old = await member(gateway)
    await old.leave()
    await SeatClient(gateway, "next").enter()
    await old.heartbeat()
    handovers = [event for event in gateway.events if event.act is Act.HANDOVER]
    assert [event.stopped_ms is None for event in handovers] == [False, True]


# -- spared stalls ---------------------------------------------------------------------------------------------


def test_a_stall_that_was_ended_early_is_known_when_the_session_would_have_ended():
    stalls = SparedStalls()
    stalls.ended(killed(), WINDOW_SECONDS)
    assert (stalls.next_due(), stalls.known(SESSION_SECONDS - 1)) == (SESSION_SECONDS, [])
    (stall,) = stalls.known(SESSION_SECONDS)
    assert stall.partition_seconds == 4 * (SESSION_SECONDS - HEARD_LATE_SECONDS - WINDOW_SECONDS)
    assert (stalls.known(SESSION_SECONDS), stalls.next_due()) == ([], None)


def test_a_rebalance_would_not_have_waited_longer_than_its_timeout():
    stalls = SparedStalls()
    stalls.ended(killed(rebalance_seconds=5.0), WINDOW_SECONDS)
    assert [stall.partition_seconds for stall in stalls.known(SESSION_SECONDS)] == [20.0]


def test_a_member_that_lives_or_a_wrong_handover_spares_nothing():
    stalls = SparedStalls()
    stalls.ended(killed("a"), 1.0)
    stalls.ended(killed("b"), 1.0, heir="c")
    assert (stalls.alive("other"), stalls.alive("c")) == (None, None), "the successor's own requests say nothing"
    assert stalls.alive("a").killed.member_id == "a"
    stalls.handover_wrong("c")
    assert stalls.known(SESSION_SECONDS) == []


def test_what_ended_after_the_session_spares_nothing_and_many_are_not_all_counted():
    stalls = SparedStalls()
    stalls.ended(killed(), SESSION_SECONDS)
    assert stalls.next_due() is None
    for number in range(STALLS_MAX + 1):
        stalls.ended(killed(str(number)), 1.0)
    assert len(stalls.known(SESSION_SECONDS)) == STALLS_MAX


@run
async def test_a_killed_consumer_that_does_not_come_back_spares_the_rest_of_its_session():
    gateway = SeatGateway()
    one = await member(gateway)  # 5 s ago
    await ended(one)
    await gateway.advance(WINDOW_SECONDS + 1)
    assert (gateway.acts.done("give_up"), gateway.acts.stall_seconds_spared) == (1, 0.0)
    await gateway.advance(SESSION_SECONDS)
    least = (SESSION_SECONDS - HEARD_LATE_SECONDS - 5 - WINDOW_SECONDS - 1) * len(PARTITIONS)
    assert least <= gateway.acts.stall_seconds_spared <= least + len(PARTITIONS)
    assert published(gateway, Act.GIVE_UP) == [("done", 0), ("right", 1), ("right", 2)]
    assert gateway.events[-1].partition_seconds_spared == gateway.acts.stall_seconds_spared
    assert gateway.acts.counted["give_up", "right"] == 1


@run
async def test_a_consumer_that_was_alive_spares_nothing_and_giving_its_seat_up_was_wrong():
    gateway = SeatGateway()
    one = await member(gateway)
    await ended(one)
    await gateway.advance(WINDOW_SECONDS + 1)
    again = SeatClient(gateway, "old")
    again.member_id, again.generation = one.member_id, one.generation
    assert await again.heartbeat() == 25
    await gateway.advance(SESSION_SECONDS)
    assert gateway.acts.stall_seconds_spared == 0.0
    assert published(gateway, Act.GIVE_UP) == [("done", 0), ("wrong", 1)]


@run
async def test_a_successor_of_a_killed_consumer_spares_the_rest_of_the_session_and_a_rebalance():
    gateway = SeatGateway()
    one = await member(gateway)
    await ended(one)
    await gateway.advance(1)
    new = await member(gateway, "old")
    assert await new.heartbeat() == 0
    assert (gateway.acts.rebalances_spared, gateway.acts.stall_seconds_spared) == ({"on": 1}, 0.0)
    for _ in range(5):
        await gateway.advance(10)
        assert await new.heartbeat() == 0
    least = (SESSION_SECONDS - HEARD_LATE_SECONDS - 5 - 2) * len(PARTITIONS)
    assert least <= gateway.acts.stall_seconds_spared <= least + 2 * len(PARTITIONS)
    assert published(gateway, Act.HANDOVER) == [("done", 0), ("right", 1), ("right", 2)]


@run
async def test_a_group_that_rebalances_after_the_handover_or_before_the_end_of_the_seat_spares_nothing():
    gateway = SeatGateway()
    one = await member(gateway)
    await ended(one)
    await gateway.advance(1)
    new = await member(gateway, "old")
    gateway.coordinator.errors[HeartbeatRequest] = REBALANCING
    assert await new.heartbeat() == REBALANCING
    assert published(gateway, Act.HANDOVER) == [("done", 0), ("wrong", 1)]
    await gateway.advance(SESSION_SECONDS)
    assert gateway.acts.stall_seconds_spared == 0.0
    gateway = SeatGateway("orders=on,seats.hold.seconds=1")
    one, other = await member(gateway, "one"), SeatClient(gateway, "other")
    entering = asyncio.create_task(other.enter())
    await gateway.advance(2)
    assert await one.heartbeat() == REBALANCING
    await one.enter()
    await entering
    await ended(one)
    await gateway.advance(WINDOW_SECONDS - 1)
    gateway.coordinator.errors[HeartbeatRequest] = REBALANCING
    assert await other.heartbeat() == REBALANCING
    await gateway.advance(2 + SESSION_SECONDS)
    assert (gateway.acts.done("give_up"), gateway.acts.stall_seconds_spared) == (1, 0.0)


@run
async def test_a_planned_handover_spares_no_stall_that_could_be_measured():
    gateway = SeatGateway()
    old = await member(gateway)
    new, entering = await waiting(gateway)
    await old.leave()
    await entering
    await gateway.advance(SETTLED_SECONDS)
    await new.heartbeat()
    closing = asyncio.create_task(old.close())
    await gateway.advance(60)
    await closing
    assert gateway.acts.stall_seconds_spared == 0.0
    assert GROUP in {event.group for event in gateway.events}
