"""Groups that lost all members: start, former members, and partition-seconds without an owner."""

import pytest

from rebalance_agent.api.view_shapes import build_summary
from rebalance_agent.metrics.group_values import empty_seconds, unowned
from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.epoch_groups import GroupEpoch, TargetEpoch
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.tracking.observations import DescribedGroup, GroupDescribed
from rebalance_agent.tracking.patterns.empty_groups import EmptyGroup, UnownedPartitions, UnownedReason, UnownedTime
from rebalance_agent.tracking.views import COUNTED_LATE_MS, MemberLoad, partition_seconds_at
from rebalance_agent.ui.sentences.empty_text import empty_text
from support.tracker.epochs import current, fact, gone, group_of_two
from support.tracker.tracking import T0, WHOLE, feed, left, listed, member, record, tick, topics, watch

TWO = (member("a", (0, 1)), member("b", (2, 3)))
LATE = COUNTED_LATE_MS


def go_on(tracker, *observations):
    """Build views after each observation, as the observer's core does: partition-seconds count from view to view."""
    for observation in observations:
        feed(tracker, observation)
        for group in tracker.groups():
            tracker.view(group)


def run(*observations, **settings):
    tracker, _ = watch(topics(0, t=4), **settings)
    go_on(tracker, *observations)
    return tracker


def seconds(view, at):
    """Partition-seconds without an owner by reason, as a scrape at ``at`` shows them."""
    return {reason.value: value for (reason,), value in unowned(view, T0 + at)}


def age(view, at):
    return [value for _, value in empty_seconds(view, T0 + at)]


def test_an_empty_group_has_its_start_and_its_last_members():
    view = run(record(1_000, 1, *TWO), record(60_000, 2)).view("g")
    assert view.state is GroupState.EMPTY
    assert view.empty == EmptyGroup(T0 + 60_000, members=2, partitions=4)
    assert (view.partitions, view.unassigned) == (4, 4)
    assert age(view, 90_000) == [30.0]


def test_a_group_with_members_has_age_zero_and_one_without_any_before_has_none():
    tracker = run(record(1_000, 1, *TWO), record(1_000, 0, group="new"))
    assert age(tracker.view("g"), 90_000) == [0]
    assert tracker.view("new").empty is None
    assert age(tracker.view("new"), 90_000) == []


def test_a_group_empty_before_the_observers_start_has_only_the_time():
    view = run(record(1_000, 7, live=False), WHOLE).view("g")
    assert view.empty == EmptyGroup(T0 + 1_000)
    assert (view.partitions, view.unassigned) == (None, None)
    assert seconds(view, 90_000) == {"empty": 0, "unassigned": 0}
    text = empty_text(build_summary(view), T0 + 90_000)
    assert text.endswith("UTC; its last members departed before the agent started")


def test_consumers_that_join_and_fail_do_not_reset_the_time_of_an_empty_group():
    tracker = run(record(1_000, 1, *TWO), record(60_000, 2), listed(70_000, "g"), record(80_000, 3))
    assert tracker.view("g").empty.since_ms == T0 + 60_000
    feed(tracker, record(90_000, 4, *TWO))
    assert tracker.view("g").empty is None
    feed(tracker, record(95_000, 5))
    assert tracker.view("g").empty.since_ms == T0 + 95_000


def test_the_time_without_members_is_counted_apart_from_the_slo():
    tracker = run(record(0, 1, *TWO), tick(10_000), record(60_000, 2), tick(70_000))
    view = tracker.view("g")
    before = partition_seconds_at(view, T0 + 70_000)
    assert seconds(view, 70_000 + LATE) == {"empty": 40.0, "unassigned": 0}
    assert partition_seconds_at(view, T0 + 700_000) == before
    go_on(tracker, record(160_000, 3, *TWO))
    assert seconds(tracker.view("g"), 500_000) == {"empty": 400.0, "unassigned": 0}


def test_no_time_is_counted_during_a_rebalance():
    tracker = run(record(0, 1, *TWO), record(60_000, 2), listed(69_800), listed(70_000, "g"))
    assert seconds(tracker.view("g"), 400_000) == {"empty": 40.0, "unassigned": 0}


