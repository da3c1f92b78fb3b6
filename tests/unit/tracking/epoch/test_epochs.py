"""Groups with broker-side assignment, from the records of a real KIP-848 group."""

from __future__ import annotations

import pytest

from rebalance_agent.model.episode import Basis, Trigger
from rebalance_agent.model.epoch_groups import (
    CurrentAssignment,
    EpochMember,
    GroupEpoch,
    MemberState,
    ResolvedPattern,
    TargetEpoch,
    Topology,
)
from rebalance_agent.model.events import GroupGoneEvent
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.tracking.observations import EpochRecord
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.epochs import ID, current, deleted, fact, gone, joins, named, target
from support.tracker.tracking import T0, WHOLE, closing, committed, feed, tick, topics

FIRST = [
    joins(1_000, "a"),
    fact(1_000, GroupEpoch(2)),
    target(1_000, "a", 0, 1, 2, 3),
    fact(1_000, TargetEpoch(2)),
    current(1_000, "a", 2, (0, 1, 2, 3)),
]
SECOND = [
    joins(10_000, "b"),
    fact(10_000, GroupEpoch(3)),
    target(10_050, "a", 0, 1),
    target(10_050, "b", 2, 3),
    fact(10_050, TargetEpoch(3)),
    current(10_050, "b", 3, state=MemberState.UNRELEASED),
    current(11_000, "a", 2, (0, 1), (2, 3), MemberState.UNREVOKED),
]
HANDED_OVER = [current(11_600, "a", 3, (0, 1)), current(12_000, "b", 3, (2, 3))]


def followed(*observations):
    tracker = Tracker("cluster", settle_ms=1_000)
    return tracker, feed(tracker, WHOLE, named(), *observations)


def test_a_new_group_starts_with_its_first_epoch():
    tracker, events = followed(*FIRST, tick(9_000))
    (event,) = closing(events)
    assert (event.group_type, event.generation, event.epoch_kind) == (GroupType.CONSUMER, 2, "group_epoch")
    assert event.trigger is Trigger.GROUP_STARTED
    assert event.members[0].assigned == {"t": (0, 1, 2, 3)}
    view = tracker.view("g")
    assert (view.state, view.generation, view.partitions, view.unassigned) == (GroupState.STABLE, 2, 4, 0)
    assert view.counters.completed == {Trigger.GROUP_STARTED: 1}


def test_a_join_ends_when_the_last_member_has_its_epoch_and_only_moved_partitions_stall():
    _, events = followed(*FIRST, *SECOND, *HANDED_OVER, tick(20_000))
    event = closing(events)[-1]
    assert (event.trigger, event.generation, event.previous_generation) == (Trigger.MEMBER_JOINED, 3, 2)
    assert (event.moved, event.needed, event.revoked, event.assigned) == (2, 2, 2, 2)
    assert (event.phases.started_ms, event.phases.joined_ms, event.phases.completed_ms) == (
        T0 + 10_000,
        T0 + 10_050,
        T0 + 12_000,
    )
    # revocation requested at 11.0 s, revoked by 11.6 s, assigned to the other member at 12.0 s
    assert (event.stall.lower_seconds, event.stall.seconds, event.stall.basis) == (0.4, 1.0, Basis.BOUND)
    assert event.stall.upper_partition_seconds == pytest.approx(2.0)


def test_the_member_with_the_longest_revocation_is_the_slowest():
    tracker, events = followed(*FIRST, *SECOND, *HANDED_OVER, tick(20_000))
    assert closing(events)[-1].slowest_member_id == "a"
    assert [(each.client_id, each.seconds) for each in tracker.view("g").awaited] == [("client-a", 0.6)]


def test_states_are_the_brokers_during_a_rebalance():
    tracker = Tracker("cluster", settle_ms=1_000)
    feed(tracker, WHOLE, named(), *FIRST)
    states = []
    for observation in (*SECOND, *HANDED_OVER):
        feed(tracker, observation)
        states.append(tracker.view("g").state.value)
    assert states == ["Reconciling"] + ["Assigning"] * 3 + ["Reconciling"] * 4 + ["Stable"]


def test_stalled_partitions_are_counted_during_a_rebalance():
    tracker, _ = followed(*FIRST, *SECOND, current(11_600, "a", 3, (0, 1)))
    assert tracker.view("g").running.stalled_partitions == 2
    assert tracker.view("g").running.started_ms == T0 + 10_000


def test_a_leave_moves_the_members_partitions():
    left = [
        *gone(20_000, "b"),
        fact(20_000, GroupEpoch(4)),
        target(20_000, "a", 0, 1, 2, 3),
        fact(20_000, TargetEpoch(4)),
    ]
    _, events = followed(*FIRST, *SECOND, *HANDED_OVER, *left, current(21_000, "a", 4, (0, 1, 2, 3)), tick(30_000))
    event = closing(events)[-1]
    assert (event.trigger, event.moved, event.generation) == (Trigger.MEMBER_GONE, 2, 4)
    # revoked at the deletion of its record at the earliest; resumed a second later
    assert event.stall.lower_seconds == 1.0


