"""Valid, deleted, future and broken records: each kind is distinguished, and none is lost."""

from __future__ import annotations

import pytest

from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.classic_group import classic_group
from rebalance_agent.groupprotocol.consumer_protocol import encode_assignment, encode_subscription
from rebalance_agent.groupprotocol.records import UNKNOWN, decode_record, record_kind
from rebalance_agent.groupprotocol.tables import GROUP_METADATA, OFFSET_COMMIT
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription

GROUP_KEY = GROUP_METADATA.key.encode(2, {"group": "orders"})
OFFSET_KEY = OFFSET_COMMIT.key.encode(1, {"group": "orders", "topic": "t", "partition": 3})


def group_value(version=4, protocol_type="consumer", subscription=b"", assignment=b""):
    member = {
        "member_id": "m",
        "group_instance_id": "i",
        "client_id": "c",
        "client_host": "/h",
        "rebalance_timeout": 60_000,
        "session_timeout": 10_000,
        "subscription": subscription,
        "assignment": assignment,
    }
    fields = {"protocol_type": protocol_type, "generation": 7, "protocol": "range", "leader": "m", "members": [member]}
    return GROUP_METADATA.value.encode(version, {**fields, "current_state_timestamp": 99})


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        (b"\0\0\0\1g\0\1t\0\0\0\0", "offset_commit"),
        (b"\0\1", "offset_commit"),
        (b"\0\2", "group_metadata"),
        (b"\0\x63", UNKNOWN),
        (b"\1\1", UNKNOWN),
        (b"\xff\xff", UNKNOWN),
        (b"\0", UNKNOWN),
        (b"", UNKNOWN),
    ],
)
def test_two_bytes_of_the_key_show_the_kind(key, kind):
    assert record_kind(key) == kind


def test_a_tombstone_has_the_key_that_it_deletes():
    record = decode_record(OFFSET_KEY, None)
    assert (record.tombstone, record.unknown, record.value, record.value_version) == (True, False, None, None)
    assert record.key == {"group": "orders", "topic": "t", "partition": 3}
    assert classic_group(decode_record(GROUP_KEY, None)) is None


@pytest.mark.parametrize("version", [5, 99, -1])
def test_an_unknown_value_version_keeps_its_group_and_is_no_error(version):
    record = decode_record(GROUP_KEY, version.to_bytes(2, "big", signed=True) + b"?")
    assert (record.unknown, record.tombstone, record.group, record.value_version) == (True, False, "orders", version)
    assert classic_group(record) is None


def test_an_unknown_key_version_is_no_error_with_or_without_a_value():
    for value in (b"anything", None):
        record = decode_record(b"\0\x63 anything", value)
        assert (record.kind, record.key_version, record.unknown, record.tombstone) == (UNKNOWN, 99, True, False)
        assert record.group == ""


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        (b"", None, "a record's key has 0 bytes"),
        (b"\0", b"\0\0", "a record's key has 1 bytes"),
        (b"\0\2\0\5g", b"\0\0", "GroupMetadataKey v2.group"),
        (GROUP_KEY, b"", "GroupMetadataValue: 2 bytes are needed"),
        (GROUP_KEY, group_value()[:-1], "GroupMetadataValue v4"),
        (OFFSET_KEY, b"\0\4", "OffsetCommitValue v4.offset"),
    ],
)
def test_broken_bytes_are_refused_by_name(key, value, problem):
    with pytest.raises(DecodeError) as caught:
        decode_record(key, value)
    assert str(caught.value).startswith(problem)


def test_a_classic_group_has_members_with_subscriptions_and_assignments():
    subscription = ConsumerSubscription(3, ("t",), b"u", {"t": (1,)}, 6, "r")
    assignment = ConsumerAssignment(3, {"t": (0, 1)}, b"a")
    value = group_value(4, "consumer", encode_subscription(subscription), encode_assignment(assignment))
    group = classic_group(decode_record(GROUP_KEY, value))
    assert (group.group, group.generation, group.protocol, group.leader) == ("orders", 7, "range", "m")
    assert (group.current_state_timestamp_ms, group.size_bytes) == (99, len(value))
    (member,) = group.members
    assert (member.member_id, member.instance_id, member.client_id, member.client_host) == ("m", "i", "c", "/h")
    assert (member.rebalance_timeout_ms, member.session_timeout_ms) == (60_000, 10_000)
    assert (member.subscription, member.assignment) == (subscription, assignment)


def test_members_of_other_protocol_types_and_unparsable_members_have_no_subscription_and_the_group_is_valid():
    good = encode_subscription(ConsumerSubscription(0, ("t",)))
    for value in (group_value(4, "connect", good, good), group_value(4, "consumer", b"junk", b"")):
        (member,) = classic_group(decode_record(GROUP_KEY, value)).members
        assert (member.subscription, member.assignment, member.assigned, member.owned) == (None, None, {}, {})


def test_only_a_group_metadata_record_is_a_classic_group():
    value = OFFSET_COMMIT.value.encode(3, {"offset": 1, "metadata": "", "commit_timestamp": 2})
    assert classic_group(decode_record(OFFSET_KEY, value)) is None
