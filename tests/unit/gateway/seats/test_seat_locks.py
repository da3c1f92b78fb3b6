"""Requests of a gateway for the locks of seats, and the handling of responses."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest

from rebalance_agent.errors import DecodeError, InvalidInputError
from rebalance_agent.gateway.seats.group_seats import GroupSeats
from rebalance_agent.gateway.seats.locks import GroupLocks, LockAnswer, LockBeat, LockChange
from rebalance_agent.gateway.seats.locks.lock_acts import LockLoss, SavedLock
from rebalance_agent.gateway.seats.locks.lock_errors import loss_text
from rebalance_agent.gateway.seats.locks.lock_frames import (
    heartbeat_frame,
    helper_group,
    holders,
    read_heartbeat_answer,
)
from rebalance_agent.gateway.seats.rules.seat_settings import SeatSettings
from rebalance_agent.groupprotocol.requests.consumer_group_heartbeat import CONSUMER_HEARTBEAT
from support.seats.helper_group import UNRELEASED

SETTINGS = SeatSettings()
OK = LockAnswer(0, 1)


def new_locks(**limits):
    return GroupLocks(SeatSettings(**limits), (f"member-{number}" for number in count(1)))


def held_lock(seat="s", **limits):
    """Locks, one of them granted at 0.0."""
    locks = new_locks(**limits)
    (claim,) = locks.claim(seat, 0.0)
    assert locks.answered(claim, OK, 0.0) == [LockChange(seat)]
    return locks


def test_a_claim_is_a_heartbeat_of_a_new_member_and_its_result_is_reported():
    locks = new_locks()
    (claim,) = locks.claim("s", 3.0)
    assert claim == LockBeat("s", "member-1", 0, 3.0)
    assert not locks.held("s", 3.0)
    assert locks.claim("s", 3.1) == []
    assert locks.answered(claim, OK, 3.2) == [LockChange("s")]
    assert locks.held("s", 12.9)
    assert not locks.held("s", 13.0)
    assert locks.claim("s", 3.3) == [LockChange("s")]


@pytest.mark.parametrize(
    ("error", "loss"),
    [
        (30, LockLoss.FORBIDDEN),
        (35, LockLoss.UNSUPPORTED),
        (81, LockLoss.FULL),
        (42, LockLoss.REFUSED),
    ],
)
def test_a_refused_claim_has_a_reason_and_is_dropped(error, loss):
    locks = new_locks()
    (claim,) = locks.claim("s", 0.0)
    assert locks.answered(claim, LockAnswer(error), 0.1) == [LockChange("s", loss, error)]
    assert (len(locks), locks.next_due()) == (0, None)
    assert f"error {error}" in loss_text(helper_group("g"), loss, error)


def test_a_lock_is_confirmed_three_times_within_the_time_for_which_a_confirmation_counts():
    locks = held_lock()
    assert locks.next_due() == pytest.approx(10 / 3)
    assert locks.due(3.0) == []
    (beat,) = locks.due(3.5)
    assert beat == LockBeat("s", "member-1", 1, 3.5)
    assert locks.answered(beat, LockAnswer(0, 2, interval_seconds=1.0), 3.6) == [LockChange("s")]
    assert locks.held("s", 13.4)
    assert locks.next_due() == 4.5  # the coordinator requires one per second
    assert locks.due(4.5) == [LockBeat("s", "member-1", 2, 4.5)]


@pytest.mark.parametrize("error", [25, 69, 82, 110])
def test_a_lock_ended_by_the_coordinator_is_lost(error):
    locks = held_lock()
    (beat,) = locks.due(4.0)
    assert locks.answered(beat, LockAnswer(error), 4.1) == [LockChange("s", LockLoss.LOST, error)]
    assert not locks.held("s", 4.1)


def test_an_unconfirmed_lock_is_lost_but_not_released_and_granted_again_when_confirmed():
    locks = held_lock()
    (beat,) = locks.due(9.0)
    assert locks.answered(beat, None, 9.1) == []
    assert locks.next_due() == pytest.approx(9.35)
    acts = locks.due(10.0)
    assert acts == [LockChange("s", LockLoss.NOT_CONFIRMED), LockBeat("s", "member-1", 1, 10.0)]
    assert not locks.held("s", 10.0)
    assert locks.answered(acts[1], LockAnswer(16), 10.1) == []
    (again,) = locks.due(10.5)
    assert locks.answered(again, OK, 10.6) == [LockChange("s")]
    assert locks.held("s", 20.4)


def test_a_confirmation_counts_from_the_time_of_its_request():
    """The process slept for 60 s between request and response; the session may have expired."""
    locks = held_lock()
    (beat,) = locks.due(4.0)
    assert locks.answered(beat, OK, 64.0) == []
    assert not locks.held("s", 64.0)
    assert locks.due(64.0)[0] == LockChange("s", LockLoss.NOT_CONFIRMED)


def test_a_claim_without_a_response_is_withdrawn_because_it_may_have_succeeded():
    locks = new_locks()
    (claim,) = locks.claim("s", 0.0)
    assert locks.next_due() == SETTINGS.answer_seconds
    lost = [LockChange("s", LockLoss.NOT_CONFIRMED), LockBeat("s", "member-1", -2, 1.0)]
    assert locks.due(1.0) == lost
    # The claim was processed after its release, on an older connection.
    assert locks.answered(lost[1], LockAnswer(25), 1.1) == []
    assert locks.answered(claim, OK, 1.2) == [LockBeat("s", "member-1", -2, 1.2)]


def test_a_claim_with_a_late_response_is_withdrawn():
    locks = new_locks()
    (claim,) = locks.claim("s", 0.0)
    lost = [LockChange("s", LockLoss.NOT_CONFIRMED), LockBeat("s", "member-1", -2, 60.0)]
    assert locks.answered(claim, OK, 60.0) == lost


@pytest.mark.parametrize("answer", [None, LockAnswer(15)])
def test_a_claim_is_sent_again_after_its_connection_ended_or_while_the_coordinator_moves(answer):
    locks = new_locks()
    (claim,) = locks.claim("s", 0.0)
    assert locks.answered(claim, answer, 0.1) == []
    (again,) = locks.due(0.4)
    assert again == LockBeat("s", "member-1", 0, 0.4)
    assert locks.answered(again, OK, 0.5) == [LockChange("s")]


def refused_claim():
    """Locks, one of them refused with UNRELEASED_INSTANCE_ID; and the release whose response shows the owner."""
    locks = new_locks()
    (claim,) = locks.claim("s", 0.0)
    (release,) = locks.answered(claim, LockAnswer(UNRELEASED), 0.1)
    assert release == LockBeat("s", "member-1", -2, 0.1)
    return locks, claim, release


def test_an_own_claim_that_succeeded_without_a_response_is_released_and_repeated():
    locks, _, release = refused_claim()
    (again,) = locks.answered(release, LockAnswer(0, -2), 0.2)
    assert again == LockBeat("s", "member-2", 0, 0.2)
    assert locks.answered(again, OK, 0.3) == [LockChange("s")]
    assert locks.held("s", 10.1)


@pytest.mark.parametrize("error", [25, 69, 82])
def test_a_claim_is_refused_if_another_member_has_the_lock(error):
    locks, _, release = refused_claim()
    assert locks.due(0.5) == []
    assert locks.answered(release, LockAnswer(error), 0.6) == [LockChange("s", LockLoss.TAKEN, UNRELEASED)]
    assert (len(locks), locks.next_due()) == (0, None)


def test_a_refused_claim_without_a_response_to_its_release_ends_in_time():
    locks, claim, release = refused_claim()
    assert locks.answered(release, None, 0.2) == []
    assert locks.due(0.5) == [replace(release, sent_at=0.5)]
    change, taken_back = locks.due(SETTINGS.answer_seconds)
    assert change == LockChange("s", LockLoss.NOT_CONFIRMED)
    assert locks.answered(release, LockAnswer(0, -2), 1.1) == []
    assert locks.answered(taken_back, LockAnswer(25), 1.1) == []
    # The first claim arrives late: no request waits for it.
    assert locks.answered(claim, OK, 1.2) == [LockBeat("s", "member-1", -2, 1.2)]


def test_a_released_seat_can_be_claimed_at_once_by_another_member_id():
    locks = held_lock()
    assert locks.release("s", 1.0) == [LockBeat("s", "member-1", -2, 1.0)]
    assert not locks.held("s", 1.0)
    assert locks.claim("s", 1.0) == [LockBeat("s", "member-2", 0, 1.0)]
    assert locks.release("other", 1.0) == []


def test_a_release_is_repeated_until_it_is_answered_or_the_session_expires():
    locks = held_lock()
    (release,) = locks.release("s", 1.0)
    assert locks.answered(release, LockAnswer(16), 1.1) == []
    (again,) = locks.due(1.5)
    assert (again.member_id, again.epoch) == ("member-1", -2)
    (again,) = locks.due(3.0)
    assert locks.due(46.0) == []
    assert locks.next_due() is None
    assert locks.answered(again, None, 46.1) == []


def test_an_answered_release_is_not_sent_again():
    locks = held_lock()
    (release,) = locks.release("s", 1.0)
    assert locks.answered(release, LockAnswer(0, -2), 1.1) == []
    assert locks.next_due() is None


def test_locks_and_releases_are_bounded():
    locks = held_lock(seats_max=1)
    assert locks.claim("t", 0.0) == [LockChange("t", LockLoss.FULL)]
    locks.release("s", 1.0)
    (claim,) = locks.claim("t", 1.0)
    locks.answered(claim, OK, 1.0)
    locks.release("t", 1.0)
    assert [beat.instance_id for beat in locks.due(2.0)] == ["t"]


def test_all_locks_are_released_when_seats_are_switched_off():
    locks = held_lock()
    (claim,) = locks.claim("t", 0.0)
    assert [(act.instance_id, act.epoch) for act in locks.release_all(0.5)] == [("s", -2), ("t", -2)]
    assert locks.answered(claim, LockAnswer(111), 0.6) == []


def test_a_restarted_gateway_continues_with_its_member_id():
    locks = held_lock()
    locks.claim("not granted yet", 0.0)
    saved = locks.saved()
    assert saved == (SavedLock("s", "member-1", 1),)
    after = new_locks()
    (beat,) = after.restore(saved, 20.0)
    assert beat == LockBeat("s", "member-1", 1, 20.0)
    assert not after.held("s", 20.0)
    assert after.claim("s", 20.0) == [LockBeat("s", "member-1", 1, 20.0)]
    assert after.answered(beat, OK, 20.1) == [LockChange("s")]
    assert after.held("s", 29.9)
    # The saved list has more locks than are allowed, or locks that are held already.
    few = new_locks(seats_max=1)
    assert len(few.restore([*saved, *saved, SavedLock("t", "member-9", 1)], 0.0)) == len(few) == 1


def test_changes_are_passed_to_the_seats_of_their_group():
    seats = GroupSeats(SETTINGS, iter(()))
    change = LockChange("unknown")
    (act,) = seats.lock_answered(change.instance_id, granted=change.granted, now=0.0)
    assert new_locks().release(act.instance_id, 0.0) == []
    assert not LockChange("s", LockLoss.TAKEN, 111).granted


def test_the_frames_of_a_lock_have_the_documented_fields():
    """Epoch 0 has an empty subscription; all except releases omit partitions, so that a previous epoch is accepted."""
    claim, beat, release = (
        CONSUMER_HEARTBEAT.decode_request(1, heartbeat_frame("g", LockBeat("s", "m", epoch, 0.0), 7, "gateway"))
        for epoch in (0, 4, -2)
    )
    assert (claim["group_id"], claim["member_id"], claim["instance_id"]) == (helper_group("g"), "m", "s")
    assert (claim["member_epoch"], claim["subscribed_topic_names"], claim["topic_partitions"]) == (0, [], [])
    assert claim["rebalance_timeout_ms"] > 0
    assert (beat["member_epoch"], beat["subscribed_topic_names"], beat["topic_partitions"]) == (4, None, [])
    assert (release["member_epoch"], release["instance_id"], release["topic_partitions"]) == (-2, "s", None)
    with pytest.raises(InvalidInputError):
        heartbeat_frame("g", LockBeat("s", "m", 2**40, 0.0), 7, "gateway")


@pytest.mark.parametrize("read", [read_heartbeat_answer, holders])
def test_a_truncated_response_is_ignored(read):
    with pytest.raises(DecodeError, match="ConsumerGroup"):
        read(b"\0" * 5)


def test_a_note_is_in_every_heartbeat_and_is_sent_at_once_when_it_changes():
    locks = new_locks()
    (claim,) = locks.claim("s", 0.0, "equal to abc")
    assert claim.note == "equal to abc"
    assert locks.note("s", "equal to abc, leads", 0.1) == []  # with the next heartbeat
    locks.answered(claim, OK, 0.2)
    assert [each.note for each in locks.due(0.2)] == ["equal to abc, leads"]
    (beat,) = locks.note("s", "follows", 0.3)
    assert (beat.epoch, beat.note) == (1, "follows")
    assert locks.note("s", "follows", 0.4) == []
    assert [each.note for each in locks.due(4.0)] == ["follows"]
    assert [each.note for each in locks.release("s", 4.1)] == [None]  # the coordinator keeps it
    assert locks.note("s", "gone", 4.2) == []


def test_a_note_that_changes_while_the_lock_is_claimed_is_sent_as_soon_as_it_is_granted():
    locks = new_locks()
    (claim,) = locks.claim("s", 0.0, "one waits")
    assert locks.note("s", "two wait", 0.1) == []
    locks.answered(claim, OK, 0.2)
    assert [each.note for each in locks.due(0.2)] == ["two wait"]
