from __future__ import annotations

import pytest

from rebalance_agent.offsets_topic.emit import ObservationEmitter
from rebalance_agent.offsets_topic.group_records import GroupRecords
from rebalance_agent.offsets_topic.replay import Replay
from rebalance_agent.offsets_topic.snapshots.codec import StoredRecord
from support.kafka.commits import Batches, Shown
from support.observer.fakes import fake_context


def _records(partition, *offsets):
    return [StoredRecord(partition, offset, 1, b"k", b"v") for offset in offsets]


def test_what_was_there_when_it_began_is_old_and_what_came_later_is_not():
    replay = Replay()
    replay.begin(0, 5, 8)
    old, new = _records(0, 7, 8)
    assert replay.is_old(old)
    assert not replay.is_old(new)
    assert not replay.is_old(_records(1, 7)[0])


def test_it_is_through_by_position_even_if_the_last_records_are_gone():
    replay = Replay()
    replay.begin(0, 5, 8)
    replay.finish({0: 7})
    assert replay
    replay.finish({0: 8})
    assert not replay


def test_nothing_is_read_again_where_nothing_came_since():
    replay = Replay()
    replay.begin(0, 8, 8)
    assert not replay


def test_a_missing_offset_is_a_gap_up_to_the_end_of_what_is_read_again():
    replay = Replay()
    replay.begin(0, 5, 9)
    replay.begin(1, 5, 9)
    replay.see(_records(0, 5, 7))
    replay.see(_records(1, 5, 6))
    assert replay.has_gap(0)
    assert not replay.has_gap(1)
    replay.finish({0: 9, 1: 7})
    assert not replay.has_gap(0)


def test_records_that_are_gone_from_the_beginning_on_are_a_gap_too():
    replay = Replay()
    replay.begin(0, 5, 9)
    replay.see(_records(0, 6))
    assert replay.has_gap(0)


def test_a_partition_that_went_is_forgotten():
    replay = Replay()
    replay.begin(0, 5, 9)
    replay.see(_records(0, 6))
    replay.drop([0])
    assert not replay
    assert not replay.has_gap(0)


@pytest.mark.parametrize("most", [1, 2, 9])
def test_a_gap_is_before_what_follows_it_however_much_is_read_at_once(most):
    context = fake_context()
    telling = ObservationEmitter(context, GroupRecords(context), on_records=None)
    telling.replay.begin(0, 5, 9)
    batches = Batches([Shown(offset, b"\0\2\0\1g", None) for offset in (5, 6, 8, 9)], most)
    while batches.records:
        records = batches.read()
        telling.emit_live(records, records, batches.positions)
    observed = [(each.offset, each.replayed, each.after_gap) for each in context.inbox.take(9, 0)]
    assert observed == [(5, True, False), (6, True, False), (8, True, True), (9, False, False)]
    assert sum(number for (number,) in context.meters.of("replayed")) == 3
