"""A group that migrates to the consumer protocol (KIP-848) and back remains one group.

The records are those that a broker wrote, in its order: the old type's tombstones and the new type's records are one
batch with one timestamp, in which the epoch is the generation's number.
"""

from __future__ import annotations

import itertools

from rebalance_agent.model.episode import Evidence, Trigger
from rebalance_agent.model.epoch_groups import (
    CurrentAssignment,
    EpochMember,
    GroupEpoch,
    MemberState,
    MemberTarget,
    TargetEpoch,
)
from rebalance_agent.model.events import GenerationEvent, GroupGoneEvent
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.epochs import current, deleted, fact, gone, joins, named, target
from support.tracker.tracking import (
    T0,
    WHOLE,
    assigned,
    closing,
    feed,
    left,
    listed,
    member,
    record,
    tick,
    tombstone,
    triggers,
)

CLASSIC = [
    record(1_000, 0),
    record(1_010, 1, member("a", (0, 1, 2, 3))),
    record(4_000, 2, member("a", (0, 1)), member("b", (2, 3))),
    record(9_000, 3, member("b", (0, 1, 2, 3))),
]
THERE = [
    tombstone(20_000),
    joins(20_000, "b", classic=True),
    fact(20_000, GroupEpoch(3)),
    target(20_000, "b", 0, 1, 2, 3),
    fact(20_000, TargetEpoch(3)),
    current(20_000, "b", 3, (0, 1, 2, 3)),
    joins(20_000, "n"),
    fact(20_000, GroupEpoch(4)),
    target(20_000, "b", 0, 1),
    target(20_000, "n", 2, 3),
    fact(20_000, TargetEpoch(4)),
    current(20_000, "n", 4, state=MemberState.UNRELEASED),
    current(20_170, "b", 4, (0, 1)),
    current(20_190, "n", 4, (2, 3)),
]
ALL_NEW = [
    *gone(30_000, "b"),
    fact(30_000, GroupEpoch(5)),
    target(31_000, "n", 0, 1, 2, 3),
    fact(31_000, TargetEpoch(5)),
    current(31_000, "n", 5, (0, 1, 2, 3)),
    joins(40_000, "c", classic=True),
    fact(40_000, GroupEpoch(6)),
    current(40_000, "c", 5),
    target(41_000, "c", 2, 3),
    target(41_000, "n", 0, 1),
    fact(41_000, TargetEpoch(6)),
    current(41_000, "n", 5, (0, 1), (2, 3), MemberState.UNREVOKED),
    current(41_030, "n", 6, (0, 1)),
    current(41_300, "c", 6, (2, 3)),
]
DISSOLVED = [
    fact(50_000, None, "c", CurrentAssignment),
    fact(50_000, None, "n", CurrentAssignment),
    fact(50_000, None, "c", MemberTarget),
    fact(50_000, None, "n", MemberTarget),
    fact(50_000, None, "", TargetEpoch),
    fact(50_000, None, "c", EpochMember),
    fact(50_000, None, "n", EpochMember),
    fact(50_000, None, "", GroupEpoch),
]
BACK = [*DISSOLVED, record(50_000, 6, member("c", (2, 3))), record(50_170, 7, member("c", (0, 1, 2, 3)))]
END = [record(60_000, 8), tombstone(60_010), tick(70_000)]


def followed(*observations, settle_ms=1_000):
    tracker = Tracker("cluster", settle_ms=settle_ms)
    return tracker, feed(tracker, WHOLE, named(), *observations)


def facts(events):
    return [(each.group_type, each.generation, each.previous_generation, each.trigger) for each in closing(events)]


def test_a_migration_and_its_reversal_are_rebalances_of_one_group():
    _, events = followed(*CLASSIC, *THERE, *ALL_NEW, *BACK, *END)
    classic, consumer = GroupType.CLASSIC, GroupType.CONSUMER
    assert facts(events) == [
        (classic, 1, 0, Trigger.GROUP_STARTED),
        (classic, 2, 1, Trigger.MEMBER_JOINED),
        (classic, 3, 2, Trigger.MEMBER_GONE),
        (consumer, 4, 3, Trigger.MEMBER_JOINED),
        (consumer, 5, 4, Trigger.MEMBER_GONE),
        (consumer, 6, 5, Trigger.MEMBER_JOINED),
        (classic, 7, 6, Trigger.MEMBER_GONE),
        (classic, 8, 7, Trigger.MEMBER_GONE),
    ]
    assert [each.migrated_from for each in closing(events)] == [None] * 3 + [classic, None, None, consumer, None]
    assert [type(each) for each in events] == [GenerationEvent] * 8 + [GroupGoneEvent]


