"""Decisions about the JoinGroup of a newcomer, by the facts of the classic protocol."""

from __future__ import annotations

import pytest

from rebalance_agent.gateway.seats.group_facts import FreeSeat, GroupPhase, SeatsRoster
from rebalance_agent.gateway.seats.impatient_clients import IMPATIENT_SECONDS
from rebalance_agent.gateway.seats.rules.act_reasons import PlainReason
from rebalance_agent.gateway.seats.rules.eligibility import SeatRefusal
from rebalance_agent.gateway.seats.rules.join_profile import ProfileDifference
from rebalance_agent.gateway.seats.rules.seat_answers import JoinAnswer
from rebalance_agent.gateway.seats.seat import SeatState
from rebalance_agent.gateway.seats.seat_acts import (
    AnswerLeave,
    ClaimLock,
    DescribeSeats,
    ForwardJoin,
    ForwardSeated,
    GiveUpSeat,
    HoldJoin,
    ReleaseLock,
)
from support.gateway.seats import CHEAP, EMPTY, STABLE, newcomer, only, profile, seated, seats

FREE = FreeSeat("elsewhere", profile().fingerprint, leads=False)


def with_free(phase=GroupPhase.STABLE, free=FREE):
    return SeatsRoster(phase=phase, members=3, seated=3, free=(free,))


def claimed(group, *, now=0.0, phase=GroupPhase.STABLE):
    """A newcomer that was granted the lock of another gateway's free seat; returns the next actions."""
    group.described(with_free(phase), now)
    assert ClaimLock("elsewhere") in group.join(newcomer(1), now, now)
    return group.lock_answered("elsewhere", granted=True, now=now)


def test_the_first_members_of_a_group_get_new_seats_at_once():
    group = seats()
    assert group.join(newcomer(1), 0.0, 0.0) == [HoldJoin(1, 60.0), DescribeSeats()]
    (claim,) = group.described(EMPTY, 0.0)
    assert group.lock_answered(claim.instance_id, granted=True, now=0.0) == [
        ForwardSeated(1, claim.instance_id, returns=False)
    ]


def test_a_newcomer_takes_a_free_seat_of_another_gateway_in_a_stable_group():
    group = seats()
    assert claimed(group) == [ForwardSeated(1, "elsewhere", returns=True)]
    assert group.join_answered(1, 0, "m2", 5, leads=False, now=0.0) == ([], JoinAnswer.SHOW)
    assert group.table.of_member("m2").state is SeatState.OCCUPIED


def test_a_newcomer_is_held_while_all_have_joined_and_not_all_have_their_assignment():
    group = seats()
    assert claimed(group, phase=GroupPhase.COMPLETING) == []
    assert group.due(9.0) == [DescribeSeats()]
    group.lock_answered("elsewhere", granted=True, now=9.0)
    assert group.described(with_free(), 12.0) == [ForwardSeated(1, "elsewhere", returns=True)]


def test_a_newcomer_joins_a_running_rebalance_at_once():
    assert claimed(seats(), phase=GroupPhase.PREPARING) == [ForwardSeated(1, "elsewhere", returns=True)]
    group = seats()
    group.join(newcomer(1), 0.0, 0.0)
    (claim,) = only(group.described(SeatsRoster(phase=GroupPhase.PREPARING, members=3, seated=3), 1.0), ClaimLock)
    assert claim.instance_id.startswith("rebalance-agent-seat-")


def test_a_lock_that_was_not_confirmed_for_long_is_not_used():
    group = seats()
    claimed(group, phase=GroupPhase.COMPLETING)
    group.described(with_free(GroupPhase.COMPLETING), 10.5)
    assert group.held.next_due() is None  # forwarded
    group = seats()
    claimed(group, phase=GroupPhase.COMPLETING)
    acts = group.described(with_free(), 10.5)
    assert acts == [ReleaseLock("elsewhere"), ForwardJoin(1, PlainReason.NO_LOCK)]


