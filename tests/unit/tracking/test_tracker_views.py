from dataclasses import replace

import pytest

from rebalance_agent.assignors import STRATEGIES, Promise, Strategy
from rebalance_agent.model.episode import Source
from rebalance_agent.model.group import GroupState, GroupType, RebalanceProtocol
from rebalance_agent.tracking.groups import UNKNOWN_GROUPS_MAX, UNKNOWN_NAME_BYTES_MAX
from rebalance_agent.tracking.observations import DescribedGroup, GroupDescribed, LoadsSeen
from rebalance_agent.tracking.patterns.loads import GroupLoads
from rebalance_agent.tracking.tracker import REBALANCING
from rebalance_agent.tracking.views import MemberLoad, partition_seconds_at
from support.assignors.plugin_site import Entry, declared
from support.tracker.tracking import (
    REBALANCE_MS,
    T0,
    assigned,
    feed,
    listed,
    member,
    record,
    revoked,
    tick,
    topics,
    watch,
)

ALL = (0, 1, 2, 3)


def described(at, *members, state=GroupState.STABLE, group="g", assignor="range"):
    shown = tuple(MemberLoad(name, None, f"client-{name}", "/h", {"t": given}) for name, given in members)
    return GroupDescribed(T0 + at, DescribedGroup(group, state, GroupType.CLASSIC, assignor, shown))


def held(tracker):
    return {each.member_id: each.assigned for each in tracker.view("g").members}


def test_a_view_contains_the_assignors_figures():
    tracker, _ = watch(topics(0, t=4), record(4_000, 1, member("a", (0, 1, 2)), member("b", (3,)), member("c")))
    view = tracker.view("g")
    assert (view.skew_ratio, view.imbalance, view.idle_members, view.unassigned) == (1.5, 1, 1, 0)
    assert view.topic_spread == (("t", pytest.approx(2 / 3)),)
    assert view.rebalance_timeout_seconds == REBALANCE_MS / 1000
    assert view.metadata_bytes == 100


def test_targets_come_from_the_strategys_targets_function():
    weighted = STRATEGIES["weighted-sticky"]
    shares = {
        name: weighted.user_data({"assignment.consumer.weight": weight}, {})
        for name, weight in (("a", "3"), ("b", "1"))
    }
    tracker, _ = watch(
        topics(0, t=4),
        record(
            4_000,
            1,
            *(member(name, given, user_data=shares[name]) for name, given in (("a", (0, 1, 2)), ("b", (3,)))),
            protocol="weighted-sticky",
        ),
    )
    view = tracker.view("g")
    assert {each.member_id: each.target for each in view.members} == {"a": 3, "b": 1}
    assert view.skew_ratio == 1


def test_a_plugin_strategy_is_measured_by_its_promise_or_without_one_by_the_best_balance(monkeypatch):
    def first(roster):
        return Promise.at_most([sum(roster.partitions), *[0] * (len(roster.members) - 1)])

    def failing(_):
        raise RuntimeError

    members = (member("a", ALL), member("b", ()))
    for promise, skew, targets in ((None, 2, [None, None]), (first, 1, [4, 0]), (failing, 2, [None, None])):
        strategy = Strategy("own", RebalanceProtocol.EAGER, "all to one", STRATEGIES["failover"].plan, promise)
        declared(monkeypatch, *([] if promise is None else [Entry("own", strategy)]))
        tracker, _ = watch(topics(0, t=4), record(4_000, 1, *members, protocol="own"))
        view = tracker.view("g")
        assert view.skew_ratio == skew
        assert [each.target for each in view.members] == targets


def test_a_passive_member_is_not_idle():
    failover = STRATEGIES["failover"]
    priority = {
        name: failover.user_data({"assignment.consumer.priority": value}, {})
        for name, value in (("a", "10"), ("b", "1"))
    }
    tracker, _ = watch(
        topics(0, t=4),
        record(
            4_000,
            1,
            member("a", ALL, user_data=priority["a"]),
            member("b", user_data=priority["b"]),
            protocol="failover",
        ),
    )
    view = tracker.view("g")
    assert (view.idle_members, view.skew_ratio, view.unassigned) == (0, 1, 0)


def test_new_partitions_of_a_topic_are_unassigned_until_the_rebalance():
    tracker, _ = watch(topics(0, t=4), record(4_000, 1, member("a", ALL)), topics(8_000, t=6))
    assert (tracker.view("g").partitions, tracker.view("g").unassigned) == (6, 2)
    feed(tracker, record(9_000, 2, member("a", (0, 1, 2, 3, 4, 5))))
    assert (tracker.view("g").partitions, tracker.view("g").unassigned) == (6, 0)


def test_an_overtaken_list_of_topics_is_ignored():
    tracker, _ = watch(topics(8_000, t=6), topics(7_000, t=4), record(9_000, 1, member("a", ALL)))
    assert (tracker.view("g").partitions, tracker.view("g").unassigned) == (6, 2)


