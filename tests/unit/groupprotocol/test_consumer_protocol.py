"""Subscriptions and assignments of other clients, valid and invalid ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.errors import DecodeError, InvalidInputError
from rebalance_agent.groupprotocol.consumer_protocol import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    from_rows,
)
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription

FULL = ConsumerSubscription(3, ("a", "b"), b"data", {"a": (0, 1), "b": (7,)}, 12, "rack-1")


def test_a_truncated_v1_of_other_clients_owns_nothing():
    assert decode_subscription(b"\0\1\0\0\0\1\0\1t\xff\xff\xff\xff") == ConsumerSubscription(1, ("t",))


def test_a_newer_version_is_read_as_the_newest_known_one_and_keeps_its_number():
    newer = b"\0\x09" + encode_subscription(FULL)[2:] + b"whatever comes then"
    assert decode_subscription(newer) == ConsumerSubscription(
        9, FULL.topics, b"data", FULL.owned_partitions, 12, "rack-1"
    )
    assert decode_assignment(b"\0\x09" + encode_assignment(ConsumerAssignment(0, {"a": (1,)}))[2:] + b"x").version == 9


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_bytes_after_the_last_field_are_ignored(version):
    data = encode_subscription(ConsumerSubscription(version, ("t",)))
    assert decode_subscription(data + b"\0" if version == 3 else data) == ConsumerSubscription(version, ("t",))
    assert decode_subscription(encode_subscription(ConsumerSubscription(0, ("t",))) + b"more").topics == ("t",)


def test_owned_partitions_are_sorted_without_duplicates():
    twice = b"\0\1\0\0\0\0\xff\xff\xff\xff" + b"\0\0\0\3"
    twice += b"\0\1b\0\0\0\2\0\0\0\5\0\0\0\2" + b"\0\1a\0\0\0\0" + b"\0\1b\0\0\0\1\0\0\0\2"
    assert decode_subscription(twice).owned_partitions == {"b": (2, 5)}


@pytest.mark.parametrize("cut", range(len(encode_subscription(FULL))))
def test_a_truncated_subscription_is_refused_except_between_appended_fields(cut):
    data = encode_subscription(FULL)
    ends = {len(encode_subscription(replace(FULL, version=version))) for version in (0, 1, 2)}
    if cut in ends:
        assert decode_subscription(data[:cut]).topics == FULL.topics
    else:
        with pytest.raises(DecodeError, match="ConsumerProtocolSubscription"):
            decode_subscription(data[:cut])


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff\xff\0\0\0\0\xff\xff\xff\xff", b"\0\0\x7f\xff\xff\xff"])
def test_other_bytes_are_refused_as_subscription(data):
    for decode in (decode_subscription, decode_assignment):
        with pytest.raises(DecodeError):
            decode(data)


def test_values_out_of_range_are_not_written():
    with pytest.raises(InvalidInputError, match="version"):
        encode_subscription(ConsumerSubscription(4, ()))
    with pytest.raises(InvalidInputError, match=r"owned_partitions\.partitions"):
        encode_subscription(ConsumerSubscription(1, (), None, {"t": (2**31,)}))
    with pytest.raises(InvalidInputError, match="topics"):
        encode_subscription(ConsumerSubscription(0, ("x" * 32_768,)))


def test_a_repeated_topic_counts_once():
    rows = [{"topic": "t", "partitions": (number, number + 1)} for number in range(100_000)]
    assert from_rows([*rows, {"topic": "a", "partitions": ()}]) == {"t": tuple(range(100_001))}


def test_impossible_partition_numbers_are_omitted():
    """Otherwise one member's numbers would make events undecodable."""
    claimed = {"t": (-5, 0, 999_999, 1_000_000), "u": (-1,), "v": (2**31 - 1,)}
    assignment = decode_assignment(encode_assignment(ConsumerAssignment(3, claimed)))
    assert assignment.partitions == {"t": (0, 999_999)}
    subscription = decode_subscription(encode_subscription(ConsumerSubscription(3, ("t",), None, claimed)))
    assert subscription.owned_partitions == {"t": (0, 999_999)}
