from __future__ import annotations

from dataclasses import replace

from rebalance_agent.offsets_topic.snapshots.coverage import HELD_MAX, SPANS_MAX, Coverage
from support.observer.fakes import generation_event
from support.tracker.tracking import T0, record


class Story:
    """A coverage, and which groups its tracker has still to speak of."""

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


def test_where_nothing_is_going_on_all_is_covered():
    story = Story()
    story.record("a", 1, unsettled=False)
    assert story.covered() == 1


def test_the_oldest_record_that_something_is_still_to_be_said_of_holds_back():
    story = Story()
    story.record("quiet", 1, unsettled=False)
    story.record("a", 2)
    story.record("b", 3)
    assert story.covered() == 1
    story.reported("a", 2)
    assert story.covered() == 2
    story.reported("b", 3)
    assert story.covered() == 3


def test_a_group_that_never_rests_lets_go_of_what_was_reported():
    story = Story()
    story.record("a", 1)
    story.record("a", 10)
    story.reported("a", 1, settled=False)
    assert story.covered() == 1
    story.reported("a", 9, closes=False, settled=False)
    assert story.covered() == 1


def test_nobody_begins_in_the_middle_of_a_rebalance_that_was_reported():
    story = Story()
    story.record("a", 1)
    story.record("b", 2)
    story.record("a", 3)
    story.reported("a", 3)
    # b holds back at 1, which a's rebalance goes across.
    assert story.covered() == 0
    story.reported("b", 2)
    assert story.covered() == 3


def test_what_begins_before_that_middle_moves_it_on_to_the_front():
    story = Story()
    for group, at in (("c", 1), ("a", 2), ("c", 3), ("b", 4), ("a", 5)):
        story.record(group, at)
    story.reported("c", 3)
    story.reported("a", 5)
    assert story.covered() == 0


def test_records_of_one_moment_are_never_parted():
    story = Story()
    story.record("a", 1, unsettled=False)
    story.record("a", 1, unsettled=False)
    assert story.covered(1) == 0
    assert story.covered(2) == 2


def test_a_partition_that_went_holds_nothing_back():
    story = Story()
    story.record("a", 1)
    story.coverage.drop({1})
    assert story.covered() == 1


def test_each_partition_is_covered_for_itself():
    story = Story()
    story.record("a", 1)
    story.record("b", 2, partition=1, unsettled=False)
    assert story.coverage.covered({0: 1, 1: 2}) == {0: 0, 1: 2}


def test_what_a_backfill_reads_was_reported_long_ago():
    story = Story()
    story.record("a", 1, live=False)
    assert story.covered() == 1


def test_very_many_records_of_a_rebalance_are_let_go_together():
    story = Story()
    for at in range(HELD_MAX + 5):
        story.record("a", at)
    story.reported("a", HELD_MAX - 2, settled=False)
    assert story.covered() == HELD_MAX - 1
    story.reported("a", HELD_MAX + 3, settled=False)
    assert story.covered() == HELD_MAX - 1
    story.reported("a", HELD_MAX + 4)
    assert story.covered() == story.offset


def test_very_many_rebalances_behind_one_that_holds_back_are_remembered_more_coarsely():
    story = Story()
    story.record("slow", 0)
    for at in range(0, 4 * SPANS_MAX, 4):
        story.record("a", at + 1)
        story.record("a", at + 2)
        story.reported("a", at + 2)
    assert story.covered() == 0
    story.reported("slow", 0)
    assert story.covered() == story.offset
