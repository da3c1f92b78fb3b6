"""Rebalances in which a newer epoch overtakes another: a partition may be stalled twice, or since the first target."""

from __future__ import annotations

from rebalance_agent.model.epoch_groups import CurrentAssignment, GroupEpoch, MemberState, TargetEpoch
from rebalance_agent.model.group import GroupType
from rebalance_agent.tracking.epoch.handovers import EARLIER_MAX, Handovers
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.epochs import ID, current, fact, gone, joins, named, target
from support.tracker.tracking import WHOLE, committed, feed, tick

ALONE = [
    joins(0, "a"),
    fact(0, GroupEpoch(2)),
    target(100, "a", 0, 1),
    fact(100, TargetEpoch(2)),
    current(200, "a", 2, (0, 1)),
]
UNREACHED = [*ALONE[:-1], joins(150, "c"), fact(150, GroupEpoch(3)), *ALONE[-1:]]
TO_B = [
    joins(1_000, "b"),
    fact(1_000, GroupEpoch(3)),
    target(1_100, "a", 0),
    target(1_100, "b", 1),
    fact(1_100, TargetEpoch(3)),
    current(1_500, "a", 2, (0,), (1,), MemberState.UNREVOKED),
    current(2_000, "a", 3, (0,)),
]
OVERTAKEN = [joins(3_000, "c"), fact(3_000, GroupEpoch(4)), current(9_000, "b", 3, (1,))]


def stall_of(*observations):
    tracker = Tracker("cluster", settle_ms=1_000)
    events = feed(tracker, named(t=2), WHOLE, *observations, tick(60_000))
    stall = events[-1].stall
    return events[-1].generation, stall.lower_seconds, stall.seconds, stall.upper_partition_seconds


def test_both_stalls_count_and_the_longer_one_is_reported():
    to_c = [
        target(9_100, "b"),
        target(9_100, "c", 1),
        fact(9_100, TargetEpoch(4)),
        current(9_500, "b", 3, (), (1,), MemberState.UNREVOKED),
        current(9_600, "b", 4),
        current(9_700, "a", 4, (0,)),
        current(10_000, "c", 4, (1,)),
    ]
    # From 2 s (requested at 1.5) to 9 s, and from 9.6 (requested at 9.5) to 10 s.
    assert stall_of(*ALONE, *TO_B, *OVERTAKEN, *to_c) == (4, 7.0, 7.5, 8.0)


def test_a_partition_of_a_new_group_was_not_stalled_while_its_first_owner_had_it():
    """No epoch was reached before the one in which its second owner has it."""
    reached = [current(9_700, "c", 4), current(9_800, "b", 4, (1,)), current(9_900, "a", 4, (0,))]
    to_b = [*OVERTAKEN, target(9_100, "c"), fact(9_200, TargetEpoch(4)), *reached]
    # Until 0.2 s (both partitions), and from 2 s (requested at 1.5) to 9 s.
    assert stall_of(*UNREACHED, *TO_B, *to_b) == (4, 7.0, 7.5, 7.9)


def test_a_partition_that_had_owners_only_within_a_rebalance_was_stalled_in_it():
    """Static member b got it from a, and left temporarily before all members had reached an epoch."""
    away = [current(10_000, "b", -2, (1,)), target(10_100, "c"), fact(10_100, TargetEpoch(4)), current(10_200, "c", 4)]
    generation, lower_s, upper_s, _ = stall_of(*UNREACHED, *TO_B, *OVERTAKEN, *away, current(10_300, "a", 4, (0,)))
    # Requested at 1.5 s, released at 2 s, and assigned at 9 s.
    assert (generation, lower_s, upper_s) == (4, 7.0, 7.5)


TO_C = [
    *gone(9_400, "b"),
    fact(9_400, GroupEpoch(5)),
    target(9_500, "c", 1),
    fact(9_500, TargetEpoch(5)),
    current(9_700, "a", 5, (0,)),
    current(10_000, "c", 5, (1,)),
]


def test_an_owner_that_never_committed_may_not_have_consumed_so_both_stalls_are_one():
    """Seed 23: in an outage a member was given partitions of which it did not learn, and left."""
    tracker = Tracker("cluster", settle_ms=1_000)
    feed(tracker, named(t=2), WHOLE, *ALONE, committed(900, 0, 1), commits=False)
    observations = [*TO_B, *OVERTAKEN, *TO_C, committed(10_200, 0, 1), tick(60_000)]
    stall = feed(tracker, *observations, commits=False)[-1].stall
    # From 1.5 to 10.2 s, if b never consumed; else from 2 (requested at 1.5) to 9 s, and from 9.4 to 10 s at least.
    assert (stall.lower_seconds, stall.seconds, stall.upper_partition_seconds) == (7.0, 8.7, 8.7)
    assert stall.partition_seconds == 7.6


