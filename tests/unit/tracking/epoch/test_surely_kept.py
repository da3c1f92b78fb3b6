"""Epochs of assigned partitions show what members kept while records were removed unread (KIP-1251)."""

from dataclasses import replace

import pytest

from rebalance_agent.model.epoch_groups import (
    CurrentAssignment,
    EpochMember,
    GroupEpoch,
    MemberTarget,
    TargetEpoch,
    Topology,
)
from rebalance_agent.model.group import GroupType
from rebalance_agent.tracking.observations import EpochRecord
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.epochs import ID, current, fact, group_of_two, joins, target
from support.tracker.tracking import closing, committed, feed, tick

BEFORE = group_of_two((0, 1), (2, 3))
BOTH_TYPES = pytest.mark.parametrize("group_type", [GroupType.CONSUMER, GroupType.STREAMS])


def of_type(group_type, observations):
    """The observations of the same group with this type. A streams group has a task for each partition of t."""
    if group_type is GroupType.CONSUMER:
        return observations
    return [as_tasks(each) if isinstance(each, EpochRecord) else each for each in observations]


def as_tasks(record):
    fields = {}
    if isinstance(record.value, EpochMember):
        fields = {"topics": (), "process": "p"}
    elif isinstance(record.value, CurrentAssignment | MemberTarget):
        fields = {"assigned": by_subtopology(record.value.assigned)}
    if isinstance(record.value, CurrentAssignment):
        fields["assigned_in"] = by_subtopology(record.value.assigned_in)
    return replace(record, value=replace(record.value, **fields), group_type=GroupType.STREAMS)


def by_subtopology(of_topics):
    return {"0": of_topics[ID]} if of_topics else {}


def before(group_type):
    """The group before the gap. Kafka records the topology of a streams group before the first epoch."""
    whole, topics, *records = of_type(group_type, BEFORE)
    topology = fact(1_000, Topology({"0": ("t",)}, 1), group_type=GroupType.STREAMS)
    return [whole, topics, *([topology] if group_type is GroupType.STREAMS else []), *records]


def stays(at, name, epoch, numbers, since):
    """The current assignment of a member, whose partitions came to it in the epochs ``since``."""
    record = current(at, name, epoch, numbers)
    return replace(record, value=replace(record.value, assigned_in={ID: since}))


def idle_member_joins(epoch=3, since=2, **b):
    """What compaction left: c joined without partitions; those of b came to it in epoch ``since``."""
    return [
        fact(90_000, GroupEpoch(epoch)),
        joins(90_000, "c"),
        *([joins(90_000, "b", **b)] if b else []),
        target(90_000, "c"),
        fact(90_000, TargetEpoch(epoch)),
        stays(90_100, "a", epoch, (0, 1), (2, 2)),
        stays(90_100, "b", epoch, (2, 3), (2, since)),
        current(90_200, "c", epoch),
    ]


def after_gap(records, **fields):
    return [replace(each, replayed=True, gap_offset=0, **fields) for each in records]


def stall_of(group_type, left):
    observations = [*before(group_type), *of_type(group_type, left), tick(200_000)]
    (*_, event) = closing(feed(Tracker("cluster", settle_ms=1_000), *observations))
    assert event.group_type is group_type
    return event.stall


@BOTH_TYPES
def test_nothing_stood_still_where_every_partition_is_of_an_older_epoch(group_type):
    stall = stall_of(group_type, after_gap(idle_member_joins()))
    assert (stall.lower_seconds, stall.seconds) == (0, 0)


def without_epochs(records):
    """The records as brokers before Kafka 4.2 write them."""
    return [
        replace(each, value=replace(each.value, assigned_in={})) if each.kind is CurrentAssignment else each
        for each in records
    ]


@BOTH_TYPES
@pytest.mark.parametrize(
    "left",
    [
        after_gap(without_epochs(idle_member_joins())),
        after_gap(idle_member_joins(since=3)),
        after_gap(idle_member_joins(rebalance_timeout_ms=60_000)),
        after_gap(idle_member_joins(), skipped=1),
        after_gap(idle_member_joins(epoch=4)),
    ],
    ids=["no epochs", "given back", "perhaps in another group of this name", "skipped", "an epoch is missing"],
)
def test_else_the_stall_stays_unknown(left, group_type):
    assert stall_of(group_type, left) is None


@BOTH_TYPES
@pytest.mark.parametrize("recorded", [True, False])
def test_a_partition_kept_over_missing_epochs_was_not_stalled_before_it_is_revoked(recorded, group_type):
    """Without the epochs of the partitions, another member may have had it, and b may never have consumed it since."""
    left = idle_member_joins(epoch=9)
    moved = [
        fact(95_000, GroupEpoch(10)),
        target(95_000, "b", 2),
        target(95_000, "c", 3),
        fact(95_000, TargetEpoch(10)),
        current(95_400, "a", 10, (0, 1)),
        current(95_500, "b", 10, (2,)),
        current(95_800, "c", 10, (3,)),
        committed(96_000, 0, 1, 2, 3),
    ]
    gap = after_gap(left if recorded else without_epochs(left))
    later = of_type(group_type, [committed(3_000, 0, 1, 2, 3), *gap, tick(94_000), *moved, tick(200_000)])
    events = feed(Tracker("cluster", settle_ms=1_000), *before(group_type), *later, commits=False)
    (event,) = (each for each in closing(events) if each.generation == 10)
    assert event.stall.seconds == pytest.approx(0.5 if recorded else 95.0)
