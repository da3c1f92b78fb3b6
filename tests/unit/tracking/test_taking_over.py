from __future__ import annotations

from dataclasses import replace

from rebalance_agent.groupprotocol.coordinator_partition import offsets_partition
from rebalance_agent.model.events import AbortedEvent
from rebalance_agent.tracking.observations import PartitionsOwned
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.tracking import T0, WHOLE, closing, feed, listed, member, record, tick, topics, watch

A, B = member("a", (0, 1)), member("b", (2, 3))
ALL = member("a", (0, 1, 2, 3))


def base(observation):
    """A record from a snapshot."""
    return replace(observation, live=False, replayed=True)


def again(observation, **more):
    """A record read after the snapshot."""
    return replace(observation, replayed=True, **more)


def test_records_read_again_are_reported_but_not_counted():
    tracker, events = watch(topics(0, t=4), base(record(1, 1, ALL)), again(record(50, 2, A, B)), tick(60_000))
    (event,) = closing(events)
    assert event.generation == 2
    assert event.moved == 2
    assert sum(tracker.view("g").counters.completed.values()) == 0
    feed(tracker, record(70_000, 3, ALL), tick(90_000))
    assert sum(tracker.view("g").counters.completed.values()) == 1


def test_a_missing_number_after_a_snapshot_is_an_aborted_rebalance():
    tracker, events = watch(base(record(1, 1, ALL)), again(record(50, 3, A, B)), tick(60_000))
    assert [event.generation for event in events if isinstance(event, AbortedEvent)] == [2]
    assert tracker.view("g").counters.aborted == 0


def test_a_missing_number_after_possible_compaction_is_no_aborted_rebalance():
    _, events = watch(base(record(1, 1, ALL)), again(record(50, 3, A, B), gap_offset=0), tick(60_000))
    assert not [event for event in events if isinstance(event, AbortedEvent)]


def test_an_old_record_affects_neither_the_clock_nor_later_polls():
    late = again(record(50, 2, A, B), seen_ms=T0 + 600_000)
    tracker, _ = watch(base(record(1, 1, ALL)), listed(599_000), listed(599_500, "g"), late)
    assert tracker.view("g").running is not None
    events = feed(tracker, record(600_300, 3, ALL, joined=600_290), tick(700_000))
    first, second = closing(events)
    assert first.phases.started_ms is None
    assert T0 + 599_000 <= second.phases.started_ms <= T0 + 599_500


def test_groups_of_other_partitions_are_removed_without_events():
    names = [f"g{number}" for number in range(20)]
    kept = {name for name in names if offsets_partition(name, 4) in (1, 2)}
    tracker, _ = watch(*(record(number, 1, ALL, group=name) for number, name in enumerate(names)))
    tracker.changed()
    assert not feed(tracker, PartitionsOwned(T0 + 100, frozenset({1, 2}), 4))
    assert set(tracker.groups()) == kept
    assert tracker.changed() == set(names) - kept
    assert all(tracker.view(name) is None for name in set(names) - kept)
    assert not [event for event in feed(tracker, tick(60_000)) if event.group not in kept]


def test_counters_of_a_returning_group_start_at_zero():
    owned, none = PartitionsOwned(T0, frozenset({0}), 1), PartitionsOwned(T0, frozenset(), 1)
    tracker, _ = watch(owned, WHOLE, record(1, 1, ALL), record(9, 2, A, B), tick(60_000))
    assert sum(tracker.view("g").counters.completed.values()) > 0
    feed(tracker, none, owned, base(record(9, 2, A, B)))
    assert sum(tracker.view("g").counters.completed.values()) == 0


def test_polls_before_a_takeover_are_no_evidence_for_new_groups():
    tracker = Tracker("cluster")
    feed(tracker, listed(900), PartitionsOwned(T0 + 1_000, frozenset({0}), 1), base(record(1, 1, ALL)))
    (event,) = closing(feed(tracker, record(1_500, 2, A, B, joined=1_490), tick(60_000)))
    assert event.phases.started_ms is None