def test_the_stall_goes_on_after_an_owner_that_never_committed_also_into_the_next_rebalance():
    tracker = Tracker("cluster", settle_ms=1_000)
    feed(tracker, named(t=2), WHOLE, *ALONE, committed(900, 0, 1), commits=False)
    feed(tracker, *TO_B, *OVERTAKEN, *TO_C, tick(30_000), commits=False)
    to_a = [
        *gone(31_000, "c"),
        fact(31_000, GroupEpoch(6)),
        target(31_000, "a", 0, 1),
        fact(31_000, TargetEpoch(6)),
        current(32_000, "a", 6, (0, 1)),
        committed(32_500, 0, 1),
    ]
    assert feed(tracker, *to_a, tick(90_000), commits=False)[-1].stall.seconds == 31.0


def test_partitions_that_a_member_revokes_and_gets_back_at_once_were_stalled():
    """The intended new owner left: one record shows that they are revoked and assigned again."""
    back = [
        joins(1_000, "b"),
        fact(1_000, GroupEpoch(3)),
        target(1_100, "a", 0),
        target(1_100, "b", 1),
        fact(1_100, TargetEpoch(3)),
        current(1_500, "a", 2, (0,), (1,), MemberState.UNREVOKED),
        *gone(2_000, "b"),
        fact(2_000, GroupEpoch(4)),
        target(2_100, "a", 0, 1),
        fact(2_100, TargetEpoch(4)),
        current(3_000, "a", 4, (0, 1)),
    ]
    assert stall_of(*ALONE, *back) == (4, 0.0, 1.5, 1.5)


def test_the_stop_of_a_removed_member_is_between_its_assignment_and_its_removal():
    # From 2 s (requested at 1.5) to 9 s, and from 9.4 (last seen at 9) to 10 s.
    assert stall_of(*ALONE, *TO_B, *OVERTAKEN, *TO_C) == (5, 7.0, 7.5, 8.5)


def test_in_a_share_group_a_partition_that_returns_to_its_member_was_not_kept():
    def reported(at, value, name=""):
        return fact(at, value, name, group_type=GroupType.SHARE)

    def has(at, name, epoch, *numbers):
        return reported(
            at, CurrentAssignment(epoch, epoch - 1, MemberState.STABLE, {ID: numbers} if numbers else {}), name
        )

    observations = [
        *(reported(0, each.value, each.subject) for each in (joins(0, "a"), joins(0, "b"))),
        reported(0, GroupEpoch(2)),
        reported(100, TargetEpoch(2)),
        has(200, "a", 2, 0, 1),
        has(200, "b", 2, 0),
        reported(1_000, GroupEpoch(3)),
        reported(1_100, TargetEpoch(3)),
        has(1_200, "a", 3, 0),  # partition 1 has no owner
        reported(1_300, GroupEpoch(4)),
        reported(1_400, TargetEpoch(4)),
        has(4_200, "a", 4, 0, 1),
        has(4_300, "b", 3, 0, 1),
        reported(4_400, GroupEpoch(5)),
        reported(4_500, TargetEpoch(5)),
        has(4_600, "b", 5, 0),  # a still owns partition 1
        has(4_700, "a", 5, 0, 1),
    ]
    assert stall_of(*observations)[:2] == (5, 3.0)


def test_the_longest_chains_of_handovers_are_kept():
    handovers, had, at_ms = Handovers(), CurrentAssignment(1, 0, MemberState.STABLE, {"t": (0,)}), 0
    for pause_ms in (*range(1, 20), 1):
        handovers.update("a", had, None, at_ms)
        at_ms += pause_ms
        handovers.update("a", None, had, at_ms)
    ways, _ = handovers.take()
    way = ways["t", 0]
    assert (way.given_ms - way.released_ms, len(way.earlier)) == (1, EARLIER_MAX)
    assert [each.given_ms - each.released_ms for each in way.earlier] == list(range(12, 20))
    assert handovers.take()[0] == {}


def test_a_new_partition_may_be_stalled_since_the_first_target_of_a_rebalance_with_several_epochs():
    """A newer epoch replaced the target that showed it first, before any member reached it."""
    alone = [
        joins(0, "a"),
        fact(0, GroupEpoch(2)),
        target(100, "a", 0),
        fact(100, TargetEpoch(2)),
        current(200, "a", 2, (0,)),
    ]
    replaced = [fact(1_000, GroupEpoch(3)), target(1_100, "a", 0, 1), fact(1_100, TargetEpoch(3))]
    newer = [
        joins(9_000, "b"),
        fact(9_000, GroupEpoch(4)),
        target(9_100, "a", 0),
        target(9_100, "b", 1),
        fact(9_100, TargetEpoch(4)),
        current(9_500, "a", 4, (0,)),
        current(10_000, "b", 4, (1,)),
    ]
    # Partition 1 is new: at 1.1 s at the earliest, at 9.1 s at the latest, and consumed from 10 s on.
    tracker = Tracker("cluster", settle_ms=1_000)
    stall = feed(tracker, named(t=2), WHOLE, *alone, *replaced, *newer, tick(60_000))[-1].stall
    assert (stall.lower_seconds, stall.seconds) == (0.9, 8.9)