def test_unassigned_partitions_are_unknown_before_topics_are_listed():
    tracker, _ = watch(record(4_000, 1, member("a", ALL)))
    assert (tracker.view("g").partitions, tracker.view("g").unassigned) == (4, None)


def test_the_version_rises_with_changes_and_not_with_time():
    tracker, _ = watch(topics(0, t=4), record(1_000, 0), record(4_000, 1, member("a", ALL)), tick(9_000))
    version = tracker.view("g").version
    feed(tracker, tick(20_000), listed(30_000), topics(40_000, t=4, other=3))
    assert tracker.view("g").version == version
    feed(tracker, listed(50_000, "g"))
    assert tracker.view("g").version > version


def test_changed_names_each_group_once_per_change():
    tracker, _ = watch(record(4_000, 1, member("a", ALL)), record(4_000, 1, member("a", ALL), group="h"))
    assert tracker.changed() == {"g", "h"}
    assert tracker.changed() == set()
    feed(tracker, listed(5_000, "h"))
    assert tracker.changed() == {"h"}
    feed(tracker, tick(9_000))
    assert tracker.changed() == {"g", "h"}
    assert list(tracker.groups()) == ["g", "h"]


def test_partition_seconds_advance_while_a_rebalance_runs():
    tracker, _ = watch(
        topics(0, t=4),
        record(4_000, 1, member("a", ALL), live=False),
        listed(20_000),
        listed(20_200, "g", state=GroupState.COMPLETING_REBALANCE),
    )
    view = tracker.view("g")
    start, later = partition_seconds_at(view, T0 + 21_200), partition_seconds_at(view, T0 + 31_200)
    assert later.stalled - start.stalled == pytest.approx(40)
    assert later.total - start.total == pytest.approx(40)
    assert start.total == pytest.approx(4 * 16.2)


def test_a_scrape_does_not_count_beyond_pending_observations():
    tracker, _ = watch(
        topics(0, t=4), record(4_000, 1, member("a", ALL), live=False), listed(20_000), listed(20_200, "g")
    )
    scraped = partition_seconds_at(tracker.view("g"), T0 + 23_000)
    feed(tracker, record(22_400, 2))
    assert partition_seconds_at(tracker.view("g"), T0 + 23_000) >= scraped


def test_the_settled_stall_adds_to_the_counted_part():
    tracker, _ = watch(
        topics(0, t=4), record(4_000, 1, member("a", ALL), live=False), listed(20_000), listed(20_200, "g")
    )
    feed(tracker, listed(22_400, "g", state=GroupState.COMPLETING_REBALANCE))
    feed(tracker, record(23_000, 2, member("a", ALL), joined=22_300))
    assert tracker.view("g").counters.stalled_partition_seconds == pytest.approx(4 * 0.6)
    feed(tracker, tick(28_000))
    counters = tracker.view("g").counters
    assert counters.stalled_partition_seconds == pytest.approx(4 * 0.7)
    # It requested the rebalance itself, so its revoked callback may have begun any time after the last generation.
    assert counters.upper_stalled_partition_seconds == pytest.approx(4 * 19.0)


def test_reporting_members_count_as_stalled_only_after_their_report():
    tracker, _ = watch(
        topics(0, t=4),
        record(4_000, 1, member("a", (0, 1)), member("b", (2, 3)), live=False),
        assigned("a", 4_005, 4_010, 1, (0, 1)),
        assigned("b", 4_005, 4_010, 1, (2, 3)),
        listed(20_000),
        listed(20_200, "g"),
    )
    assert tracker.view("g").running.stalled_partitions == 0
    feed(tracker, revoked("a", 20_300, 20_310, 1, (0, 1)))
    assert tracker.view("g").running.stalled_partitions == 2


def test_a_described_group_makes_no_claims_about_generations():
    tracker, events = watch(described(1_000, ("a", ALL)))
    view = tracker.view("g")
    assert (view.source, view.state, view.generation, view.assignor) == (Source.ADMIN, GroupState.STABLE, None, "range")
    assert events == []


def test_changes_between_polls_are_counted():
    tracker, events = watch(
        described(1_000, ("a", ALL)),
        described(2_000, ("a", ALL)),
        described(3_000, ("b", (2, 3)), ("a", (0, 1))),
        described(4_000, ("a", (0, 1)), ("b", (2, 3))),
        described(5_000, ("a", (0, 1)), ("b", (2, 3)), state=GroupState.PREPARING_REBALANCE),
        described(2_500, ("x", ALL)),
    )
    view = tracker.view("g")
    assert (view.counters.polled_changes, view.counters.completed, view.state) == (
        1,
        {},
        GroupState.PREPARING_REBALANCE,
    )
    assert events == []


