"""A gateway's notes to others about its seats and newcomers, and its lock requests."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import count

import pytest

from rebalance_agent.gateway.seats.group_facts import FreeSeat, WaitingElsewhere
from rebalance_agent.gateway.seats.locks import LockAnswer, LockBeat, LockChange, MemberCheck, SeatLocks
from rebalance_agent.gateway.seats.locks.lock_acts import LockLoss
from rebalance_agent.gateway.seats.locks.lock_frames import LockHolder
from rebalance_agent.gateway.seats.locks.lock_notes import (
    offer_note,
    offered_seats,
    waiting_elsewhere,
    waiting_note,
)
from rebalance_agent.gateway.seats.rules.seat_settings import SeatSettings
from rebalance_agent.gateway.seats.seat import Seat, SeatState
from support.gateway.seats import profile

SEAT = Seat("s", profile(), SeatState.VACANT, member_id="s-1 a", leads=True)
NOTE = offer_note(SEAT)
CHECK, STILL_THERE = [MemberCheck("s", "s-1 a")], 22
OK, RELEASED = LockAnswer(0, 1), LockAnswer(0, -2)
ONE = WaitingElsewhere(profile().fingerprint, 5)
OTHER = WaitingElsewhere(profile(topics=("u",)).fingerprint, 9)
WAITING = "rebalance-agent-waiting-me"


def new(*, on=True):
    return SeatLocks(SeatSettings(), (f"id-{number}" for number in count(1)), "me", on=on)


def offered():
    """Locks, after the seat s was offered at 0.0."""
    locks = new()
    (claim,) = locks.release("s", 0.0, NOTE)
    assert claim == LockBeat("s", "id-1", 0, 0.0, NOTE)
    (release,) = locks.answered(claim, OK, 0.0)
    assert (release.instance_id, release.epoch) == ("s", -2)
    assert locks.answered(release, RELEASED, 0.0) == []
    return locks


def known(instance_id="s", note=NOTE, *, released=True):
    return LockHolder(instance_id, "id-7", released, note)


# -- notes -----------------------------------------------------------------------------------------------------


def test_a_seat_is_offered_as_long_as_its_lock_is_released_and_its_last_member_is_in_the_group():
    free = FreeSeat("s", profile().fingerprint, leads=True)
    assert offered_seats([known()], {"s": "s-1 a"}) == {"s": (free, NOTE)}
    assert offered_seats([known(released=False)], {"s": "s-1 a"}) == {}
    assert offered_seats([known()], {"s": "its successor"}) == {}
    assert offered_seats([known()], {}) == {}


@pytest.mark.parametrize("note", [None, "", "2" + NOTE[1:], NOTE[:30], "1 x 0 s-1 a", NOTE.replace(" 1 ", " 2 ")])
def test_a_note_in_another_format_offers_nothing(note):
    assert offered_seats([known(note=note)], {"s": "s-1 a"}) == {}


def test_a_seat_without_a_known_subscription_is_not_offered():
    assert offer_note(replace(SEAT, profile=None)) is None
    assert offer_note(replace(SEAT, member_id="m" * 1_000)) is None


def test_notes_contain_the_number_of_waiting_newcomers_by_kind():
    note = waiting_note({OTHER: 1, ONE: 2})
    assert waiting_elsewhere([known(WAITING, note, released=False)], "own") == (ONE, ONE, OTHER)
    assert waiting_elsewhere([known(WAITING, note, released=False)], WAITING) == ()
    assert waiting_elsewhere([known(WAITING, note)], "own") == ()
    assert waiting_elsewhere([known("s", note, released=False)], "own") == ()


def test_a_note_is_bounded_and_prefers_kinds_with_the_most_newcomers():
    kinds = {WaitingElsewhere(f"{number:032x}", 9): number for number in range(1, 2_000)}
    note = waiting_note(kinds)
    assert len(note) <= 1_000
    (first, *_, last) = waiting_elsewhere([known(WAITING, note, released=False)], "own")
    assert int(first.fingerprint, 16) == 1_999
    assert int(last.fingerprint, 16) > 1_900


def test_invalid_entries_of_a_note_are_ignored():
    note = f"1 x {ONE.fingerprint}:5:1 {ONE.fingerprint}:5 {ONE.fingerprint}:5:-1"
    assert waiting_elsewhere([known(WAITING, note, released=False)], "own") == (ONE,)
    assert waiting_elsewhere([known(WAITING, "2" + note[1:], released=False)], "own") == ()


# -- seats of this gateway -------------------------------------------------------------------------------------


def test_a_seat_that_was_never_offered_needs_no_lock():
    locks = new()
    assert locks.claim("new", 0.0) == [LockChange("new")]
    assert locks.release("new", 0.0, None) == []


def refuse(locks, claim, now):
    """Another gateway gets the lock; returns the resulting actions."""
    (release,) = locks.answered(claim, LockAnswer(111), now)
    assert (release.member_id, release.epoch) == (claim.member_id, -2)
    return locks.answered(release, LockAnswer(82), now)


def test_after_an_offer_the_own_gateway_also_needs_the_lock():
    locks = offered()
    (claim,) = locks.claim("s", 1.0)
    assert (claim.member_id, claim.epoch, claim.note) == ("id-2", 0, NOTE)
    assert refuse(locks, claim, 1.1) == [LockChange("s", LockLoss.TAKEN, 111)]
    (claim,) = locks.claim("s", 2.0)
    assert locks.answered(claim, OK, 2.1) == CHECK
    assert locks.checked("s", STILL_THERE, 2.1) == [LockChange("s")]
    assert [beat.epoch for beat in locks.taken("s", 2.2)] == [-2]
    assert locks.due(30.0, {"s"})[0].epoch == -2  # only the unanswered release


def test_a_newcomer_of_the_own_gateway_has_priority_for_an_offered_seat():
    locks = new()
    (claim,) = locks.release("s", 0.0, NOTE)
    assert locks.claim("s", 0.1) == []
    assert locks.answered(claim, OK, 0.2) == CHECK
    assert locks.checked("s", STILL_THERE, 0.3) == [LockChange("s")]


@pytest.mark.parametrize("error", [25, 82, None, 16])
def test_a_seat_with_another_member_is_not_taken_although_its_lock_is_granted(error):
    locks = offered()
    (claim,) = locks.claim("s", 1.0)
    assert locks.answered(claim, OK, 1.1) == CHECK
    assert locks.answered(LockBeat("s", "id-2", 1, 1.2), OK, 1.2) == []
    release, change = locks.checked("s", error, 1.3)
    assert (release.instance_id, release.epoch) == ("s", -2)
    assert change == LockChange("s", LockLoss.TAKEN, error or 0)
    assert locks.checked("s", error, 1.4) == []
    again = locks.due(60.0, {"s"})
    assert (0 in {beat.epoch for beat in again}) is (error in (None, 16)), "a possibly vacant seat is offered again"


@pytest.mark.parametrize("answer", [LockAnswer(30), LockAnswer(35), LockAnswer(42), None])  # None: no lock
def test_a_seat_that_could_not_be_offered_is_free_for_a_newcomer_of_its_own_gateway(answer):
    locks = new()
    (claim,) = locks.release("s", 0.0, NOTE)
    assert locks.claim("s", 0.1) == []
    acts = [*locks.answered(claim, answer, 0.2), *locks.due(1.0, {"s"})]
    assert [act for act in acts if isinstance(act, LockChange)] == [LockChange("s")]


def test_a_seat_is_offered_again_while_it_is_vacant_since_a_released_lock_ends():
    locks = offered()
    assert locks.next_due() == 15.0
    assert locks.due(14.0, {"s"}) == []
    (claim,) = locks.due(15.0, {"s"})
    assert (claim.instance_id, claim.epoch, claim.note) == ("s", 0, NOTE)
    assert [act.epoch for act in locks.answered(claim, OK, 15.1)] == [-2]
    locks = offered()
    assert locks.due(15.0, ()) == []
    assert locks.next_due() is None


def test_a_refused_offer_is_repeated_soon():
    locks = new()
    (claim,) = locks.release("s", 0.0, NOTE)
    assert refuse(locks, claim, 0.1) == []
    assert locks.due(0.5, {"s"}) == []
    assert [act.epoch for act in locks.due(1.0, {"s"})] == [0]


def test_a_seat_that_its_newcomer_does_not_take_is_offered_again():
    locks = offered()
    (claim,) = locks.claim("s", 1.0)
    locks.answered(claim, OK, 1.1)
    assert [act.epoch for act in locks.release("s", 1.2, NOTE)] == [-2]


# -- seats of other gateways -----------------------------------------------------------------------------------


def elsewhere(locks, *more):
    free, waiting = locks.described([known(), *more], {"s": "s-1 a"})
    assert free == (FreeSeat("s", profile().fingerprint, leads=True),)
    return waiting


def test_a_seat_of_another_gateway_is_claimed_and_released_once_its_newcomer_has_it():
    locks = new()
    elsewhere(locks)
    (claim,) = locks.claim("s", 0.0)
    assert claim.note == NOTE  # the seat is offered again if the newcomer does not take it
    assert locks.answered(claim, OK, 0.1) == CHECK
    assert locks.checked("s", STILL_THERE, 0.1) == [LockChange("s")]
    assert (locks.fresh(10.0), locks.fresh(9.9)) == (False, True)
    assert [beat.epoch for beat in locks.taken("s", 0.2)] == [-2]
    assert locks.fresh(20.0)


def test_a_claim_without_a_waiting_newcomer_is_released():
    locks = new()
    elsewhere(locks)
    (claim,) = locks.claim("s", 0.0)
    assert locks.answered(claim, OK, 0.1) == CHECK
    assert locks.checked("s", STILL_THERE, 0.1) == [LockChange("s")]
    assert [beat.epoch for beat in locks.release("s", 0.2, None)] == [-2]


def test_own_offers_do_not_count_as_seats_of_other_gateways():
    assert offered().described([known()], {"s": "s-1 a"}) == ((), ())


# -- waiting newcomers ---------------------------------------------------------------------------------------


def test_other_gateways_get_the_number_of_waiting_newcomers():
    locks = new()
    assert locks.waits(Counter(), 0.0) == []
    (claim,) = locks.waits(Counter({ONE: 1}), 0.0)
    assert (claim.instance_id, claim.epoch, claim.note) == (WAITING, 0, waiting_note({ONE: 1}))
    assert locks.answered(claim, OK, 0.1) == []
    assert locks.waits(Counter({ONE: 1}), 0.2) == []
    (beat,) = locks.waits(Counter({ONE: 2}), 0.3)
    assert (beat.epoch, beat.note) == (1, waiting_note({ONE: 2}))
    assert [act.epoch for act in locks.waits(Counter(), 0.4)] == [-2]


def test_a_refused_note_of_newcomers_is_repeated_after_a_second():
    locks = new()
    (claim,) = locks.waits(Counter({ONE: 1}), 0.0)
    assert refuse(locks, claim, 0.1) == []
    assert locks.waits(Counter({ONE: 1}), 0.5) == []
    assert locks.next_due() == 1.0
    assert [act.epoch for act in locks.waits(Counter({ONE: 1}), 1.0)] == [0]


# -- clusters without locks ------------------------------------------------------------------------------------


def test_without_locks_nothing_is_offered_or_claimed():
    locks = new(on=False)
    assert not locks.usable(1e9)
    assert locks.release("s", 0.0, NOTE) == []
    assert locks.claim("s", 0.1) == [LockChange("s")]
    assert locks.waits(Counter({ONE: 1}), 0.2) == []
    assert (locks.due(10.0, {"s"}), locks.next_due()) == ([], None)


@pytest.mark.parametrize(("error", "loss"), [(30, LockLoss.FORBIDDEN), (35, LockLoss.UNSUPPORTED)])
def test_a_cluster_that_refuses_locks_gets_no_request_for_a_minute(error, loss):
    locks = new()
    (claim,) = locks.waits(Counter({ONE: 1}), 0.0)
    assert locks.answered(claim, LockAnswer(error), 1.0) == [LockChange(WAITING, loss, error)]
    assert (locks.usable(60.9), locks.usable(61.0)) == (False, True)
    assert locks.waits(Counter({ONE: 1}), 60.0) == []
    assert locks.release("s", 60.0, NOTE) == []
    assert locks.next_due() == 61.0
    assert len(locks.waits(Counter({ONE: 1}), 61.0)) == len(locks.due(61.0, {"s"})) == 1


def test_a_stopping_gateway_releases_everything():
    locks = new()
    elsewhere(locks)
    (waits,) = locks.waits(Counter({ONE: 1}), 0.0)
    locks.answered(waits, OK, 0.0)
    (claim,) = locks.claim("s", 0.0)
    locks.answered(claim, OK, 0.0)
    assert {(beat.instance_id, beat.epoch) for beat in locks.stop(1.0)} == {(WAITING, -2), ("s", -2)}
    assert locks.waits(Counter({ONE: 1}), 2.0) == []
    assert not locks.usable(1e9)