def test_unassigned_partitions_are_counted_with_their_own_reason():
    tracker = run(record(0, 1, member("a", (0, 1, 2))), tick(20_000))
    assert seconds(tracker.view("g"), 20_000 + LATE) == {"empty": 0, "unassigned": 20.0}
    go_on(tracker, record(30_000, 2, member("a", (0, 1, 2, 3))), tick(60_000))
    assert seconds(tracker.view("g"), 90_000) == {"empty": 0, "unassigned": 30.0}


def test_groups_that_may_be_empty_are_not_reported():
    observations = (record(1_000, 1, *TWO), record(60_000, 2))
    view = run(*observations, may_be_empty=lambda group: group == "g").view("g")
    assert view.empty is None
    assert (view.partitions, view.unassigned) == (0, 0)
    assert age(view, 90_000) == []
    assert seconds(view, 90_000) == {"empty": 0, "unassigned": 0}


@pytest.mark.parametrize(
    ("reports", "cause"), [((), None), ((left("a", 59_000, 1), left("b", 59_500, 1)), Trigger.MEMBER_LEFT)]
)
def test_the_way_members_departed_is_shown_if_it_is_the_same_for_all(reports, cause):
    tracker = run(record(1_000, 1, *TWO), *reports, record(60_000, 2), tick(70_000))
    assert tracker.view("g").empty.cause is cause


def test_static_members_that_closed_did_not_leave_as_the_coordinator_removed_them():
    static = (member("a", (0, 1), instance="i-a"), member("b", (2, 3), instance="i-b"))
    reports = (left("a", 44_000, 1), left("b", 44_500, 1))
    tracker = run(record(1_000, 1, *static), *reports, record(60_000, 2), tick(70_000))
    assert tracker.view("g").last_episode.causes == (Trigger.MEMBER_LEFT,)
    assert tracker.view("g").empty.cause is None
    assert "its last 2 members are gone" in empty_text(build_summary(tracker.view("g")), T0 + 70_000)


def test_epoch_groups_can_be_empty():
    tracker, _ = watch(*group_of_two((0, 1), (2, 3)))
    observations = [*gone(50_000, "a"), fact(50_000, GroupEpoch(3)), fact(50_000, TargetEpoch(3))]
    feed(tracker, *observations, current(50_100, "b", 3, (0, 1, 2, 3)), tick(55_000))
    go_on(tracker, *gone(60_000, "b"), fact(60_000, GroupEpoch(4)), tick(70_000))
    view = tracker.view("g")
    assert view.empty == EmptyGroup(T0 + 60_000, members=1, partitions=4)
    assert view.unassigned == 4
    assert seconds(view, 70_003 + LATE) == {"empty": 40.0, "unassigned": 0}


def test_a_polled_group_is_empty_since_the_poll_that_showed_it_at_the_latest():
    def described(at, state, *members):
        loads = tuple(MemberLoad(name, None, "c", "h", {"t": (0,)}) for name in members)
        return GroupDescribed(T0 + at, DescribedGroup("g", state, GroupType.CLASSIC, "range", loads))

    stable = described(0, GroupState.STABLE, "a", "b")
    tracker, _ = watch(stable)
    assert age(tracker.view("g"), 1_000) == [0]
    feed(tracker, described(5_000, GroupState.EMPTY), described(10_000, GroupState.EMPTY))
    assert tracker.view("g").empty == EmptyGroup(T0 + 5_000, members=2)
    assert list(unowned(tracker.view("g"), T0 + 90_000)) == []
    feed(tracker, described(15_000, GroupState.STABLE, "c"))
    assert tracker.view("g").empty is None
    excluded, _ = watch(stable, described(5_000, GroupState.EMPTY), may_be_empty=lambda _group: True)
    assert excluded.view("g").empty is None


def test_a_backward_clock_step_counts_nothing():
    now = UnownedPartitions(UnownedReason.EMPTY, 4)
    time = UnownedTime(10_000).advance(10_000, now).advance(5_000, now)
    assert time.at(4_000) == {}
    assert time.at(6_000) == {UnownedReason.EMPTY: 4.0}
