"""Upper bounds of stalls of static members that return, each with a record of the same generation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.tracking.evidence.known_times import Outage
from support.tracker.tracking import T0, away, closing, committed, in_time, listed, member, record, tick, watch

WORK = [committed(at, 0, 1, 2, 3) for at in range(2_000, 20_000, 1_000)]
GONE_AWAY, BACK = 20_000, 60_000
FIRST_COMMIT = 80_000


def static(name, *numbers, life=""):
    return replace(member(name + life, numbers, instance=name), session_timeout_ms=5_000, rebalance_timeout_ms=5_000)


A, B = static("a", 0, 1), static("b", 2, 3)
B_RETURNS = [
    record(30_000, 1, A, static("b", 2, 3, life="-2")),
    record(58_000, 1, A, static("b", 2, 3, life="-3")),
]


def last_stall(*observations):
    """The stall of the last record; members work until 20 s, when an outage begins, and commit at 80 s again."""
    before = [record(1_000, 1, A, B), *WORK, *away(GONE_AWAY, BACK), *B_RETURNS]
    first = committed(FIRST_COMMIT, 0, 1, 2, 3)
    _, events = watch(*in_time(*before, *observations, first), tick(300_000), commits=False)
    return max(closing(events), key=lambda event: (event.timestamp_ms, event.revision)).stall


def test_a_member_that_returns_may_stand_still_since_the_outage_began_though_another_one_returned_in_between():
    stall = last_stall(record(59_000, 1, static("a", 0, 1, life="-2"), static("b", 2, 3, life="-3")))
    assert stall.seconds == pytest.approx((FIRST_COMMIT - GONE_AWAY) / 1000, abs=0.1)


def test_a_member_that_is_removed_after_the_outage_may_have_stood_still_since_it_began():
    stall = last_stall(listed(61_000, "g"), record(61_500, 2, static("b", 0, 1, 2, 3, life="-3")))
    # All partitions stop. Those of b, which returned, certainly count from then on; those of a count, too.
    assert stall.upper_partition_seconds == pytest.approx(4 * (FIRST_COMMIT - GONE_AWAY) / 1000, abs=0.4)


def test_the_work_of_a_member_before_another_one_returned_counts():
    """Seed 5: two members returned within two seconds, and the stall of the second one got its session timeout."""
    work = [committed(at, 0, 1) for at in range(2_000, 31_000, 1_000)]
    returns = [
        record(30_000, 1, A, static("b", 2, 3, life="-2")),
        record(31_900, 1, static("a", 0, 1, life="-2"), static("b", 2, 3, life="-2")),
    ]
    first = committed(32_000, 0, 1, 2, 3)
    _, events = watch(*in_time(record(1_000, 1, A, B), *work, *returns, first), tick(90_000), commits=False)
    # a committed at 30 s, so it worked until the commit before, less half a second.
    assert closing(events)[-1].stall.seconds == pytest.approx(32.0 - 28.5)


def test_a_return_is_no_contact_of_the_members_that_did_not_return():
    """An observer that starts again does not know when they joined. Brokers were down, so neither was removed before.

    Seed 27 of the chaos run: the stall of a counted from the return of b, two seconds before.
    """
    returns = [
        record(57_000, 1, A, static("b", 2, 3, life="-2"), protocol="cooperative-sticky"),
        record(59_000, 1, static("a", 0, 1, life="-2"), static("b", 2, 3, life="-2"), protocol="cooperative-sticky"),
    ]
    past = record(1_000, 1, A, B, protocol="cooperative-sticky", live=False)
    _, events = watch(past, *returns, committed(60_000, 0, 1, 2, 3), tick(90_000), commits=False)
    assert closing(events)[-1].stall.seconds == pytest.approx(60.0 - (59.0 - 5.0 - 5.0))


def slow(since, until, takes):
    """One commit after the other is answered late: each can be read when it has taken this long (ms)."""
    return [committed(at, 0, 1, 2, 3, seen=at + takes, offset=since) for at in range(since, until, takes)]


@pytest.mark.parametrize(
    ("answers", "since"),
    [
        (slow(20_000, 34_000, 2_800), 20_000),
        (slow(20_000, 34_000, 900), 29_700),  # no heartbeat is late for a session timeout: its commits show its work
        (slow(20_000, 23_000, 1_500), 24_000),  # nor here: from its session timeout and poll limit before the record
    ],
)
def test_a_member_may_have_lost_its_partitions_while_the_coordinator_answered_slowly(answers, since):
    """Its session expired in the client; its commits of the same offsets kept it in the group."""
    returned = record(34_000, 1, static("a", 0, 1, life="-2"), B)
    observations = record(1_000, 1, A, B), *WORK, *answers, returned, committed(35_000, 0, 1, offset=35_000)
    _, events = watch(*in_time(*observations), tick(90_000), commits=False)
    assert closing(events)[-1].stall.seconds == pytest.approx((35_000 - since) / 1000, abs=0.6)


@pytest.mark.parametrize(
    ("session", "assumed", "ends"), [(6_000, False, True), (45_000, False, False), (45_000, True, True)]
)
def test_slow_answers_end_a_session_only_if_they_last_long_enough(session, assumed, ends):
    joined = replace(A, session_timeout_ms=session, session_assumed=assumed)
    assert Outage(T0, T0 + 5_000, slow=True).may_end_session(joined) is ends
    assert Outage(T0, T0 + 5_000).may_end_session(joined)
