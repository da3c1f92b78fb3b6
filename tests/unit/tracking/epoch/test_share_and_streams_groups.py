"""Share groups (KIP-932), where a partition has several members, and a streams group's states (KIP-1071)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.epoch_groups import (
    CurrentAssignment,
    EpochMember,
    GroupEpoch,
    MemberState,
    MemberTarget,
    TargetEpoch,
    Topology,
)
from rebalance_agent.model.group import DeadLetterQueue, GroupState, GroupType
from rebalance_agent.tracking.observations import DeadLetterQueuesSeen
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.epochs import ID, fact, group_of_two, named
from support.tracker.tracking import T0, WHOLE, closing, feed, tick, topics


def share(at, epoch, *, joins=(), leaves=(), **owned):
    """One new epoch of a share group in one batch: its coordinator never waits for members."""
    kind = GroupType.SHARE
    for name in leaves:
        for each in (CurrentAssignment, MemberTarget, EpochMember):
            yield fact(at, None, name, each, group_type=kind)
    for name in joins:
        yield fact(at, EpochMember(f"client-{name}", "/10.0.0.1", topics=("t",)), name, group_type=kind)
    yield fact(at, GroupEpoch(epoch), group_type=kind)
    for name, numbers in owned.items():
        yield fact(at, MemberTarget({ID: numbers}), name, group_type=kind)
    yield fact(at, TargetEpoch(epoch), group_type=kind)
    for name, numbers in owned.items():
        assigned = {ID: numbers} if numbers else {}
        value = CurrentAssignment(epoch, epoch - 1, MemberState.STABLE, assigned)
        yield fact(at, value, name, group_type=kind)


def followed(*observations, **sizes):
    tracker = Tracker("cluster", settle_ms=1_000)
    return tracker, feed(tracker, WHOLE, named(**(sizes or {"t": 2})), *observations, tick(60_000))


ALONE = [*share(1_000, 2, joins="a", a=(0, 1))]
SHARED = [*share(10_000, 3, joins="b", a=(0, 1), b=(0, 1))]


def test_the_dead_letter_queue_is_kept_until_another_one_or_none_is_known():
    tracker, _ = followed(*ALONE)
    assert tracker.view("g").dead_letter_queue is None
    queue, versions = DeadLetterQueue("dlq.g", copies_records=True), []
    for at, queues in enumerate(({"g": queue, "other": queue}, {"g": queue}, {"other": queue}, {"g": None})):
        tracker.changed()
        assert feed(tracker, DeadLetterQueuesSeen(T0 + 61_000 + at, queues)) == []
        view = tracker.view("g")
        versions.append((view.dead_letter_queue, view.version, tracker.changed()))
    base = versions[0][1]
    same = (queue, base, set())
    assert versions == [(queue, base, {"g"}), same, same, (None, base + 1, {"g"})]


def test_the_dead_letter_queue_stays_when_the_members_change():
    tracker, _ = followed(*ALONE)
    queue = DeadLetterQueue("dlq.g", copies_records=False)
    feed(tracker, DeadLetterQueuesSeen(T0 + 61_000, {"g": queue}), *share(70_000, 3, joins="b", a=(0, 1), b=(0, 1)))
    assert (len(tracker.view("g").members), tracker.view("g").dead_letter_queue) == (2, queue)


def test_another_type_of_group_has_no_dead_letter_queue():
    tracker, _ = followed(*ALONE)
    feed(tracker, DeadLetterQueuesSeen(T0 + 61_000, {"g": DeadLetterQueue("dlq.g", copies_records=True)}))
    feed(tracker, *(replace(each, timestamp_ms=T0 + 70_000) for each in group_of_two()[2:]))
    view = tracker.view("g")
    assert (view.group_type, view.dead_letter_queue) == (GroupType.CONSUMER, None)


def test_a_second_member_with_the_same_partitions_moves_and_stalls_nothing():
    tracker, events = followed(*ALONE, *SHARED)
    event = closing(events)[-1]
    assert (event.group_type, event.epoch_kind, event.trigger) == (
        GroupType.SHARE,
        "group_epoch",
        Trigger.MEMBER_JOINED,
    )
    assert (event.moved, event.needed, event.revoked, event.assigned, event.lost) == (0, None, 0, 2, 0)
    assert (event.unassigned, event.noop) == (0, False)
    assert (event.stall.seconds, event.stall.partition_seconds) == (0, 0)
    assert [member.assigned for member in event.members] == [{"t": (0, 1)}, {"t": (0, 1)}]
    view = tracker.view("g")
    assert (view.partitions, view.unassigned, view.idle_members) == (2, 0, 0)


def test_partition_counts_of_a_share_group_are_no_load():
    tracker, events = followed(*ALONE, *share(10_000, 3, joins="b", a=(0, 1), b=(1,)))
    assert (closing(events)[-1].skew_ratio, closing(events)[-1].imbalance) == (None, None)
    view = tracker.view("g")
    assert (view.skew_ratio, view.imbalance, view.topic_spread) == (None, None, ())


def test_a_partition_of_a_share_group_moves_if_none_of_its_members_keeps_it():
    _, events = followed(*ALONE, *SHARED, *share(20_000, 4, leaves="a", joins="c", b=(0,), c=(0, 1)))
    event = closing(events)[-1]
    assert (event.moved, event.revoked, event.assigned) == (1, 2, 2)
    assert event.stall.seconds == 0  # b owned it until it was assigned to c


@pytest.mark.parametrize(("at", "seconds"), [(20_000, 19.0), (50_000, 45.0)])
def test_the_stall_after_the_only_member_left_is_at_most_one_session(at, seconds):
    _, events = followed(*ALONE, *share(at, 3, leaves="a", joins="c", c=(0, 1)))
    stall = closing(events)[-1].stall
    assert (stall.lower_seconds, stall.seconds, stall.partition_seconds) == (0, seconds, 0)


def test_a_member_without_a_partition_is_idle_and_a_partition_without_a_member_unassigned():
    tracker, events = followed(*share(1_000, 2, joins="ab", a=(0,), b=()))
    assert closing(events)[-1].unassigned == 1
    assert (tracker.view("g").idle_members, tracker.view("g").unassigned) == (1, 1)


def test_facts_without_a_record_are_absent():
    _, events = followed(*ALONE)
    (member,) = closing(events)[-1].members
    assert (member.session_timeout_ms, member.rebalance_timeout_ms, member.subscription_version) == (None, None, None)


def streams(at, value, subject=""):
    return fact(at, value, subject, group_type=GroupType.STREAMS)


STREAMS = [
    streams(1_000, EpochMember("client-a", "/10.0.0.1", process="p"), "a"),
    streams(1_000, Topology({"0": ("orders",)}, epoch=1)),
]


@pytest.mark.parametrize(("validated", "state"), [(-1, GroupState.NOT_READY), (0, GroupState.NOT_READY)])
def test_a_streams_group_whose_topics_are_not_as_its_topology_needs_them_is_not_ready(validated, state):
    tracker = Tracker("cluster", settle_ms=1_000)
    feed(tracker, WHOLE, topics(0, orders=2), *STREAMS, streams(1_000, GroupEpoch(2, validated)))
    feed(tracker, streams(1_000, TargetEpoch(2)))
    feed(tracker, streams(1_000, CurrentAssignment(2, 0, MemberState.STABLE, {}), "a"))
    assert tracker.view("g").state is state
    ready = [streams(9_000, GroupEpoch(3, 1)), streams(9_000, MemberTarget({"0": (0, 1)}), "a")]
    feed(tracker, *ready, streams(9_000, TargetEpoch(3)))
    assert tracker.view("g").state is GroupState.RECONCILING
    feed(tracker, streams(9_500, CurrentAssignment(3, 2, MemberState.STABLE, {"0": (0, 1)}), "a"))
    assert tracker.view("g").state is GroupState.STABLE


def test_readiness_follows_from_tasks_if_brokers_do_not_record_it():
    tracker = Tracker("cluster", settle_ms=1_000)
    feed(tracker, WHOLE, topics(0, orders=2), *STREAMS, streams(1_000, GroupEpoch(2)))
    assert tracker.view("g").state is GroupState.NOT_READY
    feed(tracker, streams(1_000, MemberTarget({"0": (0, 1)}), "a"), streams(1_000, TargetEpoch(2)))
    assert tracker.view("g").state is GroupState.RECONCILING


def test_internal_topics_created_by_a_starting_streams_group_are_no_separate_cause():
    tracker = Tracker("cluster", settle_ms=1_000)
    began = [
        streams(1_000, EpochMember("client-a", "/10.0.0.1", process="p"), "a"),
        streams(1_000, Topology({"0": ("orders",), "1": ("repartition",)}, epoch=1)),
        streams(1_000, GroupEpoch(1, -1)),
        streams(1_000, TargetEpoch(1)),
        streams(1_000, CurrentAssignment(1, 0, MemberState.STABLE, {}), "a"),
    ]
    ready = [
        streams(1_600, GroupEpoch(2, 1)),
        streams(1_600, MemberTarget({"0": (0, 1), "1": (0, 1)}), "a"),
        streams(1_600, TargetEpoch(2)),
        streams(1_600, CurrentAssignment(2, 1, MemberState.STABLE, {"0": (0, 1), "1": (0, 1)}), "a"),
    ]
    created = topics(1_400, orders=2, repartition=2)
    (event,) = closing(feed(tracker, WHOLE, topics(0, orders=2), *began, created, *ready, tick(60_000)))
    assert (event.followups, event.causes) == (1, (Trigger.GROUP_STARTED,))


def threads(number, sources, **tasks):
    """A streams group with these members and their tasks: ((subtopology, number), ...)."""
    names = [f"m{place}" for place in range(number)]
    yield from (streams(1_000, EpochMember("client-a", "/10.0.0.1", process=name), name) for name in names)
    yield streams(1_000, Topology(sources, epoch=1))
    yield streams(1_000, GroupEpoch(2, 1))
    assigned = {}
    for name in names:
        held = tasks.get(name, ())
        assigned[name] = {key: tuple(n for other, n in held if other == key) for key in dict(held)}
    yield from (streams(1_000, MemberTarget(assigned[name]), name) for name in names)
    yield streams(1_000, TargetEpoch(2))
    yield from (streams(1_000, CurrentAssignment(2, 0, MemberState.STABLE, assigned[name]), name) for name in names)


WIDE = {"0": tuple(f"in-{number}" for number in range(8)), "1": ("other",)}
"""Eight co-partitioned topics in one subtopology, one topic in another."""

TASKS = [(key, number) for key in WIDE for number in range(4)]


@pytest.mark.parametrize(
    ("members", "tasks", "skew", "imbalance", "idle"),
    [
        (8, {f"m{place}": (task,) for place, task in enumerate(TASKS)}, 1.0, 0, 0),
        (4, {"m0": TASKS[:3], "m1": TASKS[3:5], "m2": TASKS[5:7], "m3": TASKS[7:]}, 1.5, 1, 0),
        (9, {f"m{place}": (task,) for place, task in enumerate(TASKS)}, 1.0, 0, 1),
        (9, {"m0": TASKS[:2], **{f"m{place}": (task,) for place, task in enumerate(TASKS[2:], 1)}}, 2.0, 1, 2),
    ],
    ids=["a task each", "three of two", "more threads than tasks", "two on one, none on two"],
)
def test_the_balance_of_a_streams_group_counts_tasks(members, tasks, skew, imbalance, idle):
    sizes = dict.fromkeys([*WIDE["0"], "other"], 4)
    tracker = Tracker("cluster", settle_ms=1_000)
    events = feed(tracker, WHOLE, topics(0, **sizes), *threads(members, WIDE, **tasks), tick(60_000))
    event, view = closing(events)[-1], tracker.view("g")
    assert (event.skew_ratio, event.imbalance) == (view.skew_ratio, view.imbalance) == (skew, imbalance)
    assert view.unassigned == 0
    assert {member.target for member in view.members} == {None}, "loads are partitions, targets would be tasks"
    assert view.idle_members == idle
