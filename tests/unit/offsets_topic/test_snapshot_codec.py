from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.offsets_topic.snapshots import codec as module
from rebalance_agent.offsets_topic.snapshots.codec import (
    MARKER_BYTES_MAX,
    VERSION,
    Digest,
    Marker,
    SnapshotAssembly,
    StoredRecord,
    marker_key,
    marker_value,
    record_key,
    record_value,
)

OWNER = b"rebalance-agent"
SERIES = 7


def _record(key, offset):
    return StoredRecord(0, offset, 500 + offset, key, b"value of " + key)


def _marker(offsets, position, series=SERIES):
    digest = Digest(_record(key, offset) for key, offset in offsets.items())
    return Marker(VERSION, series, position, len(offsets), digest.text, 1_000, "here")


def _snapshot(offsets, position, *, partition=0, series=SERIES):
    """The records of a complete snapshot; ``offsets`` by key."""
    for key, offset in offsets.items():
        record = _record(key, offset)
        yield record_key(OWNER, partition, key), record_value(series, offset, record.timestamp_ms, record.value())
    yield marker_key(OWNER, partition), marker_value(_marker(offsets, position, series))


def _assembled(messages, partition=0):
    assembly = SnapshotAssembly(OWNER, [partition])
    for key, value in messages:
        assembly.add(key, value)
    return assembly


def _records(assembly, partition=0):
    return assembly.records(partition, assembly.marker(partition))


def test_a_written_snapshot_is_read_in_the_order_of_the_offsets_topic():
    records = _records(_assembled(_snapshot({b"a": 9, b"b": 2}, 10)))
    assert [(each.key(), each.offset(), each.timestamp(), each.value(), each.partition()) for each in records] == [
        (b"b", 2, (1, 502), b"value of b", 0),
        (b"a", 9, (1, 509), b"value of a", 0),
    ]


def test_a_topic_without_a_marker_has_no_snapshot():
    *records, _ = _snapshot({b"a": 1}, 2)
    assert _assembled(records).marker(0) is None


def test_other_records_and_partitions_are_skipped():
    other = [(record_key(b"somebody", 0, b"x"), b""), (record_key(OWNER, 1, b"x"), b""), (b"", b""), (b"\x01", None)]
    assembly = _assembled([*other, *_snapshot({b"a": 1}, 2), *other])
    assert [each.key() for each in _records(assembly)] == [b"a"]


def test_an_unfinished_newer_snapshot_changes_nothing():
    begun = [(record_key(OWNER, 0, b"a"), record_value(SERIES, 5, 1, b"newer")), (record_key(OWNER, 0, b"b"), None)]
    records = _records(_assembled([*_snapshot({b"a": 1, b"b": 2}, 3), *begun]))
    assert [(each.key(), each.offset()) for each in records] == [(b"a", 1), (b"b", 2)]


def test_a_finished_newer_snapshot_replaces_it():
    later = [
        (record_key(OWNER, 0, b"b"), None),
        (record_key(OWNER, 0, b"c"), record_value(SERIES, 4, 504, b"value of c")),
        (marker_key(OWNER, 0), marker_value(_marker({b"a": 1, b"c": 4}, 5))),
    ]
    records = _records(_assembled([*_snapshot({b"a": 1, b"b": 2}, 3), *later]))
    assert [(each.key(), each.offset()) for each in records] == [(b"a", 1), (b"c", 4)]


@pytest.mark.parametrize("missing", [0, 1])
def test_a_missing_record_is_detected(missing):
    messages = list(_snapshot({b"a": 1, b"b": 2}, 3))
    del messages[missing]
    with pytest.raises(InvalidInputError, match="1 records do not match the 2"):
        _records(_assembled(messages))


@pytest.mark.parametrize(
    "altered",
    [
        record_value(SERIES, 1, 501, b"FORGED"),
        record_value(SERIES, 1, 501, b""),
        record_value(SERIES, 1, 502, b"value of a"),
        record_value(SERIES, 0, 501, b"value of a"),
    ],
)
def test_an_altered_value_time_or_offset_is_detected(altered):
    first, *rest = _snapshot({b"a": 1, b"b": 2}, 3)
    with pytest.raises(InvalidInputError, match="of its marker"):
        _records(_assembled([(first[0], altered), *rest]))


def test_bytes_moved_from_a_key_to_its_value_are_detected():
    whole = [(record_key(OWNER, 0, b"a"), record_value(SERIES, 1, 501, b"bc"))]
    moved = [(record_key(OWNER, 0, b"ab"), record_value(SERIES, 1, 501, b"c"))]
    digest = Digest([StoredRecord(0, 1, 501, b"a", b"bc")])
    marker = marker_value(Marker(VERSION, SERIES, 2, 1, digest.text, 1_000, "here"))
    assert [each.value() for each in _records(_assembled([*whole, (marker_key(OWNER, 0), marker)]))] == [b"bc"]
    with pytest.raises(InvalidInputError, match="of its marker"):
        _records(_assembled([*moved, (marker_key(OWNER, 0), marker)]))


@given(st.integers(0, 1), st.integers(0, 10_000), st.integers(1, 255))
def test_any_altered_byte_of_a_record_is_detected(number, place, flipped):
    messages = list(_snapshot({b"a": 1, b"b": 2}, 3))
    key, value = messages[number]
    damaged = bytearray(value)
    damaged[place % len(value)] ^= flipped
    messages[number] = (key, bytes(damaged))
    with pytest.raises(InvalidInputError, match="do not match the 2"):
        _records(_assembled(messages))


