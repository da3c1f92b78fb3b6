from __future__ import annotations

from rebalance_agent.offsets_topic.replay import Replay
from rebalance_agent.offsets_topic.snapshots.codec import StoredRecord


def _records(partition, *offsets):
    return [StoredRecord(partition, offset, 1, b"k", b"v") for offset in offsets]


def test_records_before_the_start_are_old_and_later_ones_are_not():
    replay = Replay()
    replay.begin(0, 5, 8)
    old, new = _records(0, 7, 8)
    assert replay.is_old(old)
    assert not replay.is_old(new)
    assert not replay.is_old(_records(1, 7)[0])


def test_a_replay_ends_by_position_even_if_the_last_records_are_missing():
    replay = Replay()
    replay.begin(0, 5, 8)
    replay.finish({0: 7})
    assert replay
    replay.finish({0: 8})
    assert not replay


def test_without_new_records_nothing_is_replayed():
    replay = Replay()
    replay.begin(0, 8, 8)
    assert not replay


def test_a_partition_that_was_lost_is_removed():
    replay = Replay()
    replay.begin(0, 5, 9)
    replay.drop([0])
    assert not replay
