"""The start of groups with broker-side assignment, and topics that grow faster than they are polled."""

from __future__ import annotations

from dataclasses import replace

from rebalance_agent.model.episode import Basis, Trigger
from rebalance_agent.model.epoch_groups import (
    CurrentAssignment,
    EpochMember,
    GroupEpoch,
    MemberState,
    MemberTarget,
    Topology,
)
from rebalance_agent.model.epoch_groups import TargetEpoch as Target
from rebalance_agent.model.group import GroupType
from rebalance_agent.tracking.epoch import buffered_records as early_module
from rebalance_agent.tracking.observations import Backfilled, EpochRecord
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.tracking import T0, WHOLE, closing, feed, tick, topics

ID = "xNisCZDKRhC5aWJ3a-s-yA"


def fact(at, group_type, value, subject=""):
    return EpochRecord("g", T0 + at, T0 + at + 3, group_type, type(value), value, subject)


def epoch(at, group_type, number, numbers, *more):
    """One member reaches an epoch in which it has these partitions."""
    has = {ID: tuple(numbers)} if numbers else {}
    return [
        fact(at, group_type, EpochMember("client", "/10.0.0.1", topics=("t",)), "a"),
        *(fact(at, group_type, each) for each in more),
        fact(at, group_type, GroupEpoch(number)),
        fact(at, group_type, MemberTarget(has), "a"),
        fact(at, group_type, Target(number)),
        fact(at, group_type, CurrentAssignment(number, number - 1, MemberState.STABLE, has), "a"),
    ]


def followed(*observations, sizes):
    tracker = Tracker("cluster", settle_ms=1_000)
    seen = topics(0, **sizes)
    named = type(seen)(seen.at_ms, seen.partitions, {"t": ID})
    return feed(tracker, WHOLE, named, *observations)


def test_a_share_group_without_an_initial_assignment_starts_once_and_is_stalled_until_then():
    started = [*epoch(1_000, GroupType.SHARE, 2, ()), *epoch(3_500, GroupType.SHARE, 3, range(4))]
    events = followed(*started, tick(9_000), sizes={"t": 4})
    (event,) = closing(events)
    assert [each.generation for each in events] == [2, 3]
    assert (event.causes, event.followups, event.moved) == ((Trigger.GROUP_STARTED,), 1, 0)
    assert (event.stall.seconds, event.stall.partition_seconds, event.stall.basis) == (2.5, 10.0, Basis.BOUND)


def test_a_group_whose_topic_does_not_exist_does_not_wait_for_it():
    events = followed(*epoch(1_000, GroupType.SHARE, 2, ()), tick(9_000), sizes={"other": 1})
    assert [each.causes for each in closing(events)] == [(Trigger.GROUP_STARTED,)]


def test_partitions_beyond_the_known_size_of_a_topic_exist():
    grown = [*epoch(1_000, GroupType.CONSUMER, 2, range(4)), *epoch(5_000, GroupType.CONSUMER, 3, range(6))]
    events = closing(followed(*grown, tick(9_000), sizes={"t": 4}))
    assert [event.causes for event in events] == [(Trigger.GROUP_STARTED,), (Trigger.PARTITIONS_CHANGED,)]
    assert events[-1].members[0].assigned == {"t": (0, 1, 2, 3, 4, 5)}
    assert (events[-1].assigned, events[-1].noop) == (2, False)


def test_a_task_beyond_the_size_of_one_of_its_topics_belongs_to_the_larger_ones():
    topology = Topology({ID: ("small", "large")})
    events = followed(
        *epoch(1_000, GroupType.STREAMS, 2, range(4), topology), tick(9_000), sizes={"small": 2, "large": 4}
    )
    assert closing(events)[-1].members[0].assigned == {"large": (0, 1, 2, 3), "small": (0, 1)}


def test_the_stop_of_a_removed_member_is_unknown():
    one, kind = range(4), GroupType.CONSUMER
    joins = fact(9_000, kind, EpochMember("other", "/10.0.0.2", topics=("t",)), "b")
    gone = [
        EpochRecord("g", T0 + 9_000, T0 + 9_003, kind, each, None, "a") for each in (CurrentAssignment, EpochMember)
    ]
    other = [
        fact(9_000, kind, GroupEpoch(3)),
        fact(9_500, kind, Target(3)),
        fact(10_000, kind, CurrentAssignment(3, 2, MemberState.STABLE, {ID: tuple(one)}), "b"),
    ]
    stall = closing(followed(*epoch(1_000, kind, 2, one), joins, *gone, *other, tick(20_000), sizes={"t": 4}))[-1].stall
    # It may have left at that moment, or failed right after its last sign of life, 8 s before: its session lasts 45 s.
    assert (stall.lower_seconds, stall.seconds, stall.partition_seconds) == (1.0, 9.0, 4.0)


