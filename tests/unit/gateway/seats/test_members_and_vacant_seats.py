"""Decisions about frames of members with seats, and about vacant seats."""

from __future__ import annotations

import pytest

from rebalance_agent.gateway.seats.group_facts import FreeSeat, GroupPhase, SeatsRoster, WaitingElsewhere
from rebalance_agent.gateway.seats.rules.act_reasons import GiveUpReason, PlainReason
from rebalance_agent.gateway.seats.rules.eligibility import SeatRefusal
from rebalance_agent.gateway.seats.seat import SeatState
from rebalance_agent.gateway.seats.seat_acts import (
    AnswerLeave,
    ClaimLock,
    DescribeSeats,
    ForwardJoin,
    ForwardLeave,
    ForwardSeated,
    GiveUpSeat,
    HoldLeave,
    KeepSeat,
    ReleaseLock,
)
from support.gateway.seats import CHEAP, DEAR, STABLE, newcomer, only, profile, seated, seats


def vacant(**settings):
    """A group with the member m2 and the seat of m1, vacant since 0.0; and the seat's instance id."""
    group = seats(**settings)
    seated(group, 2, member="m2")
    instance_id = seated(group)
    group.described(STABLE, 0.0)
    assert group.leave("m1", None, CHEAP, 0.0, 1_000.0) == [AnswerLeave("m1"), ReleaseLock(instance_id)]
    return group, instance_id


# -- leaving ---------------------------------------------------------------------------------------------------


def test_the_seat_of_a_leaving_consumer_is_kept_if_that_costs_less_than_two_rebalances():
    group, instance_id = vacant()
    assert group.next_due() == 0.5
    assert group.due(0.5) == [KeepSeat(instance_id, "m1", 5, until=1.0)]
    assert group.kept(instance_id, "m1", 0, 0.5) == []
    assert group.next_due() == 1.0


def test_a_seat_is_not_kept_without_a_waiting_newcomer_if_that_costs_more_or_an_unknown_time():
    group = seats()
    instance_id = seated(group)
    assert group.leave("m1", None, DEAR, 0.0, 0.0) == [HoldLeave("m1", 1.0), DescribeSeats()]
    leaves = [ForwardLeave("m1", GiveUpReason.NO_SUCCESSOR), ReleaseLock(instance_id)]
    assert group.described(STABLE, 0.1) == leaves


def test_a_consumer_can_leave_a_group_that_cannot_be_described():
    group = seats()
    instance_id = seated(group, process=7)
    group.leave("m1", None, DEAR, 0.0, 0.0)
    group.connections_closed(7, 0.1)  # it does not wait for the response
    assert group.next_due() == 1.0
    assert group.due(1.0) == [ForwardLeave("m1", GiveUpReason.NO_SUCCESSOR), ReleaseLock(instance_id)]


def test_a_consumer_leaves_for_real_if_the_group_has_begun_to_rebalance():
    group = seats()
    seated(group)
    group.leave("m1", None, DEAR, 0.0, 0.0)
    waiting = (WaitingElsewhere(profile().fingerprint, 9),)
    preparing = SeatsRoster(phase=GroupPhase.PREPARING, members=2, seated=2, waiting=waiting)
    assert group.described(preparing, 0.1)[0] == ForwardLeave("m1", GiveUpReason.REBALANCE)


@pytest.mark.parametrize("reason", ["consumer poll timeout has expired.", "the consumer unsubscribed from all topics"])
def test_a_consumer_that_leaves_and_keeps_running_leaves_for_real(reason):
    group = seats()
    seated(group)
    assert group.leave("m1", reason, CHEAP, 0.0, 0.0)[0] == ForwardLeave("m1", GiveUpReason.NOT_ENDING)


def test_no_seat_is_kept_while_the_group_rebalances():
    group = seats()
    seated(group)
    group.heartbeat_answered("m1", 27, 0.0)
    assert group.leave("m1", None, CHEAP, 0.0, 0.0)[0] == ForwardLeave("m1", GiveUpReason.REBALANCE)


