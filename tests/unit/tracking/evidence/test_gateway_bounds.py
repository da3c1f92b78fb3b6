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
