from __future__ import annotations

import pytest

from rebalance_agent.cluster.topic_reader import BEGINNING
from rebalance_agent.offsets_topic.emit import ObservationEmitter
from rebalance_agent.offsets_topic.gaps import OffsetGaps
from rebalance_agent.offsets_topic.group_records import GroupRecords
from rebalance_agent.offsets_topic.snapshots.codec import StoredRecord
from support.kafka.commits import Batches, Shown
from support.observer.fakes import fake_context


def _records(partition, *offsets):
    return [StoredRecord(partition, offset, 1, b"k", b"v") for offset in offsets]


def _seen(gaps, *records):
    gaps.see(records)
    return [gaps.before(record) for record in records]


def test_a_missing_offset_is_a_gap_before_all_later_records_of_its_partition():
    gaps = OffsetGaps()
    gaps.begin({0: 5, 1: 5})
    first, *later = _records(0, 5, 7, 8)
    assert _seen(gaps, first, *_records(1, 5, 6), *later) == [-1, -1, -1, 7, 7]
    assert _seen(gaps, *_records(0, 9), *_records(1, 7)) == [7, -1]
    assert _seen(gaps, *_records(0, 10, 12, 14)) == [7, 12, 14]
    assert _seen(gaps, *_records(1, 8, 9)) == [-1, -1]


def test_missing_records_at_the_beginning_are_also_a_gap():
    gaps = OffsetGaps()
    gaps.begin({0: 5, 1: BEGINNING})
    assert _seen(gaps, *_records(0, 6), *_records(1, 0)) == [6, -1]


def test_a_partition_that_was_lost_is_removed():
    gaps = OffsetGaps()
    gaps.begin({0: 5})
    gaps.see(_records(0, 6))
    gaps.drop([0])
    gaps.begin({0: 9})
    assert _seen(gaps, *_records(0, 9)) == [-1]


@pytest.mark.parametrize("most", [1, 2, 9])
def test_a_gap_precedes_the_next_record_in_batches_of_any_size(most):
    context = fake_context()
    emitter = ObservationEmitter(context, GroupRecords(context), on_records=None)
    emitter.replay.begin(0, 5, 9)
    emitter.gaps.begin({0: 5})
    batches = Batches([Shown(offset, b"\0\2\0\1g", None) for offset in (5, 6, 8, 9)], most)
    while batches.records:
        records = batches.read()
        emitter.emit_live(records, records, batches.positions)
    observed = [(each.offset, each.replayed, each.gap_offset) for each in context.inbox.take(9, 0)]
    assert observed == [(5, True, -1), (6, True, -1), (8, True, 8), (9, False, 8)]
    assert sum(number for (number,) in context.meters.of("replayed")) == 3
