from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.clock import FakeClock
from rebalance_agent.offsets_topic.snapshots.coverage import Coverage
from rebalance_agent.offsets_topic.snapshots.snapshot_schedule import EVERY_S, SnapshotSchedule
from rebalance_agent.tracking.observations import Backfilled, PartitionsOwned, TailReached
from support.observer.fakes import Calls, generation_event
from support.tracker.tracking import record


@dataclass
class Published:
    queued: int = 0
    completed: int = 0


class Keeping:
    def __init__(self, *, progress=None):
        self.unsettled, self.clock, self.store, self.progress = set(), FakeClock(), Calls(), progress
        coverage = Coverage(self.unsettled.__contains__)
        self.keeper = SnapshotSchedule(self.store, coverage, progress, self.clock)

    def reached(self, position, after_s=EVERY_S):
        self.clock.advance(round(after_s * 1000))
        self.keeper.on_observation(TailReached(self.clock.now_ms(), {0: position}))
        return [positions for (positions,) in self.store.of("cover")]


def test_settled_records_are_covered_at_once_and_then_every_few_seconds():
    keeping = Keeping()
    assert keeping.reached(5) == [{0: 5}]
    assert keeping.reached(6, 1) == [{0: 5}]
    assert keeping.reached(9, EVERY_S) == [{0: 5}, {0: 9}]


def test_a_snapshot_waits_until_all_queued_events_are_published():
    keeping = Keeping(progress=Published(queued=3, completed=2))
    assert keeping.reached(5) == []
    keeping.progress.queued, keeping.progress.completed = 9, 2
    assert keeping.reached(8) == []
    keeping.progress.completed = 3
    assert keeping.reached(9) == [{0: 5}]


def test_unsettled_records_are_not_covered():
    keeping = Keeping()
    keeping.unsettled.add("g")
    observation = record(1, 1)
    keeping.keeper.on_observation(observation)
    assert keeping.reached(5) == [{0: observation.offset}]
    keeping.unsettled.clear()
    keeping.keeper.on_event(generation_event(timestamp_ms=observation.timestamp_ms))
    assert keeping.reached(6)[-1] == {0: 6}


def test_groups_of_other_replicas_do_not_delay_the_snapshot():
    keeping = Keeping()
    keeping.unsettled.add("g")
    keeping.keeper.on_observation(record(1, 1))
    keeping.keeper.on_observation(PartitionsOwned(0, frozenset({1}), 2))
    assert keeping.reached(5) == [{0: 5}]


def test_a_newly_complete_partition_is_covered_at_once():
    keeping = Keeping()
    keeping.reached(5)
    keeping.keeper.on_observation(Backfilled(0, frozenset({1})))
    assert keeping.reached(6, 1) == [{0: 5}, {0: 6}]


def test_acknowledgements_are_processed_in_between():
    keeping = Keeping()
    keeping.reached(5)
    keeping.reached(6, 1)
    assert len(keeping.store.of("serve")) == 2


def test_at_the_end_everything_reached_is_covered_independent_of_the_interval():
    keeping = Keeping(progress=Published())
    keeping.reached(5)
    keeping.reached(6, 1)
    keeping.keeper.end({0})
    assert keeping.store.of("cover")[-1] == ({0: 6},)


def test_at_the_end_records_with_unpublished_events_are_not_covered():
    keeping = Keeping(progress=Published(queued=3, completed=2))
    keeping.reached(5)
    keeping.progress.queued = 4
    keeping.keeper.end({0})
    assert keeping.store.of("cover") == []
    keeping.progress.completed = 3
    keeping.keeper.end({0})
    assert keeping.store.of("cover") == [({0: 5},)]


def test_at_the_end_partitions_of_other_replicas_are_not_covered():
    keeping = Keeping(progress=Published())
    keeping.reached(5)
    keeping.progress.queued = 1
    keeping.reached(6)
    for completed in (0, 1):
        keeping.progress.completed = completed
        keeping.keeper.end({1})
        assert keeping.store.of("cover")[-1] == (({0: 5},) if completed == 0 else ({},))
