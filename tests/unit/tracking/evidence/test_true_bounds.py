"""Bounds of stalls that an independent check had found false."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.model.episode import Basis
from rebalance_agent.model.epoch_groups import GroupEpoch, MemberState, TargetEpoch
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.epochs import current, fact, gone, group_of_two, joins, target
from support.tracker.tracking import REBALANCE_MS, closing, feed, in_time, listed, member, record, tick, topics, watch

START = (
    topics(0, t=4),
    listed(500),
    record(1_000, 0),
    record(4_000, 1, member("a", (0, 1)), member("b", (2, 3)), joined=3_990),
)
RUNNING = (listed(10_000), listed(10_200, "g"), listed(13_990, "g"))


def stall_of(*observations):
    _, events = watch(*in_time(*START, *observations), tick(99_000))
    return closing(events)[-1].stall


def test_a_member_that_leaves_during_a_rebalance_may_have_worked_until_the_end_of_its_join_phase():
    """A rolling restart: c's join started the rebalance; b kept working and left later."""
    stall = stall_of(*RUNNING, record(14_000, 2, member("a", (0, 1)), member("c", (2, 3)), joined=13_990))
    assert stall.lower_seconds == pytest.approx(0.01)


def test_a_member_whose_departure_started_the_rebalance_had_stopped_by_then():
    stall = stall_of(*RUNNING, record(14_000, 2, member("a", (0, 1, 2, 3)), joined=13_990))
    assert stall.lower_seconds == pytest.approx(14 - 10.2)


@pytest.mark.parametrize(("lasts_ms", "lower_s"), [(REBALANCE_MS - 300, 2.0), (REBALANCE_MS, 0.0)])
def test_a_member_that_did_not_rejoin_in_time_may_have_worked_until_a_heartbeat_showed_its_removal(lasts_ms, lower_s):
    """Seed 227: c joined; a and b, on a slow machine, had not heard of the rebalance when they were removed."""
    joined = 10_200 + lasts_ms
    polls = (listed(10_000), listed(10_200, "g"), *(listed(at, "g") for at in range(11_000, joined, 1_000)))
    stall = stall_of(*polls, record(joined + 2_000, 2, member("c", (0, 1, 2, 3)), joined=joined))
    assert stall.lower_seconds == pytest.approx(lower_s)


def test_a_member_that_leaves_before_a_follow_up_may_have_worked_until_the_end_of_its_join_phase():
    """A librdkafka member closed 0.4 s before the record: the others were already rejoining for the follow-up."""
    cooperative = {"protocol": "cooperative-sticky"}
    before = record(6_000, 2, member("a", (0, 1)), member("b", (2, 3)), joined=5_990, **cooperative)
    revokes = (member("a", (0,), owned=(0, 1)), member("b", (2, 3), owned=(2, 3)), member("c"))
    begins = record(10_000, 3, *revokes, joined=9_990, **cooperative)
    handed_over = (member("a", (0, 2), owned=(0,)), member("c", (1, 3)))
    ends = record(14_000, 4, *handed_over, joined=13_990, **cooperative)
    polls = (listed(5_000), listed(9_500), listed(9_700, "g"), listed(10_200, "g"), listed(13_950, "g"))
    stall = stall_of(before, begins, ends, *polls)
    assert stall.partition_seconds == pytest.approx(stall.lower_seconds + 2 * 0.01)


def test_either_of_two_departed_members_may_have_started_the_rebalance():
    three = record(6_000, 2, member("a", (0,)), member("b", (1, 2)), member("c", (3,)), joined=5_990)
    stall = stall_of(listed(5_000), listed(5_200, "g"), three, *RUNNING, record(14_000, 3, member("a", (0, 1, 2, 3))))
    assert stall.lower_seconds <= 0.01


def test_new_partitions_of_an_epoch_group_stall_from_the_first_record_that_shows_them():
    """Their owners get them by their own heartbeats, at different times."""
    grown = [
        topics(29_000, t=4),
        fact(30_000, GroupEpoch(3)),
        target(30_100, "a", 0, 2),
        target(30_100, "b", 1, 3),
        fact(30_100, TargetEpoch(3)),
        current(30_400, "a", 3, (0, 2)),
        current(33_350, "b", 3, (1, 3)),
    ]
    events = feed(Tracker("cluster", settle_ms=1_000), *group_of_two(), *grown, tick(60_000))
    stall = closing(events)[-1].stall
    assert (stall.seconds, stall.basis) == (pytest.approx(3.25), Basis.BOUND)
    assert stall.upper_partition_seconds == pytest.approx(3.25 + 0.3)