@pytest.mark.parametrize(
    ("waiting", "kept"),
    [
        (WaitingElsewhere(profile().fingerprint, 9), True),
        (WaitingElsewhere(profile(topics=("u",)).fingerprint, 9), False),
    ],
)
def test_a_seat_is_kept_for_an_equal_newcomer_waiting_behind_another_gateway(waiting, kept):
    group = seats()
    seated(group)
    assert only(group.leave("m1", None, DEAR, 0.0, 0.0), HoldLeave) != []
    described = SeatsRoster(phase=GroupPhase.STABLE, members=2, seated=2, waiting=(waiting,))
    assert (AnswerLeave("m1") in group.described(described, 0.1)) is kept


def test_one_waiting_newcomer_keeps_one_seat():
    group = seats()
    seated(group, 1, member="m1")
    seated(group, 2, member="m2")
    waiting = (WaitingElsewhere(profile().fingerprint, 9),)
    described = SeatsRoster(phase=GroupPhase.STABLE, members=2, seated=2, waiting=waiting)
    group.leave("m1", None, DEAR, 0.0, 0.0)
    group.leave("m2", None, DEAR, 0.0, 0.0)
    acts = group.described(described, 0.1)
    assert acts[0] == AnswerLeave("m1")
    assert ForwardLeave("m2", GiveUpReason.NO_SUCCESSOR) in acts


def test_outdated_knowledge_of_newcomers_elsewhere_keeps_no_seat():
    group = seats()
    seated(group)
    waiting = (WaitingElsewhere(profile().fingerprint, 9),)
    group.described(SeatsRoster(phase=GroupPhase.STABLE, members=2, seated=2, waiting=waiting), 0.0)
    assert group.leave("m1", None, DEAR, 0.1, 0.0) == [HoldLeave("m1", 1.1), DescribeSeats()]


def test_a_newcomer_is_not_counted_for_a_seat_already_offered_by_another_gateway():
    group = seats()
    seated(group)
    equal = profile().fingerprint
    facts = {"phase": GroupPhase.STABLE, "members": 2, "seated": 2, "free": (FreeSeat("s", equal, leads=False),)}
    one = WaitingElsewhere(equal, 9)
    group.leave("m1", None, DEAR, 0.0, 0.0)
    group.described(SeatsRoster(**facts, waiting=(one,)), 0.1)
    assert group.table.of_member("m1") is None
    seated(group)
    group.leave("m1", None, DEAR, 0.0, 0.0)
    assert AnswerLeave("m1") in group.described(SeatsRoster(**facts, waiting=(one, one)), 0.1)


@pytest.mark.parametrize(("forecast", "seconds"), [(DEAR, 5.0), (CHEAP, 30.0)])
def test_a_seat_that_is_kept_for_a_newcomer_elsewhere_only_is_given_up_soon(forecast, seconds):
    group = seats()
    instance_id = seated(group)
    waiting = (WaitingElsewhere(profile().fingerprint, 9),)
    acts = group.leave("m1", None, forecast, 0.0, 0.0)
    acts += group.described(SeatsRoster(phase=GroupPhase.STABLE, members=2, seated=2, waiting=waiting), 0.0)
    assert AnswerLeave("m1") in acts
    assert only(group.due(seconds - 0.1), GiveUpSeat) == []
    assert group.due(seconds) == [GiveUpSeat(instance_id, "m1", GiveUpReason.NO_SUCCESSOR)]


def test_a_leaders_seat_is_not_kept_for_a_newcomer_that_could_not_lead():
    group = seats()
    seated(group, leads=True)
    waiting = WaitingElsewhere(profile().fingerprint, 8)
    group.leave("m1", None, DEAR, 0.0, 0.0)
    described = SeatsRoster(phase=GroupPhase.STABLE, members=2, seated=2, waiting=(waiting,))
    assert AnswerLeave("m1") not in group.described(described, 0.1)