def test_a_generation_in_progress_at_the_migration_is_not_reported():
    there = [
        tombstone(20_000),
        joins(20_000, "b", classic=True),
        fact(20_000, GroupEpoch(4)),
        target(20_000, "b"),
        fact(20_000, TargetEpoch(4)),
        current(20_000, "b", 4),
        joins(20_000, "n"),
        fact(20_000, GroupEpoch(5)),
        target(20_000, "b", 0, 1),
        target(20_000, "n", 2, 3),
        fact(20_000, TargetEpoch(5)),
        current(20_170, "b", 5, (0, 1)),
        current(20_190, "n", 5, (2, 3)),
    ]
    _, events = followed(*CLASSIC, *there, tick(40_000))
    assert facts(events)[-1] == (GroupType.CONSUMER, 5, 3, Trigger.MEMBER_JOINED)
    assert len(closing(events)) == 4


def test_a_migration_keeps_counters_age_and_members_reports():
    tracker, _ = followed(*CLASSIC, assigned("b", 9_001, 9_002, 3, (0, 1, 2, 3)), tick(19_000))
    seen, first = [tracker.view("g")], tracker.view("g").first_seen_ms
    for observation in (*THERE, *ALL_NEW, *BACK):
        feed(tracker, observation)
        seen.append(tracker.view("g"))
    assert {view.first_seen_ms for view in seen} == {first}
    for before, after in itertools.pairwise(seen):
        assert after.version >= before.version
        assert after.counters.partition_seconds >= before.counters.partition_seconds
        assert sum(after.counters.completed.values()) >= sum(before.counters.completed.values())
    assert (seen[0].group_type, seen[len(THERE)].group_type) == (GroupType.CLASSIC, GroupType.CONSUMER)
    assert seen[-1].group_type is GroupType.CLASSIC
    assert seen[-1].counters.assign_errors == 0  # members report
    feed(tracker, tick(60_000))
    assert sum(tracker.view("g").counters.completed.values()) == 7


def test_the_group_is_never_gone_or_empty_during_the_migration():
    tracker, _ = followed(*CLASSIC)
    for observation in (*THERE, *ALL_NEW, *BACK):
        feed(tracker, observation)
        assert tracker.groups() == ["g"]
        assert tracker.view("g").state is not GroupState.EMPTY, observation


def test_the_migration_back_begins_with_the_deletion_of_the_consumer_group():
    tracker, _ = followed(*CLASSIC, *THERE, *ALL_NEW, *BACK[:-1])
    assert tracker.view("g").state is GroupState.PREPARING_REBALANCE
    (event,) = closing(feed(tracker, BACK[-1], tick(59_000)))
    assert (event.phases.started_ms, event.phases.started_evidence) == (T0 + 50_000, Evidence.RECORD)
    assert (event.moved, event.stall.lower_seconds) == (2, 0.17)


def test_unsettled_episodes_settle_in_time_after_the_migration():
    tracker, events = followed(*CLASSIC, *THERE, settle_ms=15_000)
    assert triggers(events) == [Trigger.GROUP_STARTED, Trigger.MEMBER_JOINED]
    events = feed(tracker, left("a", 8_990, 2, received=23_000), tick(36_000))
    assert triggers(events) == [Trigger.MEMBER_LEFT, Trigger.MEMBER_JOINED]


def test_a_group_that_migrated_without_members_starts_again():
    offline = [record(15_000, 4), *THERE[:1], *THERE[6:7], fact(20_000, GroupEpoch(1)), target(20_000, "n", 0, 1, 2, 3)]
    offline += [fact(20_000, TargetEpoch(1)), current(20_000, "n", 1, (0, 1, 2, 3)), tick(30_000)]
    tracker, events = followed(*CLASSIC, *offline)
    assert facts(events)[-1] == (GroupType.CONSUMER, 1, 4, Trigger.GROUP_STARTED)
    assert closing(events)[-1].migrated_from is GroupType.CLASSIC
    assert tracker.view("g").counters.completed[Trigger.GROUP_STARTED] == 2


def test_an_empty_consumer_group_whose_next_member_is_classic_starts_again():
    emptied = [*gone(25_000, "b"), *gone(25_000, "n")]
    again = [record(30_000, 0), record(33_000, 1, member("c", (0, 1, 2, 3))), tick(40_000)]
    _, events = followed(*CLASSIC, *THERE, *emptied, fact(25_000, GroupEpoch(5)), *deleted(30_000), *again)
    assert facts(events)[-1] == (GroupType.CLASSIC, 1, 5, Trigger.GROUP_STARTED)
    assert not any(isinstance(each, GroupGoneEvent) for each in events)
    assert closing(events)[-1].phases.started_ms == T0 + 30_000


