"""The consumer that has a member, if a gateway handed over its seat and the coordinator names another one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.reported.seat_event import Act, ActOutcome, SeatEvent, SeatOccupant
from rebalance_agent.tracking.evidence.seat_occupants import OCCUPANTS_MAX, TEXT_MAX, SeatOccupants
from rebalance_agent.tracking.observations import MemberReported
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.tracking import (
    T0,
    TWO_EAGER,
    closing,
    feed,
    in_time,
    listed,
    member,
    record,
    tick,
    topics,
    watch,
)

TAKEN = SeatEvent(
    "e" * 32, "g", T0 + 20_000, Act.HANDOVER, ActOutcome.DONE, "b", "gateway", 1, instance_id="seat-1", generation=1,
    client_id="orders-7", host="10.0.0.9",
)  # fmt: skip
OCCUPANT = SeatOccupant("orders-7", "10.0.0.9", T0 + 20_000)
LEFT = replace(TAKEN, act=Act.KEEP, client_id=None, host=None)
START = topics(0, t=2), listed(500), record(1_000, 0)
HOUR = 3_600_000


def seat(name):
    """The seat's member: its id is another one after each handover, client id and host are those of the first."""
    return member(name, (0, 1), instance="seat-1", client="orders-2")


def watched(*observations):
    tracker = Tracker("cluster")
    return tracker, feed(tracker, *START, *observations)


def reported(event=TAKEN, at=20_000, *, past=False):
    return MemberReported(T0 + at, event, past)


def occupants(tracker):
    return {each.member_id: each.occupant for each in tracker.view("g").members}


FIRST, SECOND = record(4_000, 1, seat("a"), joined=3_990), record(20_100, 1, seat("b"), joined=3_990)


@pytest.mark.parametrize("order", [(reported(), SECOND), (SECOND, reported(at=20_200))])
def test_it_is_shown_whichever_comes_first_and_the_coordinators_name_beside_it(order):
    tracker, _ = watched(FIRST, *order)
    (shown,) = tracker.view("g").members
    assert (shown.occupant, shown.client_id) == (OCCUPANT, "orders-2")


def test_without_an_event_nothing_is_shown():
    tracker, _ = watched(FIRST, SECOND)
    assert occupants(tracker) == {"b": None}


def test_it_is_that_of_one_member_id_alone():
    tracker, _ = watched(FIRST, SECOND, reported(), record(30_000, 1, seat("c"), joined=3_990))
    assert occupants(tracker) == {"c": None}, "another one took the seat, and nobody said which"


def test_it_lasts_through_rebalances_and_as_long_as_the_member():
    other = member("z", ())
    tracker, events = watched(FIRST, SECOND, reported(), record(40_000, 2, seat("b"), other, joined=39_990))
    events += feed(tracker, tick(2 * HOUR))
    assert occupants(tracker) == {"b": OCCUPANT, "z": None}
    last = [event for event in events if isinstance(event, GenerationEvent) and event.generation == 2][-1]
    assert {each.member_id: each.occupant for each in last.members} == {"b": OCCUPANT, "z": None}


def test_the_slowest_and_the_departed_members_are_named_by_it():
    """The coordinator waits for b for 30 s, its rebalance timeout, and removes it."""
    waited = [listed(80_000), *(listed(at, "g") for at in range(80_200, 110_201, 5_000))]
    without_b = record(110_300, 2, member("a", (0, 1, 2, 3)), joined=110_250)
    observed = in_time(*TWO_EAGER, reported(), *waited, without_b)
    tracker, events = watch(*observed, tick(150_000), commits=False)
    event, (departed,) = closing(events)[-1], tracker.view("g").departed
    assert (event.slowest_member_id, event.slowest_client_id, event.slowest_host) == ("b", "orders-7", "10.0.0.9")
    assert (departed.client_id, departed.host, departed.how.failed) == ("orders-7", "10.0.0.9", True)


def test_it_ends_when_its_consumer_leaves_and_later_revisions_about_the_time_before_say_nothing():
    tracker, _ = watched(FIRST, SECOND, reported(), reported(LEFT, 30_000))
    assert occupants(tracker) == {"b": None}
    feed(tracker, reported(replace(TAKEN, outcome=ActOutcome.RIGHT, revision=2), 60_000))
    assert occupants(tracker) == {"b": None}


