from __future__ import annotations

from dataclasses import replace

from rebalance_agent.offsets_topic.snapshots.coverage import HELD_MAX, SPANS_MAX, Coverage
from support.observer.fakes import generation_event
from support.tracker.tracking import T0, record


class RecordedGroups:
    """A coverage, and the groups that its tracker has not yet reported."""

    def __init__(self):
        self.unsettled = set()
        self.coverage = Coverage(self.unsettled.__contains__)
        self.offset = 0

    def record(self, group, at, *, unsettled=True, partition=0, live=True):
        (self.unsettled.add if unsettled else self.unsettled.discard)(group)
        written = record(at, self.offset, group=group, live=live)
        self.coverage.observed(replace(written, partition=partition, offset=self.offset))
        self.offset += 1

    def reported(self, group, until, *, closes=True, settled=True):
        if settled:
            self.unsettled.discard(group)
        self.coverage.event(generation_event(group=group, timestamp_ms=T0 + until, closes_episode=closes))

    def covered(self, position=None):
        return self.coverage.covered({0: self.offset if position is None else position})[0]


def test_without_unsettled_rebalances_everything_is_covered():
    groups = RecordedGroups()
    groups.record("a", 1, unsettled=False)
    assert groups.covered() == 1


def test_coverage_ends_before_the_oldest_record_of_an_unsettled_rebalance():
    groups = RecordedGroups()
    groups.record("quiet", 1, unsettled=False)
    groups.record("a", 2)
    groups.record("b", 3)
    assert groups.covered() == 1
    groups.reported("a", 2)
    assert groups.covered() == 2
    groups.reported("b", 3)
    assert groups.covered() == 3


def test_a_permanently_rebalancing_group_releases_reported_records():
    groups = RecordedGroups()
    groups.record("a", 1)
    groups.record("a", 10)
    groups.reported("a", 1, settled=False)
    assert groups.covered() == 1
    groups.reported("a", 9, closes=False, settled=False)
    assert groups.covered() == 1


def test_coverage_never_ends_within_a_reported_rebalance():
    groups = RecordedGroups()
    groups.record("a", 1)
    groups.record("b", 2)
    groups.record("a", 3)
    groups.reported("a", 3)
    # b holds coverage back at 1, in the middle of a's rebalance.
    assert groups.covered() == 0
    groups.reported("b", 2)
    assert groups.covered() == 3


def test_a_rebalance_that_began_earlier_moves_coverage_to_its_start():
    groups = RecordedGroups()
    for group, at in (("c", 1), ("a", 2), ("c", 3), ("b", 4), ("a", 5)):
        groups.record(group, at)
    groups.reported("c", 3)
    groups.reported("a", 5)
    assert groups.covered() == 0


def test_records_with_one_timestamp_are_never_separated():
    groups = RecordedGroups()
    groups.record("a", 1, unsettled=False)
    groups.record("a", 1, unsettled=False)
    assert groups.covered(1) == 0
    assert groups.covered(2) == 2


def test_a_lost_partition_holds_nothing_back():
    groups = RecordedGroups()
    groups.record("a", 1)
    groups.coverage.drop({1})
    assert groups.covered() == 1


def test_each_partition_is_covered_separately():
    groups = RecordedGroups()
    groups.record("a", 1)
    groups.record("b", 2, partition=1, unsettled=False)
    assert groups.coverage.covered({0: 1, 1: 2}) == {0: 0, 1: 2}


def test_records_of_a_backfill_count_as_reported():
    groups = RecordedGroups()
    groups.record("a", 1, live=False)
    assert groups.covered() == 1


def test_very_many_records_of_a_rebalance_are_released_together():
    groups = RecordedGroups()
    for at in range(HELD_MAX + 5):
        groups.record("a", at)
    groups.reported("a", HELD_MAX - 2, settled=False)
    assert groups.covered() == HELD_MAX - 1
    groups.reported("a", HELD_MAX + 3, settled=False)
    assert groups.covered() == HELD_MAX - 1
    groups.reported("a", HELD_MAX + 4)
    assert groups.covered() == groups.offset


def test_very_many_rebalances_behind_an_unsettled_one_are_stored_more_coarsely():
    groups = RecordedGroups()
    groups.record("slow", 0)
    for at in range(0, 4 * SPANS_MAX, 4):
        groups.record("a", at + 1)
        groups.record("a", at + 2)
        groups.reported("a", at + 2)
    assert groups.covered() == 0
    groups.reported("slow", 0)
    assert groups.covered() == groups.offset
