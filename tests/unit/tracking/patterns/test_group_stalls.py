"""Stalls of whole groups count with their length above a limit, during the stall and after its end."""

from __future__ import annotations

import pytest

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.metrics.group_values import group_stalls
from rebalance_agent.model.epoch_groups import GroupEpoch, TargetEpoch
from rebalance_agent.model.group import GroupState
from rebalance_agent.tracking.patterns.group_stalls import (
    LIMITS_MAX,
    GroupStallLimits,
    Limit,
    StalledTime,
    StallLimits,
    stalled_spans,
)
from rebalance_agent.tracking.rebalance.counters import CounterTotals
from rebalance_agent.tracking.tracker import Tracker
from rebalance_agent.tracking.views import COUNTED_LATE_MS
from support.tracker.epochs import current, fact, group_of_two, target
from support.tracker.tracking import T0, assigned, feed, in_time, listed, member, record, revoked, tick, topics

COMPLETING = GroupState.COMPLETING_REBALANCE
MEMBERS = [member(name, numbers) for name, numbers in (("a", (0, 1)), ("b", (2, 3)))]
START = (topics(0, t=4), record(1_000, 0), record(4_000, 1, *MEMBERS, joined=3_990), tick(20_000), listed(99_900))


def tracker(*more, limits=""):
    started = Tracker("cluster", list_period_ms=200, stall_limits=GroupStallLimits.parse(limits))
    feed(started, *START, *more)
    return started


def seconds(watching, at):
    """The exported seconds by limit at a scrape: warning, critical."""
    return tuple(value for _, value in group_stalls(watching.view("g"), T0 + at + COUNTED_LATE_MS))


def sync_phase(until=None):
    """The members have rejoined at 100 s, and wait for their assignment."""
    yield from (listed(at, "g", state=COMPLETING) for at in range(100_000, until or 200_000, 200))
    if until:
        yield record(until, 2, *MEMBERS, joined=100_000)


def test_a_running_stall_is_counted_with_its_whole_length_from_the_limit_on():
    watching = tracker(*sync_phase())
    shown = [seconds(watching, at) for at in (129_999, 130_000, 145_000, 189_999, 190_000, 195_000)]
    assert shown == [(0, 0), (30, 0), (45, 0), (89.999, 0), (90, 90), (95, 95)]


def test_an_ended_stall_stays_counted_and_is_not_counted_again_when_it_settles():
    watching = tracker(*sync_phase(until=145_000))
    assert seconds(watching, 145_500) == (45, 0)
    feed(watching, tick(170_000))
    assert seconds(watching, 400_000) == (45, 0)


def test_a_stall_that_polls_missed_is_counted_when_it_settles():
    watching = tracker(record(195_000, 2, *MEMBERS, joined=100_000))
    assert seconds(watching, 195_000) == (0, 0)
    feed(watching, tick(220_000))
    assert seconds(watching, 220_000) == (95, 95)


def test_a_stall_that_settles_longer_than_counted_adds_the_difference():
    late = [each for each in sync_phase(until=140_000) if getattr(each, "answered_ms", T0 + 104_000) >= T0 + 104_000]
    watching = tracker(*late)
    assert seconds(watching, 140_000) == (36, 0)
    feed(watching, tick(165_000))
    assert seconds(watching, 165_000) == (40, 0)


def test_the_wait_for_members_is_not_certain():
    polls = [listed(at, "g") for at in range(100_000, 200_000, 200)]
    watching = tracker(*polls, record(200_000, 2, *MEMBERS, joined=199_990), tick(220_000))
    assert seconds(watching, 220_000) == (0, 0)


def reported(slow_ms):
    """b rejoins late, at ``slow_ms``; a reports that it stopped at once."""
    yield from (assigned("a", 4_000, 4_010, 1, (0, 1)), assigned("b", 4_000, 4_010, 1, (2, 3)))
    yield from (listed(at, "g") for at in range(100_000, slow_ms, 200))
    yield revoked("a", 100_100, 100_110, 1, (0, 1))
    yield revoked("b", slow_ms - 100, slow_ms - 60, 1, (2, 3))
    yield record(slow_ms, 2, *MEMBERS, joined=slow_ms - 10)
    yield from (assigned(name, slow_ms, slow_ms + 20, 2, numbers) for name, numbers in (("a", (0, 1)), ("b", (2, 3))))


@pytest.mark.parametrize(("share", "counted"), [(0.5, True), (0.51, False)])
def test_a_stall_of_half_of_the_partitions_counts(share, counted):
    watching = Tracker("cluster", list_period_ms=200, stall_limits=GroupStallLimits.parse(f".*={share},30,90"))
    feed(watching, *in_time(*START, *reported(150_000)))
    assert seconds(watching, 150_000) == pytest.approx((49.89 if counted else 0, 0))
    feed(watching, tick(170_000))
    assert seconds(watching, 170_000) == pytest.approx((49.92 if counted else 0, 0))