def test_a_held_newcomer_of_this_gateway_gets_the_seat_without_a_lock_request():
    group = seats()
    instance_id = seated(group)
    group.described(STABLE, 0.0)
    group.join(newcomer(2), 0.0, 0.0)
    assert group.leave("m1", None, DEAR, 0.0, 0.0) == [AnswerLeave("m1"), ForwardSeated(2, instance_id, returns=True)]
    group.join_answered(2, 0, "m2", 5, leads=False, now=0.0)
    assert group.table.of_member("m1") is None
    assert group.facts.phase is GroupPhase.STABLE


def test_the_leave_of_a_member_without_a_seat_is_forwarded_unchanged():
    assert seats().leave("m9", None, CHEAP, 0.0, 0.0) == [ForwardLeave("m9", None)]


# -- vacant seats ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [25, 82])
def test_a_vacant_seat_that_a_successor_has_taken_is_forgotten(error):
    group, instance_id = vacant()
    assert group.kept(instance_id, "m1", error, 0.5) == []
    assert group.table.get(instance_id) is None


def test_at_the_first_sign_of_a_rebalance_a_vacant_seat_is_given_up_and_never_heartbeats_again():
    group, instance_id = vacant()
    give_up = GiveUpSeat(instance_id, "m1", GiveUpReason.REBALANCE)
    assert group.kept(instance_id, "m1", 27, 0.5) == [give_up]
    for tenth in range(6, 460):
        assert only(group.due(tenth / 10), KeepSeat) == []
    assert group.table.get(instance_id) is None  # its session has expired


def test_vacant_seats_are_given_up_when_any_member_behind_the_gateway_sees_a_rebalance():
    group, instance_id = vacant()
    acts, error = group.heartbeat_answered("a member without a seat", 27, 0.1)
    assert acts == [GiveUpSeat(instance_id, "m1", GiveUpReason.REBALANCE)]
    assert error == 27


@pytest.mark.parametrize("error", [None, 14, 15, 16])
def test_a_vacant_seat_is_kept_while_the_coordinator_moves(error):
    group, instance_id = vacant()
    assert group.kept(instance_id, "m1", error, 0.5) == []
    assert group.due(1.0) == [KeepSeat(instance_id, "m1", 5, until=1.5)]


@pytest.mark.parametrize("error", [22, 30])
def test_any_other_refusal_ends_a_kept_seat(error):
    group, instance_id = vacant()
    assert group.kept(instance_id, "m1", error, 0.5) == [GiveUpSeat(instance_id, "m1", GiveUpReason.REFUSED)]


def test_a_vacant_seat_without_a_successor_is_given_up_in_time():
    group, instance_id = vacant(vacant_seconds=30.0)
    assert group.due(30.0) == [GiveUpSeat(instance_id, "m1", GiveUpReason.NO_SUCCESSOR)]
    assert group.given_up(instance_id, "m1", 0, 30.0) == []
    assert group.table.get(instance_id) is None


def test_several_vacant_seats_are_given_up_at_the_same_multiple_of_the_clock():
    group = seats(vacant_seconds=30.0, admission_seconds=25.0)
    times = {"m1": 0.0, "m2": 7.0, "m3": 11.0}
    for number, member in enumerate(times):
        seated(group, number, member=member)
    for member, at in times.items():
        group.described(STABLE, at)
        group.leave(member, None, CHEAP, at, 1_000.0 + at)
    assert [group.table.of_member(member).vacant_until for member in times] == [25.0, 25.0, 25.0]


def test_a_seat_is_kept_for_its_whole_time_if_no_multiple_of_the_clock_lies_within():
    group = seats(vacant_seconds=30.0, admission_seconds=100.0)
    seated(group)
    group.described(STABLE, 0.0)
    group.leave("m1", None, CHEAP, 0.0, 1_010.0)
    assert group.table.of_member("m1").vacant_until == 30.0


