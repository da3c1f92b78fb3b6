"""Stalls behind a gateway, which sees frames and no callbacks: bounds, never exact."""

from dataclasses import replace

import pytest

from rebalance_agent.model.episode import Basis, Evidence
from support.tracker.tracking import (
    B_GONE,
    TWO_EAGER,
    assigned,
    closing,
    committed,
    in_time,
    left,
    listed,
    member,
    record,
    revoked,
    tick,
    watch,
)

ALL = (0, 1, 2, 3)

WORKED = 75.0 - 0.5
"""Time in seconds until which the commit at 75 s shows work: its record may be half a second later."""


def by_gateway(report, stop_seconds=None):
    return replace(report, event=replace(report.event, evidence=Evidence.GATEWAY, stop_seconds=stop_seconds))


def measured(report, seconds, revision=1):
    """The same report once the client has pushed how long its callback took."""
    return replace(report, event=replace(report.event, callback_seconds=seconds, revision=revision))


def stall_of(*observations, known=TWO_EAGER):
    _, events = watch(*in_time(*known, *observations), tick(150_000), commits=False)
    return closing(events)[-1].stall


B_LEFT = by_gateway(left("b", 80_100, 1))
A_REJOINED = by_gateway(revoked("a", 82_900, 82_900, 1, (0, 1)), stop_seconds=2.6)


def test_a_slow_callback_lies_between_the_frames():
    """a got the request to rejoin at 80.3 s and rejoined at 82.9 s; it got its assignment at 83.01 s and fetched at
    84.5 s."""
    work = [committed(at, *ALL) for at in (70_000, 75_000, 80_000)]
    stall = stall_of(*work, *B_GONE, B_LEFT, A_REJOINED, by_gateway(assigned("a", 83_010, 84_500, 2, ALL)))
    assert stall.basis is Basis.BOUND
    assert stall.lower_seconds == 2.91  # b stopped before it left
    assert stall.seconds == 84.5 - WORKED  # and worked at least until its second-last commit
    assert stall.partition_seconds == pytest.approx(2 * (83.01 - 80.1) + 2 * (83.01 - 82.9))
    assert stall.upper_partition_seconds == pytest.approx(2 * (84.5 - WORKED) + 2 * (84.5 - 80.3))


def test_without_a_fetch_the_first_commit_shows_the_end():
    assignment = by_gateway(assigned("a", 83_010, 83_010, 2, ALL))
    work = [committed(at, *ALL) for at in (70_000, 75_000, 80_000)]
    assert stall_of(*work, *B_GONE, B_LEFT, A_REJOINED, assignment).seconds is None
    assert stall_of(*work, *B_GONE, B_LEFT, A_REJOINED, assignment, committed(86_000, 0)).seconds == 86.0 - WORKED


def test_a_staying_eager_member_stopped_between_the_request_and_its_rejoin():
    """Only c joins."""
    grown = record(83_000, 2, member("a", (0,)), member("b", (1,)), member("c", (2, 3)), joined=82_990)
    polls = listed(80_000), listed(80_200, "g"), listed(82_990, "g")
    reports = [A_REJOINED, by_gateway(revoked("b", 80_500, 80_500, 1, (2, 3)), stop_seconds=0.2)]
    reports += [by_gateway(assigned(name, 83_010, 83_020, 2, (0, 1, 2, 3))) for name in "abc"]
    stall = stall_of(*polls, grown, *reports)
    assert (stall.basis, stall.lower_seconds, stall.seconds) == (Basis.BOUND, 2.51, 2.72)


def test_a_commit_before_a_reported_assignment_shows_an_earlier_one():
    """A gateway that was killed had not reported the first, and the member joined again."""
    work = [committed(at, *ALL) for at in (70_000, 75_000, 80_000)]
    late = by_gateway(assigned("a", 99_000, 99_500, 2, ALL))
    stall = stall_of(*work, *B_GONE, B_LEFT, A_REJOINED, committed(84_000, *ALL), late)
    assert (stall.lower_seconds, stall.seconds) == (2.9, 84.0 - WORKED)


GROWN = (
    listed(80_000),
    listed(80_200, "g"),
    listed(82_990, "g"),
    record(83_000, 2, member("a", (0,)), member("b", (1,)), member("c", (2, 3)), joined=82_990),
)
"""c joins; a and b were asked to rejoin at 80.3 s."""

REVOKED_BY_A = by_gateway(revoked("a", 82_900, 82_900, 1, (0, 1)), stop_seconds=2.6)
REVOKED_BY_B = by_gateway(revoked("b", 82_980, 82_980, 1, (2, 3)), stop_seconds=2.68)
ASSIGNED_TO = [by_gateway(assigned(name, 83_010, 84_500, 2, ALL)) for name in "abc"]


def test_durations_that_clients_pushed_make_the_lower_bound_longer():
    """b's callback took 1.5 s of the 2.68 s until it rejoined, and c's 1.2 s of the 1.49 s until it fetched."""
    frames = [REVOKED_BY_A, REVOKED_BY_B, *ASSIGNED_TO]
    bounds = stall_of(*GROWN, *frames)
    assert (bounds.lower_seconds, bounds.seconds) == (0.11, 4.2)
    stops = [measured(REVOKED_BY_A, 2.0), measured(REVOKED_BY_B, 1.5)]
    tighter = stall_of(*GROWN, *frames, *stops, measured(ASSIGNED_TO[2], 1.2))
    assert (tighter.basis, tighter.seconds) == (Basis.BOUND, bounds.seconds)
    slack = 0.002
    assert tighter.lower_seconds == pytest.approx((83.01 + 1.2 - slack) - (82.98 - 1.5 + slack))
    assert tighter.partition_seconds < tighter.upper_partition_seconds == bounds.upper_partition_seconds


