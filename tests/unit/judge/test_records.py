"""The judge's own decoder, with bytes written by hand."""

from __future__ import annotations

import struct

import pytest

from judge.evidence.records import decode, of_groups

TOPIC_ID = bytes(range(16))
TOPIC = "AAECAwQFBgcICQoLDA0ODw"


def i8(value):
    return struct.pack(">b", value)


def i16(value):
    return struct.pack(">h", value)


def i32(value):
    return struct.pack(">i", value)


def i64(value):
    return struct.pack(">q", value)


def text(value):
    return i16(-1) if value is None else i16(len(value)) + value.encode()


def blob(value):
    return i32(len(value)) + value


def short(value):
    """A compact string."""
    return b"\x00" if value is None else bytes([len(value) + 1]) + value.encode()


def key(version, *parts):
    return i16(version) + b"".join(text(part) if isinstance(part, str) else part for part in parts)


SUBSCRIPTION = i16(1) + i32(2) + text("a") + text("b") + i32(-1)
ASSIGNMENT = i16(0) + i32(1) + text("a") + i32(2) + i32(0) + i32(7) + i32(-1)
MEMBER = (
    text("m-1") + text("s-1") + text("c-1") + text("/h") + i32(300) + i32(6000) + blob(SUBSCRIPTION) + blob(ASSIGNMENT)
)


def test_a_generation_has_its_members_with_topics_and_partitions():
    value = i16(3) + text("consumer") + i32(12) + text("range") + text("m-1") + i64(99) + i32(1) + MEMBER
    fact = decode(key(2, "g"), value)
    assert (fact["kind"], fact["group"], fact["generation"], fact["joined_ms"]) == ("generation", "g", 12, 99)
    (member,) = fact["members"]
    assert (member["client"], member["instance"], member["session_ms"]) == ("c-1", "s-1", 6000)
    assert member["topics"] == ["a", "b"]
    assert member["partitions"] == [("a", 0), ("a", 7)]


def test_the_flexible_version_of_a_generation_is_decoded_equally():
    def compact(data):
        return bytes([len(data) + 1]) + data

    member = short("m-1") + short(None) + short("c-1") + short("/h") + i32(300) + i32(6000)
    member += compact(SUBSCRIPTION) + compact(ASSIGNMENT) + b"\x01\x05\x02xy"  # with an unknown tagged field
    value = i16(4) + short("consumer") + i32(12) + short("range") + short("m-1") + i64(99) + b"\x02" + member + b"\x00"
    (found,) = decode(key(2, "g"), value)["members"]
    assert found["partitions"] == [("a", 0), ("a", 7)]


def partitions(*numbers, tags=b"\x00"):
    return b"\x02" + TOPIC_ID + bytes([len(numbers) + 1]) + b"".join(map(i32, numbers)) + tags


def test_a_current_assignment_has_epoch_state_and_partitions():
    value = i16(0) + i32(5) + i32(4) + i8(1) + partitions(1, 2, tags=b"\x01\x00\x02\x01\x01") + partitions(3) + b"\x00"
    fact = decode(key(8, "g", "m"), value)
    assert (fact["kind"], fact["member"], fact["epoch"], fact["stable"]) == ("current", "m", 5, False)
    assert fact["partitions"] == [(TOPIC, 1), (TOPIC, 2)]
    assert fact["revoking"] == [(TOPIC, 3)]
    assert decode(key(8, "g", "m"), i16(0) + i32(5) + i32(4) + i8(0) + b"\x01\x01\x00")["stable"]


def test_a_streams_assignment_has_active_tasks_and_its_own_number_for_stable():
    def tasks(*numbers):
        return b"\x02" + short("0") + bytes([len(numbers) + 1]) + b"".join(map(i32, numbers)) + b"\x00"

    value = i16(0) + i32(5) + i32(4) + i8(1) + tasks(1) + tasks(8) + tasks(9) + tasks(2) + b"\x01\x01\x00"
    fact = decode(key(22, "g", "m"), value)
    assert (fact["stable"], fact["partitions"], fact["revoking"]) == (True, [("task:0", 1)], [("task:0", 2)])


def test_a_member_of_a_consumer_group_has_its_client_id_and_topics():
    value = i16(0) + short("i") + short(None) + short("c-1") + short("/h") + b"\x03" + short("a") + short("b")
    fact = decode(key(5, "g", "m"), value + b"\x00" + i32(1) + b"\x00\x00")
    assert (fact["client"], fact["instance"], fact["topics"]) == ("c-1", "i", ["a", "b"])


def test_a_commit_is_recognised_by_its_key():
    fact = decode(key(1, "g", "a", i32(3)), b"whatever")
    assert (fact["kind"], fact["group"], fact["topic"], fact["partition"]) == ("commit", "g", "a", 3)


@pytest.mark.parametrize("version", [2, 3, 5, 7, 8, 17, 22])
def test_a_tombstone_removes_the_entry_of_its_key(version):
    assert decode(key(version, "g", "m"), None)["gone"]


def test_other_records_are_ignored():
    assert decode(key(10, "g", "m"), b"") is None
    assert decode(key(16, "g", "m"), b"") is None


def test_records_of_other_groups_keep_only_their_place():
    rows = [{"key": each, "value": b"v"} for each in (key(2, "g"), key(1, "h", "a", i32(3)), key(16, "h", "m"), None)]
    kept = [(row["key"], row["value"]) for row in of_groups(rows, {"g"})]
    assert kept == [(key(2, "g"), b"v"), (None, None), (None, None), (None, b"v")]
