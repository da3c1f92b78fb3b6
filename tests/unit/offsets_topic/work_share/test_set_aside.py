"""Waiting records keep the order of their group, are bounded in number and bytes, and are never lost silently."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.offsets_topic.work_share import set_aside
from rebalance_agent.offsets_topic.work_share.set_aside import SetAside, WaitingRecord
from support.observer.fakes import FakeRecord


@pytest.fixture(autouse=True)
def _count_own_bytes_alone(monkeypatch):
    monkeypatch.setattr(set_aside, "RECORD_BYTES", 0)


def _record(offset, size=100, partition=0, key=b""):
    return WaitingRecord(FakeRecord(key, bytes(size), None, 1_000, (partition, offset)), 1_000, False, -1)


def _offsets(waiting, key):
    found = []
    while key in waiting:
        record = waiting.pop(key)
        found.append((record.message.offset(), record.skipped))
    return found


def test_waiting_records_of_a_group_leave_in_order():
    waiting = SetAside()
    for offset in range(5):
        assert not waiting.put(b"a" if offset % 2 else b"b", _record(offset))
    assert _offsets(waiting, b"a") == [(1, 0), (3, 0)]
    assert _offsets(waiting, b"b") == [(0, 0), (2, 0), (4, 0)]
    assert not waiting


def test_with_too_many_records_the_oldest_are_dropped_and_the_next_one_counts_them(monkeypatch):
    monkeypatch.setattr(set_aside, "KEY_RECORDS_MAX", 3)
    waiting = SetAside()
    assert [len(waiting.put(b"a", _record(offset))) for offset in range(6)] == [0, 0, 0, 1, 1, 1]
    assert _offsets(waiting, b"a") == [(3, 3), (4, 0), (5, 0)]


def test_only_the_last_record_of_each_key_waits_as_in_the_compacted_topic(monkeypatch):
    monkeypatch.setattr(set_aside, "KEY_RECORDS_MAX", 2)
    waiting = SetAside()
    keys = [b"x", b"y", b"x", b"x", b"y", b"x"]
    assert sum(len(waiting.put(b"a", _record(offset, key=key))) for offset, key in enumerate(keys)) == 2
    assert _offsets(waiting, b"a") == [(1, 0), (3, 2), (4, 0), (5, 0)]


def test_a_record_larger_than_the_bound_waits_alone(monkeypatch):
    monkeypatch.setattr(set_aside, "GROUP_BYTES_MAX", 250)
    waiting = SetAside()
    assert [len(waiting.put(b"a", _record(offset, size))) for offset, size in enumerate((100, 100, 100, 900))] == [
        0,
        0,
        1,
        2,
    ]
    assert _offsets(waiting, b"a") == [(3, 3)]


def test_the_total_of_all_groups_is_bounded_and_losses_are_counted_with_the_next_record(monkeypatch):
    monkeypatch.setattr(set_aside, "ALL_BYTES_MAX", 1_000)
    waiting = SetAside()
    assert waiting.put(b"large", _record(1, 800)) == []
    assert [record.message.offset() for record in waiting.put(b"small", _record(2, 300))] == [1]
    assert (b"large" in waiting, b"small" in waiting) == (False, True)
    waiting.put(b"large", _record(3, 100))
    assert _offsets(waiting, b"large") == [(3, 1)]


def test_the_last_record_of_a_large_group_stays_while_others_have_older_ones(monkeypatch):
    monkeypatch.setattr(set_aside, "ALL_BYTES_MAX", 1_000)
    waiting = SetAside()
    waiting.put(b"large", _record(1, 700))
    waiting.put(b"flood", _record(2, 100))
    waiting.put(b"flood", _record(3, 100))
    assert [record.message.offset() for record in waiting.put(b"flood", _record(4, 150))] == [2]
    assert b"large" in waiting


def test_new_groups_take_no_room_from_others_and_others_none_from_them(monkeypatch):
    monkeypatch.setattr(set_aside, "ALL_BYTES_MAX", 1_000)
    monkeypatch.setattr(set_aside, "NEW_BYTES_MAX", 500)
    waiting = SetAside()
    waiting.put(b"large", _record(1, 900))
    dropped = [waiting.put(b"new %d" % number, _record(2, 100), new=True) for number in range(9)]
    assert sum(map(len, dropped)) == 4
    assert b"large" in waiting
    assert len(waiting.put(b"other", _record(3, 850))) == 1
    assert (b"large" in waiting, len(waiting.groups())) == (False, 6)


def test_a_group_that_is_no_longer_new_takes_room_with_the_others(monkeypatch):
    monkeypatch.setattr(set_aside, "ALL_BYTES_MAX", 1_000)
    monkeypatch.setattr(set_aside, "NEW_BYTES_MAX", 500)
    waiting = SetAside()
    waiting.put(b"a", _record(1, 400), new=True)
    assert waiting.put(b"a", _record(2, 500)) == []
    assert waiting.put(b"b", _record(3, 450), new=True) == []
    assert [each.message.offset() for each in waiting.put(b"a", _record(4, 300))] == [1]


@given(
    st.lists(
        st.tuples(st.sampled_from([b"a", b"b", b"c"]), st.integers(0, 300), st.booleans(), st.booleans()), max_size=60
    )
)
def test_the_largest_group_is_the_one_with_the_most_bytes(steps):
    """Also after other records left, and after the order was built again."""
    limit, set_aside.STALE_MAX = set_aside.STALE_MAX, 5
    try:
        waiting = SetAside()
        for offset, (group, size, leaves, new) in enumerate(steps):
            waiting.put(group, _record(offset, 1 + size), new=new)
            if leaves:
                waiting.pop(waiting.groups()[0])
            for room in waiting._room, waiting._room_of_new:
                queues = {name: queue for name, queue in waiting._queues.items() if queue.room is room}
                weights = {name: queue.weight for name, queue in queues.items()}
                assert room.size_bytes == sum(queue.size_bytes for queue in queues.values())
                assert not queues or weights[waiting._largest(room)] == max(weights.values())
                assert len(room.order) <= 3 + set_aside.STALE_MAX
    finally:
        set_aside.STALE_MAX = limit


def test_positions_stop_before_the_first_waiting_record():
    waiting = SetAside()
    waiting.put(b"a", _record(7, partition=1))
    waiting.put(b"a", _record(9, partition=1))
    waiting.put(b"b", _record(8, partition=1))
    assert waiting.held_back({1: 20, 2: 30}) == {1: 7, 2: 30}
    waiting.pop(b"a")
    assert waiting.held_back({1: 20}) == {1: 8}


def test_records_of_partitions_no_longer_read_are_dropped():
    waiting = SetAside()
    waiting.put(b"a", _record(1, partition=1))
    waiting.put(b"b", _record(1, partition=2))
    waiting.drop([1, 5])
    assert waiting.groups() == [b"b"]


@given(
    st.lists(
        st.tuples(st.sampled_from([b"a", b"b", b"c"]), st.sampled_from([b"", b"k"]), st.integers(1, 400)), max_size=60
    )
)
def test_every_record_leaves_once_or_is_counted_as_skipped(puts):
    bounds = set_aside.KEY_RECORDS_MAX, set_aside.GROUP_BYTES_MAX, set_aside.ALL_BYTES_MAX
    set_aside.KEY_RECORDS_MAX, set_aside.GROUP_BYTES_MAX, set_aside.ALL_BYTES_MAX = 4, 600, 900
    try:
        waiting = SetAside()
        dropped = sum(
            len(waiting.put(group, _record(offset, size, key=key))) for offset, (group, key, size) in enumerate(puts)
        )
    finally:
        set_aside.KEY_RECORDS_MAX, set_aside.GROUP_BYTES_MAX, set_aside.ALL_BYTES_MAX = bounds
    lost = sum(waiting._lost.values())
    left = [each for key in waiting.groups() for each in _offsets(waiting, key)]
    assert len(left) + dropped == len(puts)
    assert sum(skipped for _, skipped in left) + lost == dropped
    assert waiting._room.size_bytes == 0
