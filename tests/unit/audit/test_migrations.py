"""A group that migrates to the consumer protocol and back is one group; repeated facts count once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.model.epoch_groups import GroupEpoch, TargetEpoch
from support.observer.posted import ledger_of, posted
from support.tracker.epochs import ID, current, deleted, fact, gone, joins, named, target
from support.tracker.tracking import WHOLE, member, record, tick, tombstone, watch

CLASSIC = [
    record(0, 0),
    record(1_000, 1, member("a", (0, 1, 2, 3))),
]
THERE = [
    tombstone(20_000),
    joins(20_000, "a"),
    fact(20_000, GroupEpoch(1)),
    target(20_000, "a", 0, 1, 2, 3),
    fact(20_000, TargetEpoch(1)),
    current(20_000, "a", 1, (0, 1, 2, 3)),
    joins(20_000, "b"),
    fact(20_000, GroupEpoch(2)),
    target(20_000, "a", 0, 1),
    target(20_000, "b", 2, 3),
    fact(20_000, TargetEpoch(2)),
    current(20_100, "a", 2, (0, 1)),
    current(20_200, "b", 2, (2, 3)),
]
BACK = [
    *gone(40_000, "a"),
    *gone(40_000, "b"),
    *deleted(40_000),
    record(40_000, 2, member("a", (0, 1)), member("b", (2, 3))),
    record(41_000, 3, member("a", (0, 1, 2, 3))),
]
ALL = [*CLASSIC, *THERE, *BACK]
NEXT = len(CLASSIC) + len(THERE)
REPEATED = len(ALL) - 2
"""Offsets of the first record of the migration back, and of the record that only repeats the group."""


def reported(observations=ALL):
    _, events = watch(named(t=4), WHOLE, *observations, tick(400_000), settle_ms=1_000)
    return events


def report(events, offsets=None):
    offsets = range(len(ALL)) if offsets is None else offsets
    return ledger_of(events, [posted(ALL[each], each) for each in offsets], names={ID: "t"})


def said(found):
    return [(each.number, each.what) for each in found.differences]


def test_each_rebalance_is_one_fact_in_either_type_and_the_group_is_never_deleted():
    events = reported()
    assert [(each.generation, str(each.group_type)) for each in events] == [
        (1, "classic"),
        (2, "consumer"),
        (3, "classic"),
    ]
    found = report(events)
    assert (said(found), found.agreed, found.unjudged) == ([], 3, {})


@pytest.mark.parametrize("left_out", range(3))
def test_an_unreported_rebalance_is_missing(left_out):
    events = reported()
    (found,) = said(report([each for each in events if each is not events[left_out]]))
    assert found[0] == events[left_out].generation
    assert "has no event" in found[1]


def test_moves_across_a_migration_are_compared():
    first, right, last = reported()
    (found,) = said(report([first, replace(right, moved=right.moved + 1), last]))
    assert found == (2, f"epoch 2: moved is {right.moved} in the records, {right.moved + 1} in the event")


@pytest.mark.parametrize(
    "offsets",
    [
        range(REPEATED, len(ALL)),  # no record of the consumer group remains
        [NEXT - 1, *range(NEXT, len(ALL))],  # its last record and its tombstone remain
        [*range(4, NEXT, 3), *range(NEXT, len(ALL))],  # too few of its records remain
        [0, *range(REPEATED, len(ALL))],
    ],
    ids=["nothing", "end", "some", "gap"],
)
def test_a_record_that_may_only_repeat_the_group_need_not_be_reported(offsets):
    found = report(reported(), offsets)
    assert said(found) == []


def test_a_first_generation_that_repeats_a_first_epoch_need_not_be_reported():
    observations = [
        joins(0, "a"),
        fact(0, GroupEpoch(1)),
        target(100, "a", 0, 1, 2, 3),
        fact(100, TargetEpoch(1)),
        current(200, "a", 1, (0, 1, 2, 3)),
        *gone(40_000, "a"),
        *deleted(40_000),
        record(40_000, 1, member("a", (0, 1, 2, 3))),
    ]
    events = reported(observations)
    assert [str(each.group_type) for each in events] == ["consumer"]
    last = len(observations) - 1
    found = ledger_of(events, [posted(observations[last], last)], names={ID: "t"})
    assert (said(found), found.agreed) == ([], 0)
