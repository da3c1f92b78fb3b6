"""Lag and rate in a group's view, updated with every measurement and every generation."""

from rebalance_agent.model.epoch_groups import GroupEpoch, TargetEpoch
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.tracking.observations import (
    DescribedGroup,
    GroupDescribed,
    LoadsSeen,
)
from rebalance_agent.tracking.patterns.loads import GroupLoads
from rebalance_agent.tracking.views import MemberLoad
from support.tracker.epochs import current, fact, joins, named
from support.tracker.tracking import T0, WHOLE, feed, member, record, tick, tombstone, topics, watch


def seen(at, **groups):
    return LoadsSeen(T0 + at, groups)


def lags(**records):
    return {("t", int(number.removeprefix("p"))): lag for number, lag in records.items()}


def peopled():
    reported = (topics(0, t=4), record(10, 1, member("a", (0, 1)), member("b", (2, 3))))
    tracker, _ = watch(*reported, record(10, 1, member("a", (0,)), group="other"))
    tracker.changed()
    return tracker


def skews(tracker, group="g"):
    view = tracker.view(group)
    return view.lag_skew_ratio, view.rate_skew_ratio


def test_a_measurement_changes_only_the_views_of_its_groups():
    tracker = peopled()
    assert skews(tracker) == (None, None)
    version = tracker.view("g").version
    assert feed(tracker, seen(100, g=GroupLoads(lags(p0=5, p1=5), lags(p0=1, p2=1)))) == []
    assert skews(tracker) == (2, 1)
    assert tracker.view("g").version > version
    assert tracker.changed() == {"g"}
    assert skews(tracker, "other") == (None, None)


def test_an_equal_measurement_changes_no_view():
    tracker = peopled()
    for at in (100, 200):
        tracker.changed()
        feed(tracker, seen(at, g=GroupLoads(lags(p0=5), None)))
    assert tracker.changed() == set()


def test_a_group_that_is_no_longer_measured_has_no_skew_and_a_changed_view():
    tracker = peopled()
    feed(tracker, seen(100, g=GroupLoads(lags(p0=5, p1=5), None)))
    version = tracker.view("g").version
    tracker.changed()
    feed(tracker, seen(200))
    assert skews(tracker) == (None, None)
    assert tracker.view("g").version > version
    assert tracker.changed() == {"g"}
    feed(tracker, seen(300))
    assert tracker.changed() == set()


def test_a_new_generation_shares_the_same_loads_anew():
    tracker = peopled()
    feed(tracker, seen(100, g=GroupLoads(lags(p0=5, p1=5), None)))
    feed(tracker, record(1_000, 2, member("a", (0, 2)), member("b", (1, 3))))
    assert skews(tracker) == (1, None)


def test_loads_of_groups_that_are_gone_or_never_were_change_nothing():
    tracker = peopled()
    feed(tracker, tombstone(50, "other"), tombstone(5_000, "unseen"), tick(9_000))
    feed(tracker, seen(10_000, other=GroupLoads(lags(p0=5)), unseen=GroupLoads(lags(p0=5))))
    assert tracker.view("other") is tracker.view("unseen") is None


def test_polled_groups_have_loads_too():
    shown = tuple(MemberLoad(name, None, "c", "/h", {"t": given}) for name, given in (("a", (0, 1)), ("b", (2,))))
    group = DescribedGroup("g", GroupState.STABLE, GroupType.CLASSIC, "range", shown)
    tracker, _ = watch(GroupDescribed(T0, group))
    tracker.changed()
    for at in (100, 200):
        feed(tracker, seen(at, g=GroupLoads(lags(p0=5, p1=5), None)))
        assert (tracker.changed(), skews(tracker)) == ({"g"} if at == 100 else set(), (2, None))
    feed(tracker, seen(300))
    assert (tracker.changed(), skews(tracker)) == ({"g"}, (None, None))


def test_epoch_groups_have_loads_of_each_members_current_partitions():
    start = [joins(1_000, "a"), joins(1_000, "b"), fact(1_000, GroupEpoch(2)), fact(1_000, TargetEpoch(2))]
    tracker, _ = watch(WHOLE, named(t=4), *start)
    feed(tracker, current(1_500, "a", 2, (0, 1)), current(1_500, "b", 2, (2, 3)))
    feed(tracker, seen(2_000, g=GroupLoads(lags(p0=5, p1=5), lags(p0=1, p2=1))))
    assert skews(tracker) == (2, 1)
    feed(tracker, fact(3_000, GroupEpoch(3)), fact(3_000, TargetEpoch(3)), current(3_100, "a", 3, (0,)))
    assert skews(tracker) == (1, 1)  # partition 1 has no owner
    feed(tracker, current(3_200, "b", 3, (1, 2, 3)))
    assert skews(tracker) == (1, 1)