def test_a_newcomer_releases_the_lock_of_a_given_up_seat_and_joins_the_rebalance():
    group, instance_id = vacant()
    group.described(SeatsRoster(phase=GroupPhase.COMPLETING, members=2, seated=2), 0.1)
    assert ClaimLock(instance_id) in group.join(newcomer(3), 0.1, 0.1)
    assert group.lock_answered(instance_id, granted=True, now=0.2) == []
    acts = group.kept(instance_id, "m1", 27, 0.5)
    assert acts[:2] == [GiveUpSeat(instance_id, "m1", GiveUpReason.REBALANCE), ReleaseLock(instance_id)]
    (claim,) = only(acts, ClaimLock)
    assert claim.instance_id != instance_id


def test_an_unanswered_leave_is_repeated_until_the_session_expires():
    group, instance_id = vacant()
    group.kept(instance_id, "m1", 27, 0.5)
    assert group.given_up(instance_id, "m1", None, 0.6) == []
    assert only(group.due(1.0), GiveUpSeat) != []
    group.given_up(instance_id, "m1", 0, 1.1)
    assert group.table.get(instance_id) is None


def test_a_consumer_that_left_and_keeps_its_connections_is_not_replaced():
    group = seats(leave_close_seconds=3.0)
    instance_id = seated(group, process=7)
    group.described(STABLE, 0.0)
    group.leave("m1", None, CHEAP, 0.0, 0.0)
    assert group.due(3.0) == [GiveUpSeat(instance_id, "m1", GiveUpReason.NOT_ENDING)]
    group = seats(leave_close_seconds=3.0)
    seated(group, process=7)
    group.described(STABLE, 0.0)
    group.leave("m1", None, CHEAP, 0.0, 0.0)
    group.connections_closed(7, 1.0)
    assert only(group.due(3.0), GiveUpSeat) == []


# -- crashes ---------------------------------------------------------------------------------------------------


def test_a_process_that_is_gone_is_removed_after_the_crash_window_and_not_before():
    group = seats(crash_window_seconds=10.0)
    instance_id = seated(group, process=7)
    group.connections_closed(7, 1.0)
    assert group.due(10.9) == []
    assert group.due(11.0) == [GiveUpSeat(instance_id, "m1", GiveUpReason.CRASHED)]
    assert group.given_up(instance_id, "m1", 0, 11.0) == [ReleaseLock(instance_id)]


def test_a_lost_lock_is_not_released():
    group = seats(crash_window_seconds=10.0)
    instance_id = seated(group, process=7)
    group.connections_closed(7, 0.0)
    group.due(10.0)
    group.lock_answered(instance_id, granted=False, now=10.0)
    assert group.given_up(instance_id, "m1", 0, 10.1) == []


def test_a_process_that_only_reconnects_is_never_removed():
    group = seats(crash_window_seconds=10.0)
    seated(group, process=7)
    for number in range(1_000):
        group.connections_closed(7, 10.0 * number)
        group.connections_opened(7)
        assert group.due(10.0 * number + 10.0) == []
    group.connections_closed(7, 20_000.0)
    group.seen("m1")  # on a connection that was not mapped to the process
    assert group.due(20_010.0) == []


def test_a_late_response_to_a_process_that_is_gone_is_no_sign_of_life():
    group = seats(crash_window_seconds=10.0)
    instance_id = seated(group, process=7)
    group.connections_closed(7, 1.0)
    group.heartbeat_answered("m1", 0, 1.1)
    assert group.due(11.0) == [GiveUpSeat(instance_id, "m1", GiveUpReason.CRASHED)]


def test_a_rebalance_does_not_remove_a_process_that_may_only_reconnect():
    group = seats()
    seated(group, process=7)
    group.connections_closed(7, 0.0)
    acts, _ = group.heartbeat_answered("another member", 27, 1.0)
    assert acts == []


def test_the_next_process_takes_the_seat_of_one_that_is_gone():
    group = seats()
    instance_id = seated(group, process=7)
    group.connections_closed(7, 0.0)
    assert ForwardSeated(2, instance_id, returns=True) in group.join(newcomer(2, process=8), 3.0, 3.0)


# -- members ---------------------------------------------------------------------------------------------------