def test_a_duration_without_a_fetch_bounds_the_end_from_below():
    ends = [by_gateway(assigned(name, 83_010, 83_010, 2, ALL)) for name in "abc"]
    frames = [REVOKED_BY_A, REVOKED_BY_B, *ends]
    assert stall_of(*GROWN, *frames).seconds is None
    stall = stall_of(*GROWN, *frames, measured(ends[2], 9.0))
    assert (stall.seconds, stall.lower_seconds) == (None, pytest.approx(83.01 + 9.0 - 0.002 - 82.98))


@pytest.mark.parametrize("seconds", [1e300, 86_400.0, 60.0])
def test_a_duration_that_does_not_fit_the_frames_widens_no_bound(seconds):
    frames = [REVOKED_BY_A, REVOKED_BY_B, *ASSIGNED_TO]
    stall = stall_of(*GROWN, *frames, measured(REVOKED_BY_A, seconds), measured(ASSIGNED_TO[2], seconds))
    assert 0 <= stall.lower_seconds <= stall.seconds == stall_of(*GROWN, *frames).seconds


def test_only_a_revision_with_a_duration_replaces_a_report():
    other = measured(REVOKED_BY_A, 2.0)
    other = replace(other, event=replace(other.event, generation=0))
    frames = [REVOKED_BY_A, REVOKED_BY_B, *ASSIGNED_TO]
    for ignored in (other, measured(REVOKED_BY_A, None)):
        assert stall_of(*GROWN, *frames, ignored) == stall_of(*GROWN, *frames)
    twice = [measured(REVOKED_BY_B, 1.5), measured(REVOKED_BY_B, 2.5, revision=2)]
    assert stall_of(*GROWN, *frames, *twice) == stall_of(*GROWN, *frames, twice[0])


AGAIN = (by_gateway(revoked("b", 4_050, 4_050, 1, (2, 3))), by_gateway(assigned("b", 4_500, 4_510, 1, (2, 3))))
"""kafka-python joins again at once, and its coordinator answers with the same generation."""


@pytest.mark.parametrize("last_stop", [[B_LEFT], []])
def test_a_member_that_got_its_generation_again_was_not_stalled_since_it_rejoined_for_that(last_stop):
    """Without the last stop: a gateway that was restarted meanwhile saw nothing of it."""
    work = [committed(at, *ALL) for at in (70_000, 75_000, 80_000)]
    end = by_gateway(assigned("a", 83_010, 83_020, 2, ALL))
    known, stall = (stall_of(*each, *work, *B_GONE, A_REJOINED, *last_stop, end) for each in ((), AGAIN))
    assert stall == replace(known, upper_partition_seconds=pytest.approx(known.upper_partition_seconds + 2 * 0.51))


def test_the_longest_stall_may_be_one_before_the_same_generation_was_given_again():
    """By the client's own reports it is exact; a gateway does not know whether the client had it in between."""
    reports = revoked("b", 6_000, 6_010, 1, (2, 3)), assigned("b", 30_000, 30_010, 1, (2, 3)), left("b", 80_100, 1)
    end = revoked("a", 82_900, 82_950, 1, (0, 1)), assigned("a", 83_010, 83_020, 2, ALL)
    stall = stall_of(*reports, *B_GONE, *end)
    assert (stall.basis, stall.lower_seconds, stall.seconds) == (Basis.EXACT, 24.01, 24.01)
    assert stall.partition_seconds == pytest.approx(2 * (24.01 + 83.02 - 80.1) + 2 * (83.02 - 82.9))
    work = [committed(at, *ALL) for at in (70_000, 75_000, 80_000)]
    stall = stall_of(*map(by_gateway, reports), *work, *B_GONE, *map(by_gateway, end))
    assert (stall.basis, stall.lower_seconds, stall.seconds) == (Basis.BOUND, 2.91, 24.01)


@pytest.mark.parametrize(("fetched_ms", "began"), [(83_050, 83.0), (83_010, WORKED)])
def test_a_member_that_has_not_fetched_yet_is_still_stalled_in_the_next_rebalance(fetched_ms, began):
    """It rejoined at once: if it did not fetch in between, it has been stalled since the rebalance before."""
    work = [committed(at, *ALL) for at in (70_000, 75_000, 80_000)]
    first = by_gateway(assigned("a", 83_010, fetched_ms, 2, ALL)), by_gateway(revoked("a", 83_060, 83_060, 2, ALL))
    again = record(84_000, 3, member("a", ALL), joined=83_990), by_gateway(assigned("a", 84_010, 84_050, 3, ALL))
    stall = stall_of(*work, *B_GONE, B_LEFT, A_REJOINED, *first, *again)
    assert (stall.lower_seconds, stall.seconds) == (0.95, pytest.approx(84.05 - began))