@pytest.mark.parametrize("state", [GroupState.PREPARING_REBALANCE, GroupState.RECONCILING])
def test_polls_during_a_rebalance_count_no_separate_change(state):
    tracker, _ = watch(
        described(1_000, ("a", ALL)),
        described(2_000, ("a", ()), ("b", ()), state=state),
        described(3_000, ("a", (0, 1)), ("b", ()), state=state),
    )
    assert tracker.view("g").counters.polled_changes == 0
    assert len(tracker.view("g").members) == 2
    feed(tracker, described(4_000, ("a", (0, 1)), ("b", (2, 3))))
    assert tracker.view("g").counters.polled_changes == 1
    begun, _ = watch(described(1_000, ("a", ()), state=state), described(2_000, ("a", ALL)))
    assert begun.view("g").counters.polled_changes == 0  # the previous assignment is unknown


def test_members_of_a_polled_group_keep_their_partitions_until_the_end_of_its_rebalance():
    tracker, _ = watch(
        described(1_000, ("a", (0, 1)), ("b", (2, 3))),
        described(2_000, ("a", ()), ("c", ()), state=GroupState.PREPARING_REBALANCE),
    )
    assert held(tracker) == {"a": {"t": (0, 1)}, "c": None}
    feed(tracker, described(3_000, ("a", ()), ("c", ALL)))
    assert held(tracker) == {"a": {"t": ()}, "c": {"t": ALL}}


@pytest.mark.parametrize("state", sorted(REBALANCING))
def test_partitions_of_a_polled_group_are_unknown_until_it_was_seen_outside_of_a_rebalance(state):
    tracker, _ = watch(
        described(1_000, ("a", ()), ("b", ()), state=state),
        LoadsSeen(T0 + 1_100, {"g": GroupLoads({("t", 0): 5, ("t", 1): 5})}),
    )
    settled = replace(listed(2_000, "g", state=GroupState.STABLE), states=frozenset())
    for observations in ((), (settled,)):  # a list shows the end of the rebalance, but not its result
        feed(tracker, *observations)
        view = tracker.view("g")
        assert held(tracker) == {"a": None, "b": None}
        assert (view.idle_members, view.lag_skew_ratio) == (None, None)
    feed(tracker, described(3_000, ("a", ALL), ("b", ())))
    assert held(tracker) == {"a": {"t": ALL}, "b": {"t": ()}}
    assert (tracker.view("g").lag_skew_ratio, tracker.view("g").counters.polled_changes) == (2, 0)


def test_records_take_over_from_polls():
    tracker, _ = watch(
        described(1_000, ("a", ALL)), record(4_000, 7, member("a", ALL), live=False), described(5_000, ("b", ALL))
    )
    view = tracker.view("g")
    assert (view.source, view.generation, [each.member_id for each in view.members]) == (Source.RECORDS, 7, ["a"])


@pytest.mark.parametrize(
    "gone", [described(2_000, state=GroupState.DEAD), replace(listed(2_000, "other"), states=frozenset())]
)
def test_a_polled_group_is_removed_when_polls_no_longer_list_it(gone):
    tracker, _ = watch(described(1_000, ("a", ALL)))
    tracker.changed()
    feed(tracker, gone)
    assert tracker.view("g") is None
    assert tracker.changed() == {"g"}


@pytest.mark.no_cover  # many times over what others count
def test_groups_without_a_record_are_bounded_and_removed():
    names = [f"group-{number}" for number in range(UNKNOWN_GROUPS_MAX + 100)]
    tracker, _ = watch(listed(1_000, *names, states=REBALANCING))
    assert list(tracker.groups()) == []
    assert len(tracker._groups) == UNKNOWN_GROUPS_MAX
    feed(tracker, listed(2_000), tick(700_000))
    assert len(tracker._groups) == 0


def test_names_of_groups_without_a_record_are_bounded_in_bytes():
    names = [f"{number:0>65536}" for number in range(20)]
    tracker, _ = watch(listed(1_000, *names, states=REBALANCING))
    assert len(tracker._groups) == UNKNOWN_NAME_BYTES_MAX // (4 * 65_536) == 16
    feed(tracker, listed(2_000), tick(700_000), listed(701_000, *names[-4:], states=REBALANCING))
    assert {each.group for each in tracker._groups} == set(names[-4:])


def test_a_start_polled_before_the_first_record_is_used():
    tracker, _ = watch(listed(900), listed(1_000, "g"), record(500, 7, member("a", ALL), live=False, delay=600))
    feed(tracker, listed(1_200, "g"))
    assert tracker.view("g").state is GroupState.PREPARING_REBALANCE


def test_reports_of_another_cluster_are_ignored():
    tracker, _ = watch(record(4_000, 1, member("a", ALL)))
    report = revoked("a", 5_000, 5_010, 1, ALL, group="stranger")
    feed(tracker, replace(report, event=replace(report.event, cluster_id="elsewhere")))
    assert tracker._groups.get("stranger") is None