def test_a_client_never_sees_the_fencing_of_its_instance_id():
    for answered in ("heartbeat", "sync"):
        group = seats()
        instance_id = seated(group)
        take = group.heartbeat_answered if answered == "heartbeat" else group.sync_answered
        assert take("m1", 82, 0.0) == ([ReleaseLock(instance_id)], 25)
    group = seats()
    instance_id = seated(group)
    acts, error = group.rejoin_answered(newcomer(2, member_id="m1"), 82, -1, leads=False, now=0.0)
    assert (acts, error) == ([ReleaseLock(instance_id)], 25)


def test_a_client_never_sees_the_fencing_also_after_the_gateway_lost_its_seats():
    assert seats().heartbeat_answered("m9", 82, 0.0) == ([], 25)
    assert seats().sync_answered("m9", 82, 0.0) == ([], 25)
    assert seats().rejoin_answered(newcomer(2, member_id="m9"), 82, -1, leads=False, now=0.0) == ([], 25)


def test_other_errors_are_passed_on_unchanged():
    for error in (0, 14, 22, 25, 30):
        assert seats().heartbeat_answered("m9", error, 0.0)[1] == error


@pytest.mark.parametrize(("version", "shown"), [(8, 27), (9, 0)])
def test_a_returned_leader_that_watches_no_topics_must_rejoin_once_when_they_change(version, shown):
    group = seats(watches_topics=True)
    seated(group, leads=True, version=version)
    group.described(STABLE, 0.0)
    group.join(newcomer(2, version=version), 0.0, 0.0)
    group.leave("m1", None, DEAR, 0.0, 0.0)
    group.join_answered(2, 0, "m2", 5, leads=False, now=0.0)  # the response names its predecessor as leader
    group.topics_changed()
    assert group.heartbeat_answered("m2", 0, 1.0)[1] == shown
    assert group.heartbeat_answered("m2", 0, 4.0)[1] == 0


def test_a_leader_that_was_elected_watches_the_topics_itself():
    group = seats(watches_topics=True)
    seated(group, leads=True, version=8)
    group.topics_changed()
    assert group.heartbeat_answered("m1", 0, 1.0)[1] == 0


def test_a_successor_is_compared_with_the_last_join_of_the_member():
    group = seats()
    seated(group)
    again = newcomer(3, member_id="m1", of=profile(topics=("t", "u")))
    group.join(again, 0.0, 0.0)
    group.rejoin_answered(again, 0, 6, leads=False, now=0.0)
    group.sync_answered("m1", 0, 0.0)
    group.described(STABLE, 0.0)
    group.join(newcomer(2), 0.0, 0.0)
    group.leave("m1", None, DEAR, 0.0, 0.0)
    assert group.described(STABLE, 0.1)[0] == ForwardLeave("m1", GiveUpReason.NO_SUCCESSOR)


def test_a_lost_lock_changes_nothing_for_the_member():
    group = seats()
    instance_id = seated(group)
    assert group.lock_answered(instance_id, granted=False, now=1.0) == []
    assert group.table.of_member("m1").state is SeatState.OCCUPIED
    group.described(STABLE, 2.0)
    assert group.leave("m1", None, CHEAP, 2.0, 2.0) == [AnswerLeave("m1")]  # there is no lock to release


# -- restart and switch ----------------------------------------------------------------------------------------


def test_a_restarted_gateway_keeps_vacant_seats_for_the_rest_of_their_time():
    group, vacant_id = vacant(vacant_seconds=30.0)
    again = seats(vacant_seconds=30.0)
    again.restore(group.saved(10.0), 5.0, 100.0)
    assert again.due(100.0) == [KeepSeat(vacant_id, "m1", 5, until=100.5)]
    assert again.due(114.9) == [KeepSeat(vacant_id, "m1", 5, until=115.4)]
    assert again.due(115.0) == [GiveUpSeat(vacant_id, "m1", GiveUpReason.NO_SUCCESSOR)]
    assert again.heartbeat_answered("m2", 82, 115.0)[1] == 25


@pytest.mark.parametrize("elapsed", [-1.0, 1e9])
def test_after_a_clock_step_no_seat_is_kept(elapsed):
    group, instance_id = vacant()
    again = seats()
    again.restore(group.saved(0.0), elapsed, 0.0)
    assert again.due(0.0) == [GiveUpSeat(instance_id, "m1", GiveUpReason.NO_SUCCESSOR)]


