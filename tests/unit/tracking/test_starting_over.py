"""A tail that restarts reads known records again: nothing is published twice or goes back in time."""

from __future__ import annotations

from dataclasses import replace

from rebalance_agent.groupprotocol.coordinator_partition import offsets_partition
from rebalance_agent.model.epoch_groups import GroupEpoch, MemberState, TargetEpoch
from rebalance_agent.tracking.observations import Backfilled, GroupVanished, PartitionsOwned
from support.tracker.epochs import current, fact, joins, named, target
from support.tracker.tracking import T0, WHOLE, feed, member, record, tick, tombstone, watch

FIRST = [
    joins(0, "a"),
    fact(0, GroupEpoch(1)),
    target(1, "a", 0, 1, 2, 3),
    fact(1, TargetEpoch(1)),
    current(1, "a", 1, (0, 1, 2, 3)),
]
SECOND = [
    joins(10_000, "b"),
    fact(10_000, GroupEpoch(2)),
    target(10_001, "a", 0, 1),
    target(10_001, "b", 2, 3),
    fact(10_001, TargetEpoch(2)),
    current(10_002, "a", 1, (0, 1), (2, 3), MemberState.UNREVOKED),
    current(10_002, "b", 2, (), state=MemberState.UNRELEASED),
    current(10_500, "a", 2, (0, 1)),
    current(10_900, "b", 2, (2, 3)),
]


def numbered(records):
    return [replace(record, offset=offset) for offset, record in enumerate(records)]


def test_records_observed_before_a_restart_of_the_tail_are_not_reported_again():
    records = numbered(FIRST + SECOND)
    began = [named(), PartitionsOwned(T0, frozenset({0}), 1), WHOLE]
    tracker, events = watch(*began, *records, tick(20_000))
    assert [event.generation for event in events] == [1, 2]
    seen_ms = T0 + 50_000
    base = [replace(each, live=False, replayed=True, seen_ms=seen_ms) for each in records[: len(FIRST)]]
    again = [replace(each, replayed=True, seen_ms=seen_ms) for each in records[len(FIRST) :]]
    before = tracker.view("g")
    owned = [PartitionsOwned(seen_ms, frozenset({0}), 1), *base, Backfilled(seen_ms, frozenset({0}))]
    assert feed(tracker, *owned, *again, tick(60_000)) == []
    after = tracker.view("g")
    assert (after.generation, after.running, after.members) == (2, None, before.members)
    assert after.counters.completed == before.counters.completed


def test_a_group_without_a_record_in_a_complete_reread_is_removed():
    """The topic was recreated, or a tombstone was compacted while no observer ran."""
    names = [f"g{number}" for number in range(8)]
    here = {name: offsets_partition(name, 2) for name in names}
    members = (member("a", (0, 1)),)
    generation = [replace(record(100, 1, *members, group=name), partition=here[name]) for name in names]
    owned = PartitionsOwned(T0, frozenset({0, 1}), 2)
    tracker, _ = watch(owned, *generation, tick(20_000))
    tracker.changed()
    again = replace(owned, at_ms=T0 + 30_000)
    back = [replace(each, seen_ms=T0 + 30_001, live=False) for each in generation[:4]]
    whole = Backfilled(T0 + 30_002, frozenset({0}), anew=True)
    assert feed(tracker, again, *back, whole) == []
    left = {*names[:4], *(name for name in names if here[name] == 1)}
    assert set(tracker.groups()) == left
    assert tracker.changed() == set(names) - left
    assert {here[name] for name in names[4:]} == {0, 1}  # the other partition is not read yet
    assert feed(tracker, Backfilled(T0 + 30_003, frozenset({1}), anew=True), tick(700_000)) == []
    assert set(tracker.groups()) == set(names[:4])


def test_a_group_missing_in_a_snapshot_is_not_removed():
    tracker, _ = watch(PartitionsOwned(T0, frozenset({0}), 1), record(100, 1, member("a", (0,))), tick(20_000))
    feed(tracker, PartitionsOwned(T0 + 30_000, frozenset({0}), 1), Backfilled(T0 + 30_001, frozenset({0})))
    assert list(tracker.groups()) == ["g"]


def test_a_vanished_group_is_removed_without_an_event_and_its_counters_start_again():
    classic = record(100, 1, member("a", (0, 1)), group="classic")
    tracker, _ = watch(WHOLE, named(), *FIRST, classic, tick(20_000))
    tracker.changed()
    for name in ("g", "classic"):
        vanished = GroupVanished(T0 + 30_000, name, tracker.view(name).version)
        assert feed(tracker, replace(vanished, version=vanished.version - 1)) == []
        assert tracker.view(name) is not None
        assert feed(tracker, vanished, vanished) == []
    assert list(tracker.groups()) == []
    assert tracker.changed() == {"g", "classic"}
    assert feed(tracker, tombstone(31_000, group="classic"), tick(40_000)) == []
    again = record(50_000, 2, member("a", (0, 1)), group="classic")
    assert len(feed(tracker, again, tick(60_000))) == 1
    assert tracker.view("classic").first_seen_ms == T0 + 50_000
    assert sum(tracker.view("classic").counters.completed.values()) == 1


def test_a_group_deleted_at_the_moment_is_removed_by_its_tombstone():
    tracker, _ = watch(record(100, 1, member("a", (0, 1))), tick(20_000))
    version = tracker.view("g").version
    events = feed(tracker, tombstone(30_000), GroupVanished(T0 + 30_001, "g", version), tick(40_000))
    assert [event.KIND for event in events] == ["group_gone"]