def test_a_group_that_empties_is_empty_and_a_deleted_one_is_gone():
    emptied = [*gone(20_000, "a"), fact(20_000, GroupEpoch(3))]
    tracker, events = followed(*FIRST, *emptied, tick(30_000))
    assert tracker.view("g").state is GroupState.EMPTY
    events = feed(tracker, *deleted(40_000), tick(41_500))
    assert [type(event) for event in events] == [GroupGoneEvent]
    assert tracker.view("g") is None
    assert tracker.groups() == []


def test_an_epoch_overtaken_by_the_next_is_one_rebalance():
    third = [joins(11_500, "c"), fact(11_500, GroupEpoch(4)), target(11_500, "c", 3), target(11_500, "b", 2)]
    third += [fact(11_500, TargetEpoch(4)), current(11_600, "a", 4, (0, 1)), current(12_000, "b", 4, (2,))]
    _, events = followed(*FIRST, *SECOND, *third, current(12_500, "c", 4, (3,)), tick(30_000))
    assert [event.generation for event in closing(events)] == [2, 4]
    assert closing(events)[-1].phases.started_ms == T0 + 10_000


def test_a_revoked_partition_was_stalled_even_if_the_same_member_gets_it_back():
    left = [*gone(13_000, "b"), fact(13_000, GroupEpoch(4)), target(13_050, "a", 0, 1, 2, 3)]
    back = [fact(13_050, TargetEpoch(4)), current(14_000, "a", 4, (0, 1, 2, 3))]
    tracker, _ = followed(*FIRST, *SECOND)
    event = closing(feed(tracker, HANDED_OVER[0], *left, *back, tick(20_000)))[-1]
    assert (event.generation, event.moved) == (4, 0)
    assert (event.stall.basis, event.stall.lower_seconds, event.stall.seconds) == (Basis.BOUND, 2.4, 3.0)
    assert event.stall.upper_partition_seconds == pytest.approx(6.0)


def test_a_group_older_than_the_observer_is_shown_after_the_backfill_without_events():
    tracker = Tracker("cluster", settle_ms=1_000)
    old = [
        EpochRecord(**{name: getattr(each, name) for name in each.__slots__} | {"live": False})
        for each in (*FIRST, *SECOND, *HANDED_OVER)
    ]
    assert feed(tracker, named(), *old) == []
    assert tracker.view("g") is None
    assert feed(tracker, WHOLE, tick(60_000)) == []
    assert tracker.view("g").generation == 3
    events = feed(
        tracker, *gone(70_000, "b"), fact(70_000, GroupEpoch(4)), fact(70_000, TargetEpoch(4)),
        current(71_000, "a", 4, (0, 1, 2, 3)), tick(90_000),
    )  # fmt: skip
    assert [(event.trigger, event.previous_generation) for event in closing(events)] == [(Trigger.MEMBER_GONE, 3)]


def test_a_late_old_record_changes_nothing():
    tracker, _ = followed(*FIRST, *SECOND, *HANDED_OVER)
    before = tracker.view("g")
    feed(tracker, current(11_000, "a", 2, (0, 1, 2, 3), live=False), fact(1_000, GroupEpoch(2), live=False))
    after = tracker.view("g")
    assert (after.generation, after.members, after.state) == (before.generation, before.members, before.state)


@pytest.mark.parametrize(
    ("commits", "upper_s"), [((), 24.0), ((committed(18_000, 0, 1, 2, 3), committed(19_000, 0, 1, 2, 3)), 7.5)]
)
def test_the_return_of_a_static_member_is_an_episode_without_a_new_epoch(commits, upper_s):
    static = [
        joins(1_000, "a", instance_id="i"),
        *FIRST[1:],
        *commits,
        current(20_000, "a", -2),
        *gone(25_000, "a"),
        joins(25_000, "a2", instance_id="i"),
        target(25_000, "a2", 0, 1, 2, 3),
        current(25_000, "a2", 2, (0, 1, 2, 3)),
    ]
    _, events = followed(*static, tick(60_000))
    event = closing(events)[-1]
    assert (event.trigger, event.generation, event.previous_generation) == (Trigger.MEMBER_REPLACED, 2, 2)
    # The time of its stop before its temporary leave is not recorded.
    assert (event.stall.lower_seconds, event.stall.seconds) == (5.0, upper_s)


AWAY = [
    joins(1_000, "a", instance_id="i"),
    *FIRST[1:],
    *SECOND,
    *HANDED_OVER,
    current(20_000, "a", -2),
    joins(25_000, "c"),
    fact(25_000, GroupEpoch(4)),
    target(25_000, "a", 0),
    target(25_000, "c", 1),
    fact(25_000, TargetEpoch(4)),
    current(25_500, "b", 4, (2, 3)),
    current(26_000, "c", 4, (1,)),
]
"""A static member leaves temporarily; another one joins and gets a part of its partitions."""