def test_a_newcomer_does_not_wait_for_an_unanswered_lock():
    group = seats()
    group.described(with_free(), 0.0)
    group.join(newcomer(1), 0.0, 0.0)
    assert group.next_due() == 1.0
    assert ForwardJoin(1, PlainReason.NO_LOCK) in group.due(1.0)
    assert group.lock_answered("elsewhere", granted=True, now=2.0) == [ReleaseLock("elsewhere")]


def test_a_group_that_cannot_be_described_is_joined_without_a_seat():
    group = seats()
    group.join(newcomer(1), 0.0, 0.0)
    assert only(group.due(1.0), ForwardJoin) == [ForwardJoin(1, PlainReason.NO_LOCK)]


def test_a_seat_owned_by_another_gateway_is_not_requested_again():
    group = seats()
    group.described(with_free(), 0.0)
    group.join(newcomer(1), 0.0, 0.0)
    assert group.lock_answered("elsewhere", granted=False, now=0.0) == []
    assert only(group.described(with_free(), 1.0), ClaimLock) == []


def test_two_newcomers_never_claim_one_seat():
    group = seats()
    group.described(with_free(), 0.0)
    assert only(group.join(newcomer(1), 0.0, 0.0), ClaimLock) == [ClaimLock("elsewhere")]
    assert only(group.join(newcomer(2), 0.0, 0.0), ClaimLock) == []


@pytest.mark.parametrize(("patience", "until"), [(300.0, 60.0), (20.0, 20.0), (0.0, 0.0)])
def test_no_newcomer_is_held_longer_than_the_setting_and_its_client_allow(patience, until):
    group = seats()
    group.described(STABLE, 0.0)
    acts = group.join(newcomer(1, patience_seconds=patience), 0.0, 0.0)
    if until:
        assert acts[0] == HoldJoin(1, until)
        acts = group.due(until)
    assert acts == [ForwardJoin(1, PlainReason.HELD_LONG_ENOUGH)]


def test_a_newcomer_without_a_free_seat_joins_with_a_new_one_in_time():
    group = seats()
    group.described(STABLE, 58.9)
    group.join(newcomer(1), 0.0, 0.0)
    (claim,) = only(group.due(59.0), ClaimLock)
    assert group.lock_answered(claim.instance_id, granted=True, now=59.1) == [
        ForwardSeated(1, claim.instance_id, returns=False)
    ]


def test_newcomers_behind_all_gateways_join_at_the_same_multiple_of_the_clock():
    for arrived in (3.0, 11.0, 19.0):  # each gateway's clock has its own origin
        group = seats(hold_seconds=5.0, admission_seconds=25.0)
        group.described(STABLE, arrived)
        group.join(newcomer(1), arrived, 1_000.0 + arrived)
        group.described(STABLE, 24.9)
        assert only(group.due(24.99), ClaimLock) == []
        assert only(group.due(25.0), ClaimLock) != []


def test_newcomers_of_a_group_without_seats_are_not_held():
    group = seats()
    group.described(SeatsRoster(phase=GroupPhase.STABLE, members=3, seated=0), 0.0)
    assert only(group.join(newcomer(1), 0.0, 0.0), ClaimLock) != []


@pytest.mark.parametrize("error", [-1, 23, 25, 81, 82])
def test_an_error_caused_by_the_instance_id_is_not_passed_on(error):
    group = seats()
    claimed(group)
    acts, verdict = group.join_answered(1, error, "", -1, leads=False, now=0.0)
    assert verdict is JoinAnswer.RESEND
    assert acts == [ForwardJoin(1, PlainReason.COORDINATOR), ReleaseLock("elsewhere")]
    assert len(group.table) == 0


@pytest.mark.parametrize("error", [14, 15, 16])
def test_an_error_that_the_clients_own_frame_would_have_caused_is_passed_on(error):
    group = seats()
    claimed(group)
    acts, verdict = group.join_answered(1, error, "", -1, leads=False, now=0.0)
    assert verdict is JoinAnswer.SHOW
    assert only(acts, ForwardJoin) == []


