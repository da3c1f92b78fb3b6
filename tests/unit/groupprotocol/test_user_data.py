"""User data byte by byte, and invalid data of other members."""

from __future__ import annotations

import pytest

from rebalance_agent.errors import DecodeError, InvalidInputError
from rebalance_agent.groupprotocol.user_data import (
    PRIORITY_SETTING,
    WEIGHT_SETTING,
    decode_priority,
    decode_sticky,
    decode_weighted,
    encode_priority,
    encode_weighted,
)
from rebalance_agent.model.subscription import MemberUserData

WEIGHTED = b"\0\0\3\x84" + b"\0\0\0\2\xc3\xa9" + b"\0\0\0\2\0\0\0\0\0\0\0\x09" + b"\0\0\0\1t\0\0\0\1\0\0\0\3"


def weighted(weight, owned=None):
    return MemberUserData({WEIGHT_SETTING: weight}, owned or {})


def priority(number):
    return MemberUserData({PRIORITY_SETTING: number})


def test_weighted_user_data_has_the_specified_bytes():
    assert encode_weighted(weighted(900, {"é": (0, 9), "t": (3,)})) == WEIGHTED
    assert decode_weighted(WEIGHTED) == weighted(900, {"t": (3,), "é": (0, 9)})


def test_a_member_that_owned_nothing_sends_only_its_weight():
    assert encode_weighted(weighted(1)) == b"\0\0\0\1"
    assert decode_weighted(b"\0\0\0\1") == weighted(1)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\0\0",
        b"\0\0\0\0",
        b"\xff\xff\xff\xff",
        WEIGHTED[:-1],
        WEIGHTED + b"\0",
        b"\0\0\0\1\xff\xff\xff\xff",
        b"\0\0\0\1\x7f\xff\xff\xff",
        b"\0\0\0\1\0\0\0\1t\x7f\xff\xff\xff",
        b"\0\0\0\1\0\0\0\1t\xff\xff\xff\xff",
        b"\0\0\0\1\0\0\0\1\xff\0\0\0\0",
    ],
)
def test_invalid_weighted_user_data_is_refused(data):
    with pytest.raises(DecodeError, match="weighted-sticky user data"):
        decode_weighted(data)


def test_a_priority_is_one_signed_number():
    assert encode_priority(priority(2_147_483_647)) == b"\x7f\xff\xff\xff"
    assert decode_priority(encode_priority(priority(-3))) == priority(-3)


@pytest.mark.parametrize("data", [b"", b"\0\0\0", b"\0\0\0\1\0"])
def test_a_priority_of_another_length_is_refused(data):
    with pytest.raises(DecodeError, match="failover user data"):
        decode_priority(data)


@pytest.mark.parametrize(
    ("encode", "field"),
    [
        (lambda: encode_priority(priority(2**31)), "priority"),
        (lambda: encode_weighted(weighted(0)), "weight"),
        (lambda: encode_weighted(weighted(2**31)), "weight"),
        (lambda: encode_weighted(weighted(1, {"t": (2**31,)})), "partitions of t"),
        (lambda: encode_weighted(weighted(1, {"\ud800": (1,)})), "topic"),
    ],
)
def test_values_out_of_range_are_not_written(encode, field):
    with pytest.raises(InvalidInputError) as caught:
        encode()
    assert caught.value.field == field


def test_sticky_user_data_without_topics_is_read_in_both_versions():
    assert decode_sticky(b"\0\0\0\0") == MemberUserData()
    assert decode_sticky(b"\0\0\0\0\0\0\0\5") == MemberUserData(generation=5)


@pytest.mark.parametrize("data", [b"", b"\xff\xff\xff\xff", b"\0\0\0\1", b"\0\0\0\0\0", b"\0\0\0\0\0\0\0\5x"])
def test_invalid_sticky_user_data_is_refused(data):
    with pytest.raises(DecodeError, match="sticky user data"):
        decode_sticky(data)