def test_a_late_record_of_a_paused_writer_is_detected():
    stale = (record_key(OWNER, 0, b"a"), record_value(SERIES, 0, 1, b"older"))
    messages = [*_snapshot({b"a": 1}, 3), stale, (marker_key(OWNER, 0), marker_value(_marker({b"a": 1}, 9)))]
    with pytest.raises(InvalidInputError, match="of its marker"):
        _records(_assembled(messages))


def test_remaining_records_of_an_older_series_are_ignored_and_listed():
    assembly = _assembled([*_snapshot({b"a": 1, b"old": 2}, 3, series=6), *_snapshot({b"a": 5}, 6)])
    assert [each.key() for each in _records(assembly)] == [b"a"]
    assert assembly.keys(0) == {b"a", b"old"}


def test_another_version_writes_under_the_same_keys(monkeypatch):
    keys = record_key(OWNER, 0, b"a"), marker_key(OWNER, 0)
    monkeypatch.setattr(module, "VERSION", VERSION + 1)
    assert (record_key(OWNER, 0, b"a"), marker_key(OWNER, 0)) == keys


def test_records_of_another_version_are_listed_and_not_used():
    key, value = next(_snapshot({b"a": 1}, 2))
    old = replace(_marker({b"a": 1}, 2), version=VERSION - 1)
    assembly = _assembled([(key, bytes([VERSION - 1]) + value[1:]), (marker_key(OWNER, 0), marker_value(old))])
    with pytest.raises(InvalidInputError, match=f"has version {VERSION - 1}, not {VERSION}"):
        assembly.marker(0)
    assert assembly.keys(0) == {b"a"}
    assembly.add(key, None)
    assert assembly.keys(0) == frozenset()


def test_a_record_of_another_version_is_no_part_of_a_snapshot():
    (key, value), marker = _snapshot({b"a": 1}, 2)
    with pytest.raises(InvalidInputError, match="0 records do not match the 1"):
        _records(_assembled([(key, bytes([VERSION - 1]) + value[1:]), marker]))


def test_a_record_beyond_the_position_is_refused():
    with pytest.raises(InvalidInputError, match="is not before the marker"):
        _records(_assembled(_snapshot({b"a": 9}, 9)))


@pytest.mark.parametrize(
    "value",
    [None, b"", bytes([VERSION + 1]) + bytes(40), b"\x01", bytes(5), record_value(SERIES, -1, 501, b"value of a")],
)
def test_a_malformed_record_is_a_missing_one(value):
    messages = list(_snapshot({b"a": 1}, 3))
    messages[0] = (messages[0][0], value)
    with pytest.raises(InvalidInputError, match="0 records do not match the 1"):
        _records(_assembled(messages))


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"no json",
        b"[]",
        b"{}",
        marker_value(replace(_marker({}, 1), version=VERSION + 1)),
        marker_value(_marker({}, -1)),
        b" " * MARKER_BYTES_MAX + marker_value(_marker({}, 1)),
    ],
)
def test_a_malformed_marker_is_an_error_until_a_good_one_comes(value):
    assembly = _assembled([(marker_key(OWNER, 0), value)])
    with pytest.raises(InvalidInputError):
        assembly.marker(0)
    assembly.add(marker_key(OWNER, 0), marker_value(_marker({}, 1)))
    assert assembly.marker(0).position == 1


@given(st.lists(st.tuples(st.binary(max_size=40), st.none() | st.binary(max_size=60))))
def test_no_content_of_the_topic_raises_an_exception(messages):
    _assembled(messages)


RECORDS = st.builds(
    StoredRecord,
    st.just(0),
    st.integers(0, 2),
    st.integers(0, 1),
    st.sampled_from([b"", b"a", b"b"]),
    st.sampled_from([None, b"", b"a", b"ab"]),
)


@given(st.lists(RECORDS))
def test_the_digest_depends_on_the_records_and_not_on_their_order(records):
    digest, last = Digest(), {}
    for record in records:
        digest.put(record)
        last[record.key()] = record
    there = [record for record in last.values() if record.value() is not None]
    assert digest.text == Digest(reversed(there)).text
    assert digest.summands.keys() == {record.key() for record in there}
    for record in records:
        is_last = record == last[record.key()] or record.value() is None is last[record.key()].value()
        assert digest.holds(record) == is_last
    assert (digest.text == Digest().text) == (not there)


@given(RECORDS, RECORDS)
def test_two_records_have_equal_sums_only_if_equal_or_both_deleted(one, other):
    alike = one == other or one.value() is None is other.value()
    assert (Digest([one]).text == Digest([other]).text) == alike


def test_overwritten_records_take_no_space():
    """Otherwise a topic without recent compaction could not be read at all."""
    once, often = ([*_snapshot({b"a": 1, b"b": 2}, 10)] * times for times in (2, 50))
    assert _assembled(often).size_bytes == _assembled(once).size_bytes > 0
    gone = [(record_key(OWNER, 0, key), None) for key in (b"a", b"b")]
    marker = marker_key(OWNER, 0), marker_value(_marker({}, 11))
    assert _assembled([*often, *gone, marker]).size_bytes == len(b"a" + b"b")


def test_keys_without_values_count_towards_the_size():
    short = [(record_key(OWNER, 0, bytes(100) + bytes([number])), b"") for number in range(10)]
    assert _assembled(short).size_bytes == 10 * 101