def test_after_switching_off_nothing_is_held_or_kept_and_members_continue():
    group, instance_id = vacant()
    group.described(STABLE, 0.0)
    group.join(newcomer(3, of=profile(topics=("u",))), 0.0, 0.0)  # gives up the vacant seat
    group.join(newcomer(4), 0.0, 0.0)
    acts = group.stop(0.0)
    assert ForwardJoin(4, PlainReason.OFF) in acts
    assert instance_id not in {seat.instance_id for seat in group.table if seat.free}
    assert group.join(newcomer(5), 0.0, 0.0) == [ForwardJoin(5, PlainReason.OFF)]
    assert group.heartbeat_answered("m2", 82, 0.0)[1] == 25
    assert group.leave("m2", None, CHEAP, 0.0, 0.0)[0] == ForwardLeave("m2", None)


def test_only_seats_with_a_known_member_are_saved():
    group = seats()
    seated(group)
    group.described(STABLE, 0.0)
    group.join(newcomer(2), 0.0, 0.0)
    group.leave("m1", None, DEAR, 0.0, 0.0)  # the newcomer's JoinGroup is sent, but not answered
    assert group.saved(0.0) == ()


def test_a_restored_seat_is_not_kept_longer_than_the_current_setting():
    group, instance_id = vacant(vacant_seconds=30.0)
    again = seats(vacant_seconds=2.0)
    again.restore(group.saved(0.0), 0.0, 0.0)
    assert again.due(2.0) == [GiveUpSeat(instance_id, "m1", GiveUpReason.NO_SUCCESSOR)]


def test_another_newcomer_takes_the_seat_of_a_process_only_after_it_had_time_to_reconnect():
    group = seats(reconnect_seconds=1.0)
    instance_id = seated(group, process=7)
    group.described(STABLE, 10.0)
    group.connections_closed(7, 10.0)
    assert only(group.join(newcomer(2, process=8), 10.5, 10.5), ForwardSeated) == []
    assert group.next_due() == 11.0
    group.facts.lock_answered(11.0)
    assert ForwardSeated(2, instance_id, returns=True) in group.due(11.0)


def test_the_successor_of_a_process_takes_its_seat_at_once_also_if_its_own_connection_came_first():
    group = seats()
    instance_id = seated(group, process=7)
    group.described(STABLE, 1.0)
    group.connections_closed(7, 1.0)
    group.connections_opened(7)
    assert ForwardSeated(2, instance_id, returns=True) in group.join(newcomer(2, process=8, former={7}), 1.1, 1.1)


NO_GROUP = SeatsRoster(phase=GroupPhase.EMPTY, members=0, seated=0, exists=False)


def test_an_unknown_group_with_an_active_member_has_another_protocol():
    group = seats()
    seated(group)
    group.described(NO_GROUP, 10.0)
    assert only(group.join(newcomer(2), 10.0, 10.0), ForwardJoin) == [ForwardJoin(2, SeatRefusal.GROUP_TYPE)]
    assert group.leave("m1", None, CHEAP, 10.0, 10.0) == [HoldLeave("m1", 11.0), DescribeSeats()]
    assert group.described(NO_GROUP, 10.1)[0] == ForwardLeave("m1", GiveUpReason.GROUP_TYPE)


def test_a_group_without_active_members_for_a_session_may_start_again():
    group = seats()
    seated(group)
    group.heartbeat_answered("m1", 0, 10.0)
    group.described(NO_GROUP, 54.9)
    assert len(group.table) == 1
    group.described(NO_GROUP, 55.0)
    assert len(group.table) == 0
    assert only(group.join(newcomer(2), 55.0, 55.0), ForwardJoin) == []


def test_a_description_of_another_protocol_expires():
    group = seats()
    seated(group)
    group.described(NO_GROUP, 10.0)
    assert only(group.join(newcomer(2), 14.0, 14.0), DescribeSeats)