def test_the_holder_of_a_seat_is_unaffected_if_the_newcomer_is_refused():
    group = seats()
    instance_id = seated(group)
    group.described(STABLE, 0.0)
    group.join(newcomer(2), 0.0, 0.0)
    acts = group.leave("m1", None, CHEAP, 0.0, 0.0)
    assert acts == [AnswerLeave("m1"), ForwardSeated(2, instance_id, returns=True)]
    group.join_answered(2, 23, "", -1, leads=False, now=0.0)
    assert group.table.of_member("m1").state is SeatState.VACANT


def test_a_vacant_seat_with_another_subscription_is_given_up_and_not_handed_over():
    group = seats()
    instance_id = seated(group)
    group.leave("m1", None, CHEAP, 0.0, 0.0)
    group.described(STABLE, 0.0)
    acts = group.join(newcomer(2, of=profile(topics=("t", "u"))), 0.0, 0.0)
    assert GiveUpSeat(instance_id, "m1", ProfileDifference.TOPICS) in acts
    (claim,) = only(acts, ClaimLock)
    assert claim.instance_id != instance_id


def test_a_vacant_seat_is_not_given_up_for_a_newcomer_that_may_succeed_another_member():
    group = seats()
    seated(group, of=profile(topics=("u",)), member="m2")
    seated(group, 3)
    group.leave("m1", None, CHEAP, 0.0, 0.0)
    group.described(STABLE, 0.0)
    acts = group.join(newcomer(2, of=profile(topics=("u",))), 0.0, 0.0)
    assert acts == [HoldJoin(2, 60.0), DescribeSeats()]


def test_a_consumer_that_lost_its_membership_is_not_held_for_a_predecessor():
    group = seats()
    group.described(STABLE, 0.0)
    assert only(group.join(newcomer(1, was_member=True), 0.0, 0.0), ClaimLock) != []


def test_an_ineligible_newcomer_is_forwarded_unchanged():
    assert seats().join(newcomer(1, member_id="pending"), 0.0, 0.0) == [ForwardJoin(1, SeatRefusal.MEMBER_ID)]


def test_a_held_newcomer_is_forwarded_if_the_group_is_mixed():
    group = seats()
    group.join(newcomer(1), 0.0, 0.0)
    mixed = SeatsRoster(phase=GroupPhase.STABLE, members=3, seated=0, mixed=True)
    assert group.described(mixed, 0.1) == [ForwardJoin(1, SeatRefusal.GROUP_TYPE)]


def test_holds_and_known_members_are_bounded():
    group = seats(held_max=1)
    group.join(newcomer(1), 0.0, 0.0)
    assert group.join(newcomer(2), 0.0, 0.0) == [ForwardJoin(2, PlainReason.FULL)]
    group = seats(seats_max=1)
    seated(group)
    assert group.join(newcomer(2), 0.0, 0.0) == [ForwardJoin(2, PlainReason.FULL)]


def test_a_newcomer_that_disconnects_releases_its_lock():
    group = seats()
    claimed(group, phase=GroupPhase.COMPLETING)
    assert group.withdraw(1, 1.0) == [ReleaseLock("elsewhere")]
    group = seats()
    claimed(group)
    assert group.withdraw(1, 1.0) == [ReleaseLock("elsewhere")]
    assert len(group.table) == 0


def test_a_client_that_gives_up_while_it_is_held_is_not_held_again():
    group = seats()
    group.described(STABLE, 0.0)
    group.join(newcomer(1, client_id="impatient"), 0.0, 0.0)
    assert group.withdraw(1, 5.0) == []
    again = newcomer(2, client_id="impatient")
    assert group.join(again, 6.0, 6.0) == [ForwardJoin(2, PlainReason.IMPATIENT)]
    assert isinstance(group.join(newcomer(3, client_id="other"), 6.0, 6.0)[0], HoldJoin)
    assert isinstance(group.join(newcomer(4, client_id="impatient"), 5.0 + IMPATIENT_SECONDS, 65.0)[0], HoldJoin)