def test_a_member_with_the_classic_protocol_may_have_stopped_when_the_rebalance_began():
    kind = GroupType.CONSUMER
    classic = fact(1_000, kind, EpochMember("client", "/10.0.0.1", topics=("t",), classic=True), "a")
    joined = [
        fact(5_000, kind, EpochMember("other", "/10.0.0.2", topics=("t",)), "b"),
        fact(5_000, kind, GroupEpoch(3)),
        fact(5_000, kind, Target(3)),
        fact(7_000, kind, CurrentAssignment(3, 2, MemberState.STABLE, {ID: (0, 1)}), "a"),
        fact(7_500, kind, CurrentAssignment(3, 0, MemberState.STABLE, {ID: (2, 3)}), "b"),
    ]
    events = followed(*epoch(1_000, kind, 2, range(4)), classic, *joined, tick(20_000), sizes={"t": 4})
    assert (closing(events)[-1].stall.lower_seconds, closing(events)[-1].stall.seconds) == (0.5, 2.5)


def _created(at, *, first=2):
    """A group is created, grows, and its first member leaves."""
    kind = GroupType.CONSUMER
    joins = fact(at + 2_000, kind, EpochMember("other", "/10.0.0.2", topics=("t",)), "b")
    return [
        *epoch(at, kind, first, range(4)),
        joins,
        fact(at + 2_000, kind, GroupEpoch(first + 1)),
        fact(at + 2_000, kind, Target(first + 1)),
        fact(at + 2_100, kind, CurrentAssignment(first + 1, first, MemberState.STABLE, {ID: (0, 1)}), "a"),
        fact(at + 2_200, kind, CurrentAssignment(first + 1, 0, MemberState.STABLE, {ID: (2, 3)}), "b"),
    ]


def _while_reading(*records, old=()):
    """The reports if these records arrive during the backfill of the partition; ``old``: records of the backfill."""
    seen = topics(0, t=4)
    past = [replace(each, live=False) for each in old]
    tracker = Tracker("cluster", settle_ms=1_000)
    reported = feed(tracker, type(seen)(seen.at_ms, seen.partitions, {"t": ID}), *records, *past, tick(4_000))
    return reported, feed(tracker, Backfilled(T0 + 5_000, frozenset({0})), tick(20_000))


def test_a_group_created_during_the_backfill_starts_at_its_end():
    before, after = _while_reading(*_created(1_000))
    assert before == []
    known = followed(*_created(1_000), tick(20_000), sizes={"t": 4})
    # Commits during the backfill are not awaited, because owners are not known yet.
    assert [replace(event, stall=None) for event in after] == [replace(event, stall=None) for event in known]
    assert [event.trigger for event in closing(after)] == [Trigger.GROUP_STARTED, Trigger.MEMBER_JOINED]


def test_records_of_an_earlier_group_with_the_same_name_do_not_make_a_group_old():
    ended = EpochRecord("g", T0 + 500, T0 + 500, GroupType.CONSUMER, EpochMember, None, "c")
    _, after = _while_reading(*_created(1_000), old=[ended])
    assert [event.trigger for event in closing(after)] == [Trigger.GROUP_STARTED, Trigger.MEMBER_JOINED]


def test_rebalances_of_an_older_group_during_the_backfill_are_not_reported():
    old = fact(500, GroupType.CONSUMER, EpochMember("third", "/10.0.0.3", topics=("t",)), "c")
    assert _while_reading(*_created(1_000), old=[old]) == ([], [])
    assert _while_reading(*_created(1_000, first=3)) == ([], [])
    migrated = fact(900, GroupType.CONSUMER, EpochMember("client", "/10.0.0.1", topics=("t",), classic=True), "c")
    assert _while_reading(migrated, *_created(1_000)) == ([], [])


def test_records_of_a_group_that_may_be_new_are_kept_up_to_a_bound(monkeypatch):
    monkeypatch.setattr(early_module, "BUFFERED_MAX", 5)
    assert _while_reading(*_created(1_000)) == ([], [])
