"""Epochs of assigned partitions show what members kept while records were removed unread (KIP-1251)."""

from dataclasses import replace

import pytest

from rebalance_agent.model.epoch_groups import CurrentAssignment, GroupEpoch, TargetEpoch
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.epochs import ID, current, fact, group_of_two, joins, target
from support.tracker.tracking import closing, committed, feed, tick

BEFORE = group_of_two((0, 1), (2, 3))


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


def stall_of(left):
    (*_, event) = closing(feed(Tracker("cluster", settle_ms=1_000), *BEFORE, *left, tick(200_000)))
    return event.stall


def test_nothing_stood_still_where_every_partition_is_of_an_older_epoch():
    stall = stall_of(after_gap(idle_member_joins()))
    assert (stall.lower_seconds, stall.seconds) == (0, 0)


def without_epochs(records):
    """The records as brokers before Kafka 4.4 write them."""
    return [
        replace(each, value=replace(each.value, assigned_in={})) if each.kind is CurrentAssignment else each
        for each in records
    ]


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
def test_else_the_stall_stays_unknown(left):
    assert stall_of(left) is None


@pytest.mark.parametrize("recorded", [True, False])
def test_a_partition_kept_over_missing_epochs_was_not_stalled_before_it_is_revoked(recorded):
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
    tracker = Tracker("cluster", settle_ms=1_000)
    events = feed(
        tracker, *BEFORE, committed(3_000, 0, 1, 2, 3), *gap, tick(94_000), *moved, tick(200_000), commits=False
    )
    (event,) = (each for each in closing(events) if each.generation == 10)
    assert event.stall.seconds == pytest.approx(0.5 if recorded else 95.0)