def test_a_static_member_that_returns_with_the_other_protocol_is_replaced():
    classic = [record(1_000, 0), record(1_010, 1, member("a", (0, 1, 2, 3), instance="i"))]
    there = [
        tombstone(20_000),
        joins(20_000, "a", instance_id="i", classic=True),
        fact(20_000, GroupEpoch(1)),
        target(20_000, "a", 0, 1, 2, 3),
        fact(20_000, TargetEpoch(1)),
        current(20_000, "a", 1, (0, 1, 2, 3)),
        *gone(20_000, "a"),
        joins(20_000, "b", instance_id="i"),
        target(20_000, "b", 0, 1, 2, 3),
        current(20_000, "b", 1, (0, 1, 2, 3)),
    ]
    _, events = followed(*classic, *there, tick(30_000))
    assert facts(events)[-1] == (GroupType.CONSUMER, 1, 1, Trigger.MEMBER_REPLACED)


def test_a_deleted_group_is_reported_once_and_its_counters_restart():
    tracker, events = followed(*CLASSIC, record(15_000, 4), tombstone(16_000), tick(18_000))
    assert [type(each) for each in events[-1:]] == [GroupGoneEvent]
    assert tracker.view("g") is None
    again = [joins(20_000, "n"), fact(20_000, GroupEpoch(1)), target(20_000, "n", 0), fact(20_000, TargetEpoch(1))]
    events = feed(tracker, *again, current(20_000, "n", 1, (0,)), tick(30_000))
    assert facts(events) == [(GroupType.CONSUMER, 1, None, Trigger.GROUP_STARTED)]
    assert sum(tracker.view("g").counters.completed.values()) == 1


def test_a_group_recreated_right_after_its_deletion_is_another_one():
    tracker, events = followed(
        *CLASSIC, record(15_000, 4), tombstone(16_000), record(16_005, 0), record(16_500, 1, member("z", (0,)))
    )
    assert [type(each) for each in events[-1:]] == [GroupGoneEvent]
    assert triggers(feed(tracker, tick(30_000))) == [Trigger.GROUP_STARTED]


def test_a_late_tombstone_of_the_other_type_changes_nothing():
    tracker, _ = followed(*CLASSIC, *THERE)
    assert feed(tracker, tombstone(20_000), tick(22_000)) != []
    assert feed(tracker, tombstone(25_000), tick(40_000)) == []
    assert tracker.view("g").group_type is GroupType.CONSUMER


def test_polls_show_the_rebalance_after_the_migration_back():
    tracker, _ = followed(*CLASSIC, *THERE, *ALL_NEW, *BACK[:-1], listed(50_100, "g"))
    assert tracker.view("g").running.started_ms == T0 + 50_000


def epoch(at, number, *members):
    """All ``members`` reach that epoch, with one partition each."""
    return [
        fact(at, GroupEpoch(number)),
        *(target(at, name, index) for index, name in enumerate(members)),
        fact(at, TargetEpoch(number)),
        *(current(at, name, number, (index,)) for index, name in enumerate(members)),
    ]


def restarted(at, name):
    """The process of ``name`` returns with the consumer protocol: the same client id, another member id."""
    return fact(at, EpochMember(f"client-{name}", "/10.0.0.1", topics=("t",)), f"{name}-new")


def test_half_of_a_migration_with_restarts_of_each_member_is_one_rollout():
    a, b, c = (member(name, (index,)) for index, name in enumerate("abc"))
    tracker, events = followed(
        record(1_000, 1, a, b, c),
        record(20_000, 2, b, c),
        tombstone(30_000),
        joins(30_000, "b", classic=True),
        joins(30_000, "c", classic=True),
        *epoch(30_000, 2, "b", "c"),
        restarted(30_000, "a"),
        *epoch(30_000, 3, "a-new", "b", "c"),
        *gone(50_000, "b"),
        *epoch(50_000, 4, "a-new", "c"),
        restarted(60_000, "b"),
        *epoch(60_000, 5, "a-new", "b-new", "c"),
        *gone(80_000, "c"),
        *epoch(80_000, 6, "a-new", "b-new"),
        restarted(90_000, "c"),
        *epoch(90_000, 7, "a-new", "b-new", "c-new"),
        tick(100_000),
    )
    (rollout,) = [each for each in events if isinstance(each, RolloutEvent)]
    assert (rollout.members, rollout.members_replaced) == (3, 3)
    assert (rollout.first_generation, rollout.last_generation) == (2, 7)
    assert tracker.view("g").rollout_in_progress


def test_a_group_that_migrates_with_its_members_is_no_rollout():
    _, events = followed(*CLASSIC, *THERE, *ALL_NEW, *BACK, *END)
    assert not [each for each in events if isinstance(each, RolloutEvent)]
