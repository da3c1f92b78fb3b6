"""Groups with broker-side assignment, audited from their records only."""

from __future__ import annotations

from dataclasses import replace

from rebalance_agent.audit.expected.epoch_entries import EpochEntries
from rebalance_agent.model.epoch_groups import EpochMember, GroupEpoch, MemberState, TargetEpoch
from rebalance_agent.model.group import GroupType
from rebalance_agent.tracking.observations import Tick
from rebalance_agent.tracking.tracker import Tracker
from support.observer.posted import ledger_of, posted
from support.tracker.epochs import ID, current, fact, gone, joins, named, target
from support.tracker.tracking import T0, WHOLE, feed, record

STARTED = [
    joins(0, "a"),
    fact(0, GroupEpoch(2)),
    target(100, "a", 0, 1, 2, 3),
    fact(100, TargetEpoch(2)),
    current(200, "a", 2, (0, 1, 2, 3)),
]
JOINED = [
    joins(1_000, "b"),
    fact(1_000, GroupEpoch(3)),
    target(1_100, "a", 0, 1),
    target(1_100, "b", 2, 3),
    fact(1_100, TargetEpoch(3)),
    current(1_500, "a", 2, (0, 1), (2, 3), MemberState.UNREVOKED),
    current(2_000, "a", 3, (0, 1)),
    current(5_000, "b", 3, (2, 3)),
]


def reported(observations):
    tracker = Tracker("cluster", settle_ms=1_000)
    return feed(tracker, named(t=4), WHOLE, *observations, Tick(T0 + 60_000))


def report(events, observations):
    records = [posted(each, offset) for offset, each in enumerate(observations)]
    return ledger_of(events, records, names={ID: "t"})


def report_at(events, observations, offsets):
    records = [posted(*each) for each in zip(observations, offsets, strict=True)]
    return ledger_of(events, records, names={ID: "t"})


def entries(observations):
    book = EpochEntries("g", GroupType.CONSUMER)
    return [
        entry
        for each in observations
        for entry in book.take(each.kind, each.subject, each.value, each.timestamp_ms, posted(each, 0).position)
    ]


def test_an_epoch_is_reached_by_its_last_member():
    assert [(each.number, each.at_ms - T0) for each in entries(STARTED + JOINED)] == [(2, 200), (3, 5_000)]
    assert entries(STARTED + JOINED[:-1])[-1].number == 2


def test_the_records_show_how_long_a_partition_had_no_owner():
    assert [each.unowned_ms for each in entries(STARTED + JOINED)] == [0, 3_000]


def test_a_reported_stall_shorter_than_the_time_without_an_owner_is_wrong():
    events = reported(STARTED + JOINED)
    assert report(events, STARTED + JOINED).clean
    assert events[-1].stall.seconds >= 3
    stall = replace(events[-1].stall, lower_seconds=1.0, seconds=2.0)
    (difference,) = report([*events[:-1], replace(events[-1], stall=stall)], STARTED + JOINED).differences
    assert difference.what == "epoch 3: a partition had no owner for 3.0 s, but its stall is at most 2.0 s"


def test_an_absent_static_member_is_not_awaited_and_its_return_is_a_fact():
    static = EpochMember("client-a", "/10.0.0.1", instance_id="one", topics=("t",))
    there = [
        fact(0, static, "a"),
        fact(0, GroupEpoch(2)),
        target(100, "a", 0, 1),
        fact(100, TargetEpoch(2)),
        current(200, "a", 2, (0, 1)),
    ]
    back = [
        current(1_000, "a", -2, (0, 1)),
        *gone(2_000, "a"),
        fact(2_000, static, "z"),
        target(2_000, "z", 0, 1),
        current(2_000, "z", 2, (0, 1)),
    ]
    assert [(each.number, each.returned, each.unowned_ms) for each in entries(there + back)] == [
        (2, (), 0),
        (2, ("z",), 1_000),
    ]
    events = reported(there + back)
    assert [each.event_id for each in events] == [each.event_id("cluster") for each in entries(there + back)]
    assert report(events, there + back).clean


def other(at, generation):
    """A record of another group in the same partition, whose key shows how far the partition may have been cleaned."""
    return record(at, generation, group="other")


def test_a_group_created_after_possible_compaction_is_judged_from_its_beginning():
    observations = [other(0, 0), other(50, 0), *STARTED]
    events = reported(STARTED)
    offsets = range(7, 7 + len(observations))
    assert report_at(events, observations, offsets).agreed == len(events) == 1
    (difference,) = report_at([], observations, offsets).differences
    assert difference.what == "epoch 2 has no event"


def test_a_group_created_before_possible_compaction_is_not_judged_from_its_beginning():
    observations = [other(0, 0), *STARTED]
    found = report_at([], observations, range(7, 7 + len(observations)))
    assert (found.clean, found.unjudged) == (True, {"whose preceding records were compacted away": 1})


def test_an_observer_that_starts_during_the_first_rebalance_reports_no_stall():
    """It observes the start of the next epoch, but no earlier records."""
    there = [replace(each, live=False) for each in STARTED[:2]]
    observations = [
        *there,
        *[fact(90, GroupEpoch(3)), *STARTED[2:3], fact(100, TargetEpoch(3))],
        current(200, "a", 3, (0,)),
    ]
    tracker = Tracker("cluster", settle_ms=1_000)
    began = [*there, WHOLE, *observations[2:], Tick(T0 + 60_000)]
    events = feed(tracker, named(t=4), *began)
    assert [(each.previous_generation, each.stall, each.phases.started_ms) for each in events] == [
        (None, None, T0 + 90)
    ]
    assert report(events, observations).clean


def test_partitions_of_an_absent_member_are_unknown_after_possible_compaction():
    """The record of its assignment, and so of the partitions that it had when the epoch was reached, is gone."""
    observations = [
        other(0, 0),
        *STARTED,
        current(500, "a", -2, (0, 1, 2, 3)),
        *gone(900, "a"),
        fact(900, GroupEpoch(3)),
        fact(1_000, TargetEpoch(3)),
    ]
    events = reported(observations)
    (first, second) = (event for event in events if event.group == "g")
    assert (first.assigned, second.revoked) == (4, 4)
    left = [(offset, each) for offset, each in enumerate(observations) if each is not STARTED[0]]
    records = [posted(each, offset) for offset, each in left]
    assert list(map(str, ledger_of(events, records, names={ID: "t"}).differences)) == []
