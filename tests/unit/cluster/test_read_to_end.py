from __future__ import annotations

import pytest

from rebalance_agent.clock import FakeClock
from rebalance_agent.cluster.read_to_end import SILENCE_MAX_S, records_before
from rebalance_agent.errors import ClusterError
from rebalance_agent.offsets_topic.snapshots.codec import StoredRecord


class Reader:
    """Each ``turn`` is the result of one read: offsets, and the position after it."""

    topic = "t"

    def __init__(self, clock, *turns):
        self.positions, self._clock, self._turns = {}, clock, list(turns)

    def begin(self, offsets):
        self.begun = offsets
        self.positions = {partition: max(offset, 0) for partition, offset in offsets.items()}

    def read(self, _most, _timeout):
        self._clock.advance(1_000)
        offsets, position = self._turns.pop(0) if self._turns else ((), self.positions[0])
        self.positions[0] = position
        return [StoredRecord(0, offset, 0, b"", b"") for offset in offsets]


def _read(end, *turns):
    clock = FakeClock()
    return [each.offset() for batch in records_before({0: end}, Reader(clock, *turns), clock) for each in batch]


def test_records_are_read_up_to_the_end_and_not_beyond():
    assert _read(4, ((0, 1), 2), ((), 2), ((2, 3, 4, 5), 6), ((6,), 7)) == [0, 1, 2, 3]


def test_the_end_is_reached_by_position_if_the_last_record_was_compacted():
    assert _read(9, ((0,), 1), ((), 9)) == [0]


def test_a_partition_without_records_is_not_awaited():
    assert _read(0) == []


def test_reading_begins_at_the_given_offsets():
    clock = FakeClock()
    reader = Reader(clock, ((3,), 4))
    batches = list(records_before({0: 4, 1: 9}, reader, clock, {0: 3, 1: 9}))
    assert [each.offset() for batch in batches for each in batch] == [3]
    assert reader.begun == {0: 3}


def test_reading_fails_after_30_s_without_a_record():
    silent = [((), 1)] * round(SILENCE_MAX_S)
    assert _read(3, ((0,), 1), *silent, ((1, 2), 3)) == [0, 1, 2]
    with pytest.raises(ClusterError, match="reading t: no record arrived for 30 s"):
        _read(3, ((0,), 1), *silent)