def test_partitions_of_a_static_member_that_returns_after_another_epoch_were_stalled_since_its_leave():
    returned = [*gone(50_000, "a"), joins(50_000, "a2", instance_id="i"), target(50_000, "a2", 0)]
    _, events = followed(*AWAY, *returned, current(50_500, "a2", 4, (0,)), tick(90_000))
    *_, joined, back = closing(events)
    assert (joined.trigger, joined.stall.lower_seconds, joined.stall.seconds) == (Trigger.MEMBER_JOINED, 6.0, 14.4)
    assert (back.trigger, back.generation) == (Trigger.MEMBER_REPLACED, 4)
    assert (back.stall.seconds, back.stall.lower_seconds, back.stall.upper_partition_seconds) == (38.9, 30.5, 38.9)


def test_partitions_of_a_static_member_that_does_not_return_are_stalled_until_reassigned():
    expelled = [
        *gone(65_000, "a"),
        fact(65_000, GroupEpoch(5)),
        target(65_000, "b", 0, 2, 3),
        fact(65_000, TargetEpoch(5)),
    ]
    taken = [current(65_500, "b", 5, (0, 2, 3)), current(65_600, "c", 5, (1,))]
    _, events = followed(*AWAY, *expelled, *taken, tick(90_000))
    event = closing(events)[-1]
    assert event.trigger is Trigger.MEMBER_LEFT
    assert (event.stall.lower_seconds, event.stall.seconds, event.stall.upper_partition_seconds) == (45.5, 53.9, 53.9)


def test_a_pattern_is_replaced_by_its_resolved_topics():
    pattern = EpochMember("client-a", "/10.0.0.1", pattern="t.*")
    tracker, _ = followed(
        fact(1_000, pattern, "a"), fact(1_000, ResolvedPattern(("t",)), "t.*"), *FIRST[1:], tick(9_000)
    )
    assert tracker.view("g").partitions == 4


def test_a_topic_is_named_as_soon_as_its_id_is_known():
    tracker = Tracker("cluster", settle_ms=1_000)
    feed(tracker, WHOLE, *FIRST)
    assert tracker.view("g").members[0].assigned == {ID: (0, 1, 2, 3)}
    feed(tracker, named(2_000))
    assert tracker.view("g").members[0].assigned == {"t": (0, 1, 2, 3)}


def test_tasks_of_a_streams_group_are_partitions_of_their_topics():
    streams = GroupType.STREAMS
    tracker = Tracker("cluster", settle_ms=1_000)
    feed(
        tracker, WHOLE, topics(0, orders=2, by_user=2),
        fact(1_000, EpochMember("client-a", "/10.0.0.1", process="p"), "a", group_type=streams),
        fact(1_000, Topology({"0": ("orders",), "1": ("by_user",)}), group_type=streams),
        fact(1_000, GroupEpoch(2), group_type=streams),
        fact(1_000, TargetEpoch(2), group_type=streams),
        fact(1_000, CurrentAssignment(2, 0, MemberState.STABLE, {"0": (0, 1), "1": (0,)}), "a", group_type=streams),
    )  # fmt: skip
    view = tracker.view("g")
    assert (view.group_type, view.unassigned) == (streams, 1)
    assert view.members[0].assigned == {"orders": (0, 1), "by_user": (0,)}


def test_an_empty_group_whose_epoch_rises_has_no_rebalance():
    emptied = [*gone(20_000, "a"), fact(20_000, GroupEpoch(3)), fact(20_500, GroupEpoch(4))]
    tracker, events = followed(*FIRST, *emptied, tick(30_000))
    assert [event.generation for event in events] == [2, 3]
    assert tracker.view("g").generation == 4


def test_a_member_that_keeps_its_partitions_in_a_new_epoch_does_not_rebuild_the_view():
    tracker, _ = followed(*FIRST, *SECOND, *HANDED_OVER)
    feed(tracker, fact(15_000, GroupEpoch(4)))
    drawn = tracker.view("g")
    feed(tracker, target(15_000, "a", 0, 1), fact(15_000, TargetEpoch(4)), current(15_500, "a", 4, (0, 1)))
    assert tracker.view("g").members is drawn.members
    assert (tracker.view("g").state, tracker.view("g").generation) == (GroupState.RECONCILING, 4)
    feed(tracker, current(16_000, "b", 4, (2,)))
    assert tracker.view("g").unassigned == 1


def test_a_group_whose_members_left_before_their_first_assignment_is_reported():
    begun = [named(), WHOLE, joins(1_000, "a"), fact(1_000, GroupEpoch(1)), fact(1_000, TargetEpoch(1))]
    went = [*gone(2_000, "a"), fact(2_000, GroupEpoch(2)), fact(2_100, TargetEpoch(2))]
    (event,) = closing(feed(Tracker("cluster", settle_ms=1_000), *begun, *went, tick(200_000)))
    assert (event.generation, event.members, event.trigger, event.lost) == (2, (), Trigger.MEMBER_GONE, 0)