def test_stalls_of_an_epoch_group_with_compacted_records_are_unknown():
    """An observer was down: only some members' handovers remain of compacted rebalances."""
    changed = [
        fact(90_000, GroupEpoch(9)),
        target(90_000, "b", 0, 1, 2, 3),
        fact(90_000, TargetEpoch(9)),
        *gone(90_000, "a"),
        current(90_500, "b", 9, (0, 1, 2, 3)),
    ]
    later = [
        fact(95_000, GroupEpoch(10)),
        target(95_000, "b", 0, 1, 2),
        target(95_000, "c", 3),
        fact(95_000, TargetEpoch(10)),
        joins(95_000, "c"),
        current(95_500, "b", 10, (0, 1, 2)),
        current(95_800, "c", 10, (3,)),
    ]
    for gap, known in ((False, True), (True, False)):
        left = [replace(each, replayed=True, gap_offset=0 if gap else -1) for each in changed]
        events = feed(Tracker("cluster", settle_ms=1_000), *group_of_two((0, 1), (2, 3)), *left, *later, tick(200_000))
        first, last = (event.stall for event in closing(events)[-2:])
        assert (first is not None, last is not None) == (known, True)


def test_a_rebalance_running_at_the_observers_start_has_an_unknown_start():
    """A Java member with a revoked callback of 4.4 s: the restarted observer saw only its last 0.4 s."""
    before = record(4_000, 1, member("a", (0, 1)), member("b", (2, 3)), joined=3_990, live=False, delay=5_500)
    after = record(10_000, 2, member("a", (0, 1)), member("c", (2, 3)), joined=9_990)
    _, events = watch(topics(9_500, t=4), before, listed(9_600, "g"), listed(9_800, "g"), after, tick(99_000))
    assert (closing(events)[-1].stall, closing(events)[-1].phases.started_ms) == (None, None)


def test_a_removed_member_that_rejoins_under_its_id_may_have_worked_until_it_rejoined():
    """Seed 5: librdkafka did not revoke in time, and noticed its removal with its next heartbeat, 43 ms later."""
    expelled = [
        *(joins(30_000, "c"), fact(30_000, GroupEpoch(3)), target(30_000, "a", 0), target(30_000, "c", 1)),
        fact(30_000, TargetEpoch(3)),
        current(30_100, "c", 3),
        current(30_200, "a", 2, (0,), (1,), MemberState.UNREVOKED),
    ]
    back = [
        *(*gone(40_000, "a"), fact(40_000, GroupEpoch(4)), target(40_000, "c", 0, 1), fact(40_000, TargetEpoch(4))),
        *(joins(40_500, "a"), fact(40_500, GroupEpoch(5)), target(40_500, "a", 0), target(40_500, "c", 1)),
        *(fact(40_500, TargetEpoch(5)), current(40_500, "a", 5, (0,)), current(41_000, "c", 5, (1,))),
    ]
    member_b_is_elsewhere = [current(41_000, "b", 5, (2, 3)), target(40_500, "b", 2, 3)]
    events = feed(
        Tracker("cluster", settle_ms=1_000),
        *group_of_two((0, 1), (2, 3), rebalance_timeout_ms=8_000),
        *expelled,
        *back,
        *member_b_is_elsewhere,
        tick(99_000),
    )
    stall = closing(events)[-1].stall
    # The partition that c got stalled for 0.5 s at least; a got the other one back, perhaps without a stop.
    assert (stall.lower_seconds, stall.partition_seconds) == (pytest.approx(0.5), pytest.approx(0.5))


def test_a_handover_may_have_come_earlier_than_the_record_that_compaction_left():
    """Seed 61: the newest record of c's assignment replaced the one that had given it b's partitions."""
    moves = [
        *(joins(90_000, "c"), fact(90_000, GroupEpoch(3)), target(90_000, "b", 2), target(90_000, "c", 3)),
        fact(90_000, TargetEpoch(3)),
        current(90_100, "b", 3, (2,)),
        current(93_000, "c", 3, (3,)),
        current(93_500, "a", 3, (0, 1)),
    ]
    for gap, known in ((False, True), (True, False)):
        left = [replace(each, replayed=True, gap_offset=0 if gap and each is moves[-2] else -1) for each in moves]
        events = feed(Tracker("cluster", settle_ms=1_000), *group_of_two((0, 1), (2, 3)), *left, tick(200_000))
        last = closing(events)[-1]
        assert (last.moved, last.stall is not None) == (1, known)