def test_an_event_from_before_the_watch_counts_too():
    tracker, _ = watched(FIRST, SECOND, reported(past=True))
    assert occupants(tracker) == {"b": OCCUPANT}


def test_members_that_are_gone_are_forgotten():
    tracker, _ = watched(FIRST, SECOND, reported(), record(40_000, 2, seat("c"), joined=39_990))
    feed(tracker, *(tick(at) for at in range(HOUR, 2 * HOUR, 60_000)))
    assert len(tracker._groups.get("g").history.reports.seats) == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"outcome": ActOutcome.REFUSED},
        {"outcome": ActOutcome.FAILED},
        {"act": Act.SEAT},
        {"client_id": None, "host": None},
        {"member_id": ""},
        {"client_id": "c" * (TEXT_MAX + 1)},
    ],
)
def test_what_names_no_occupant_changes_nothing(changes):
    seats = SeatOccupants()
    assert not seats.take(replace(TAKEN, **changes), 0)
    assert len(seats) == 0


def test_a_revision_of_the_same_act_is_no_change():
    seats = SeatOccupants()
    assert seats.take(TAKEN, 0)
    assert not seats.take(replace(TAKEN, outcome=ActOutcome.RIGHT, revision=1), 1)


VACATED = replace(TAKEN, former_member_id="a", stopped_ms=T0 + 8_000)
"""The process of the member a was killed at 8 s; at 20 s a successor took its seat."""


def least(*observations):
    """The stall of the handover at 20.1 s (lower bound, seconds), by its newest revision."""
    _, events = watched(FIRST, *observations, tick(60_000))
    return closing(events)[-1].stall.lower_seconds


@pytest.mark.parametrize("order", [(reported(VACATED), SECOND), (SECOND, reported(VACATED, at=50_000))])
def test_partitions_were_stalled_at_least_since_the_gateway_saw_that_the_former_consumer_was_gone(order):
    assert least(*order) == pytest.approx(12.1)


@pytest.mark.parametrize(
    "changes",
    [
        {"former_member_id": "x"},
        {"former_member_id": None},
        {"stopped_ms": None},
        {"stopped_ms": -1},
        {"stopped_ms": T0 + 20_001},
        {"stopped_ms": T0 - 60_000},
        {"act": Act.KEEP},
        {"outcome": ActOutcome.REFUSED},
    ],
)
def test_without_a_possible_time_of_this_member_it_is_unknown_when_the_consumer_stopped(changes):
    assert least(reported(replace(VACATED, **changes)), SECOND) == 0


def test_a_consumer_that_turns_out_to_be_alive_had_not_stopped():
    alive = replace(VACATED, stopped_ms=None, revision=1)
    assert least(reported(VACATED), SECOND, reported(alive, at=21_000)) == 0
    assert least(reported(alive), reported(VACATED), SECOND) == 0, "revisions may be swapped"


def test_the_handover_of_a_group_whose_coordinator_names_the_successor_shows_when_its_consumer_stopped():
    seats = SeatOccupants()
    assert seats.take(replace(VACATED, client_id=None, host=None), 0)
    assert (seats.stopped_ms("a"), seats.stopped_ms("b"), len(seats)) == (T0 + 8_000, None, 0)
    seats.keep({"a"}, 1)
    assert seats.stopped_ms("a") is None, "it is no member any more"


def test_the_number_of_former_members_is_bounded():
    seats = SeatOccupants()
    for number in range(OCCUPANTS_MAX + 1):
        seats.take(replace(VACATED, former_member_id=str(number)), number)
    assert (seats.stopped_ms("0"), seats.stopped_ms("1")) == (None, T0 + 8_000)


def test_the_number_of_members_is_bounded():
    seats = SeatOccupants()
    for number in range(OCCUPANTS_MAX + 1):
        seats.take(replace(TAKEN, member_id=str(number)), number)
    assert len(seats) == OCCUPANTS_MAX
    assert (seats.of("0"), seats.of("1")) == (None, OCCUPANT)