def test_a_late_report_of_a_slow_callback_is_counted_when_it_revises_the_rebalance():
    before = (assigned("a", 4_000, 4_010, 1, (0, 1)), assigned("b", 4_000, 4_010, 1, (2, 3)))
    stops = (revoked("a", 100_000, 100_010, 1, (0, 1)), revoked("b", 100_000, 100_010, 1, (2, 3)))
    again = (assigned("a", 101_000, 101_020, 2, (0, 1)), assigned("b", 101_000, 199_000, 2, (2, 3)))
    begun = (listed(100_000, "g"), record(101_000, 2, *MEMBERS, joined=100_900))
    settled = tick(125_000)
    watching = Tracker("cluster", list_period_ms=200)
    feed(watching, *in_time(*START, *before, *stops, *begun, again[0], settled))
    assert seconds(watching, 125_000) == (0, 0)
    feed(watching, again[1], tick(205_000))
    assert seconds(watching, 205_000) == pytest.approx((99, 99))
    feed(watching, tick(300_000))
    assert seconds(watching, 300_000) == pytest.approx((99, 99))


def test_a_rolling_deploy_with_short_stalls_counts_nothing():
    watching = tracker()
    for number in range(2, 30):
        at = 100_000 + number * 12_000
        polls = [listed(at + wait, "g", state=COMPLETING) for wait in range(0, 10_000, 200)]
        feed(watching, *polls, record(at + 10_000, number, *MEMBERS, joined=at))
    feed(watching, tick(600_000))
    assert seconds(watching, 600_000) == (0, 0)
    assert watching.view("g").counters.stalled_partition_seconds > 28 * 4 * 9


def test_limits_belong_to_the_first_pattern_that_matches_the_whole_name():
    limits = GroupStallLimits.parse("batch-.*=1,600,3600; orders=0.25,10,20\n.*=0.75,40,50")
    assert [limits.of(group) for group in ("batch-1", "orders", "orders2")] == [
        StallLimits(1, 600, 3600),
        StallLimits(0.25, 10, 20),
        StallLimits(0.75, 40, 50),
    ]
    assert GroupStallLimits().of("orders") == StallLimits(0.5, 30, 90)
    watching = tracker(*sync_phase(), limits="g=1,10,20")
    assert [seconds(watching, at) for at in (109_999, 110_000, 120_000)] == [(0, 0), (10, 0), (20, 20)]


@pytest.mark.parametrize(
    "text",
    [
        *(".*", ".*=0.5,30", "=0.5,30,90", "(=0.5,30,90", ";".join([".*=0.5,30,90"] * (LIMITS_MAX + 1))),
        *(
            f".*={numbers}"
            for numbers in ("0,30,90", "1.1,30,90", "0.5,90,30", "0.5,0,90", "0.5,1.2.3,90", "0.5,30,86401")
        ),
    ],
)
def test_wrong_limits_are_refused(text):
    with pytest.raises(InvalidInputError):
        GroupStallLimits.parse(text)


def test_spans_have_enough_partitions_stalled_at_the_same_time():
    changes = {0: 1, 10_000: 1, 30_000: -1, 40_000: 1, 45_000: -2}
    assert list(stalled_spans(changes, 1)) == [45]
    assert list(stalled_spans(changes, 2)) == [20, 5]
    assert list(stalled_spans(changes, 3)) == []


def test_at_least_one_partition_must_be_stalled():
    assert [StallLimits().needed(partitions) for partitions in (0, 1, 3, 4)] == [1, 1, 2, 2]
    totals = CounterTotals(T0)
    totals.set_stalled(0, T0)
    assert totals.group_stalls.since_ms is None, "an Empty group has no partitions"


def test_a_backward_clock_step_does_not_decrease_counters():
    totals = CounterTotals(T0)
    totals.set_partitions(4, T0)
    totals.set_stalled(4, T0)
    totals.advance(T0 + 40_000)
    totals.restart(T0 - 60_000)
    assert totals.group_stalls == StalledTime(seconds={Limit.WARNING: 40.0, Limit.CRITICAL: 0.0}, since_ms=T0 - 60_000)


def test_a_group_whose_coordinator_assigns_is_counted_while_partitions_wait_for_their_owner():
    """a revokes its partition at 30.4 s, read 3 ms later, and b gets it at 130.4 s."""
    watching = Tracker("cluster")
    feed(
        watching,
        *group_of_two(),
        fact(30_000, GroupEpoch(3)),
        target(30_100, "a"),
        target(30_100, "b", 0, 1),
        fact(30_100, TargetEpoch(3)),
        current(30_400, "a", 3),
    )
    assert watching.view("g").running.stalled_partitions * 2 == watching.view("g").partitions
    assert [seconds(watching, at) for at in (60_402, 60_403, 100_403)] == [(0, 0), (30, 0), (70, 0)]
    feed(watching, current(130_400, "b", 3, (0, 1)), tick(160_000))
    assert seconds(watching, 160_000) == (100, 100)
