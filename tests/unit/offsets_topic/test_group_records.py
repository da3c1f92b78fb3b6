from __future__ import annotations

import pytest

from rebalance_agent.cluster.name_filters import NameFilter
from rebalance_agent.groupprotocol.tables.consumer_groups import CONSUMER_GROUP_METADATA
from rebalance_agent.model.epoch_groups import GroupEpoch
from rebalance_agent.offsets_topic.group_records import GroupRecords
from rebalance_agent.tracking.observations import GroupRecord
from support.observer.fakes import FakeRecord, fake_context


def _text(text):
    return len(text).to_bytes(2, "big") + text.encode()


def _group_key(group):
    return b"\0\2" + _text(group)


EMPTY_GROUP = b"\0\3" + _text("consumer") + (7).to_bytes(4, "big") + b"\xff\xff" * 2 + (5).to_bytes(8, "big") + bytes(4)
COMMIT_KEY = b"\0\1" + _text("g") + _text("t") + bytes(4)


def test_commits_and_unknown_kinds_are_skipped_without_decoding():
    context = fake_context()
    records = [
        FakeRecord(COMMIT_KEY, b"not even a value"),
        FakeRecord(b"\0\0", b""),
        FakeRecord(b"\0\3another kind", b"xx"),
        FakeRecord(b"\0\x63whatever", b"xx"),
        FakeRecord(None, b"x"),
        FakeRecord(_group_key("g"), EMPTY_GROUP),
    ]
    found = GroupRecords(context).of_groups(records)
    assert found == [(records[-1], _group_key("g"))]
    assert context.meters.of("unknown_record") == [("key_version", 1)]
    assert context.meters.of("decode_error") == [(3,), (None,)]
    ((number, size),) = context.meters.of("read")
    assert number == 6
    assert size == sum(len(record.key_bytes or b"") + len(record.value_bytes or b"") for record in records)


def test_cached_keys_are_classified_and_counted_like_new_ones():
    context = fake_context(shows=NameFilter(".*", "secret"))
    records = GroupRecords(context)
    messages = [FakeRecord(_group_key(name), b"") for name in ("shown", "secret")] + [FakeRecord(b"\0\2\xff\0", b"")]
    for _ in range(2):
        assert records.of_groups(messages) == [(messages[0], _group_key("shown"))]
    assert context.meters.of("decode_error") == [(2,), (2,)]


@pytest.mark.parametrize("version", [-1, 0, 1, 2, 9, 256, 257])
def test_only_keys_of_commits_are_skipped_uncounted(version):
    context = fake_context()
    GroupRecords(context).of_groups([FakeRecord(version.to_bytes(2, "big", signed=True), b"")])
    # A key of a group's kind without a group is malformed; the other kinds are unknown.
    assert (context.meters.of("decode_error"), context.meters.of("unknown_record")) == {
        2: ([(2,)], []),
        **dict.fromkeys((0, 1), ([], [])),
    }.get(version, ([], [("key_version", 1)]))


def test_hidden_groups_are_never_decoded():
    context = fake_context(shows=NameFilter(".*", "secret"))
    assert GroupRecords(context).of_groups([FakeRecord(_group_key("secret"), b"\0")]) == []
    assert context.meters.of("decode_error") == []


def test_a_record_becomes_an_observation_with_both_times():
    context = fake_context()
    record = GroupRecords(context).decode(FakeRecord(_group_key("g"), EMPTY_GROUP, timestamp_ms=123), live=True)
    assert isinstance(record, GroupRecord)
    assert (record.group, record.timestamp_ms, record.seen_ms, record.live) == ("g", 123, context.clock.now_ms(), True)
    assert record.value is not None
    assert (record.value.generation, record.value.members) == (7, ())


def test_a_deleted_group_is_a_record_without_value():
    record = GroupRecords(fake_context()).decode(FakeRecord(_group_key("g")), live=False)
    assert record is not None
    assert (record.value, record.live) == (None, False)


def test_malformed_keys_and_values_and_future_versions_are_only_counted():
    context = fake_context()
    records = GroupRecords(context)
    assert records.of_groups([FakeRecord(b"\0\2\xff\0", b"")]) == []
    assert records.decode(FakeRecord(_group_key("g"), EMPTY_GROUP[:9]), live=True) is None
    assert context.meters.of("decode_error") == [(2,), (2,)]
    assert records.decode(FakeRecord(_group_key("g"), b"\0\x63" + EMPTY_GROUP[2:]), live=True) is None
    assert context.meters.of("unknown_record") == [("value_version",)]


def test_tagged_fields_of_a_later_version_are_counted_and_their_record_is_reported():
    context = fake_context()
    key = CONSUMER_GROUP_METADATA.key.encode(3, {"group": "g"})
    value = CONSUMER_GROUP_METADATA.value.encode(0, {"epoch": 7, "metadata_hash": 5})
    tags = bytes([value[6] + 2]) + value[7:] + b"\x05\x01x" + b"\x06\x00"
    record = GroupRecords(context).decode(FakeRecord(key, value[:6] + tags), live=True)
    assert record is not None
    assert record.value == GroupEpoch(7, metadata_hash=5)
    assert context.meters.of("unknown_tagged_fields") == [(2,)]
    GroupRecords(context).decode(FakeRecord(key, value), live=True)
    assert context.meters.of("unknown_tagged_fields") == [(2,)]
