"""User data of strategies with standbys, byte by byte, and invalid data of other members."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.errors import DecodeError, InvalidInputError
from rebalance_agent.groupprotocol.standby_user_data import (
    PROCESS_ID_SETTING,
    decode_standby_assignment,
    decode_standby_subscription,
    encode_standby_assignment,
    encode_standby_subscription,
)
from rebalance_agent.model.partitions import PARTITION_MAX
from rebalance_agent.model.subscription import AssignedCopies, MemberUserData

SAID = MemberUserData({PROCESS_ID_SETTING: "p1"}, {"t": (0, 9)}, 5, {"é": (3,)})
SUBSCRIPTION = b"\0\1\0\2p1\0\0\0\1\0\1t\0\0\0\2\0\0\0\0\0\0\0\x09\0\0\0\5\0\0\0\1\0\2\xc3\xa9\0\0\0\1\0\0\0\3"
ACTIVE, COPIES = {"t": (1,)}, AssignedCopies({"u": (2, 3)}, {"u": (3,)})
ASSIGNMENT_1 = b"\0\1\0\0\0\1\0\1t\0\0\0\1\0\0\0\1\0\0\0\1\0\1u\0\0\0\2\0\0\0\2\0\0\0\3"
ASSIGNMENT = b"\0\2" + ASSIGNMENT_1[2:] + b"\0\0\0\1\0\1u\0\0\0\1\0\0\0\3"

names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=9)
partitions = st.dictionaries(
    names, st.sets(st.integers(0, PARTITION_MAX - 1), min_size=1, max_size=5).map(sorted).map(tuple), max_size=4
)


def test_subscriptions_have_the_specified_bytes():
    assert encode_standby_subscription(SAID) == SUBSCRIPTION
    assert decode_standby_subscription(SUBSCRIPTION) == SAID


def test_an_assignment_has_the_specified_bytes():
    assert encode_standby_assignment(ACTIVE, COPIES) == ASSIGNMENT
    assert decode_standby_assignment(ASSIGNMENT) == (ACTIVE, COPIES)


def test_in_the_first_version_no_partition_waits_for_a_copy():
    assert decode_standby_assignment(ASSIGNMENT_1) == (ACTIVE, AssignedCopies(COPIES.standbys))


def test_a_standby_subscription_without_partitions_has_sixteen_bytes():
    assert encode_standby_subscription(MemberUserData()) == b"\0\1\0\0\0\0\0\0\xff\xff\xff\xff\0\0\0\0"


@given(process=st.text(st.characters(codec="utf-8"), max_size=30), owned=partitions, standbys=partitions)
def test_subscriptions_and_assignments_are_read_as_written(process, owned, standbys):
    said = MemberUserData({PROCESS_ID_SETTING: process}, owned, 3, standbys)
    assert decode_standby_subscription(encode_standby_subscription(said)) == said
    copies = AssignedCopies(standbys, owned)
    assert decode_standby_assignment(encode_standby_assignment(owned, copies)) == (owned, copies)


@given(data=st.binary(max_size=60) | st.binary(max_size=60).map(lambda rest: b"\0\1" + rest))
def test_any_bytes_are_read_or_refused(data):
    for decode in (decode_standby_subscription, decode_standby_assignment):
        try:
            decode(data)
        except DecodeError as error:
            assert str(error).startswith("Standby")  # noqa: PT017 - either outcome is right


@pytest.mark.parametrize("size", range(len(SUBSCRIPTION)))
def test_a_truncated_standby_subscription_is_refused(size):
    with pytest.raises(DecodeError, match="StandbySubscription"):
        decode_standby_subscription(SUBSCRIPTION[:size])


@pytest.mark.parametrize("size", range(len(ASSIGNMENT)))
def test_a_truncated_standby_assignment_is_refused(size):
    with pytest.raises(DecodeError, match="StandbyAssignment"):
        decode_standby_assignment(ASSIGNMENT[:size])


def test_later_versions_may_add_fields_and_version_0_is_refused():
    assert decode_standby_subscription(b"\0\7" + SUBSCRIPTION[2:] + b"more") == SAID
    assert decode_standby_assignment(b"\0\7" + ASSIGNMENT[2:] + b"more") == (ACTIVE, COPIES)
    for version in (b"\0\0", b"\xff\xff"):
        with pytest.raises(DecodeError, match="no version"):
            decode_standby_subscription(version + SUBSCRIPTION[2:])


@pytest.mark.parametrize("count", [b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff"])
def test_an_impossible_count_is_refused_before_it_takes_memory(count):
    with pytest.raises(DecodeError):
        decode_standby_subscription(b"\0\1\0\0" + count + b"\0" * 20)


def test_a_process_id_is_bounded_when_read_and_written():
    encode_standby_subscription(MemberUserData({PROCESS_ID_SETTING: "x" * 255}))
    with pytest.raises(InvalidInputError, match="process_id: longer than 255 characters"):
        encode_standby_subscription(MemberUserData({PROCESS_ID_SETTING: "x" * 256}))
    with pytest.raises(DecodeError, match="process_id: longer than 255 characters"):
        decode_standby_subscription(b"\0\1\x27\x10" + b"x" * 10_000 + SUBSCRIPTION[6:])


@pytest.mark.parametrize(
    ("said", "field"),
    [
        (MemberUserData(owned={"t": (2**31,)}), "owned"),
        (MemberUserData(standbys={"\ud800": (1,)}), "standbys"),
        (MemberUserData(generation=2**31), "generation"),
    ],
)
def test_values_out_of_range_are_not_written(said, field):
    with pytest.raises(InvalidInputError) as caught:
        encode_standby_subscription(said)
    assert caught.value.field.startswith(field)
