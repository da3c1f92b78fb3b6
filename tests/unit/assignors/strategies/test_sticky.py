"""``sticky`` and ``cooperative-sticky``: kept partitions, and claims of other clients' members."""

from __future__ import annotations

import struct

import pytest

from rebalance_agent.assignors import judge, strategy
from rebalance_agent.errors import DecodeError, InvalidInputError
from rebalance_agent.groupprotocol.user_data import (
    decode_cooperative_sticky,
    decode_sticky,
    encode_generation,
    encode_sticky,
)
from rebalance_agent.model.subscription import MemberUserData, TopicMetadata
from support.assignors.rules import group, member

STICKY = strategy("sticky")
COOPERATIVE = strategy("cooperative-sticky")


def said(owned, generation):
    return encode_sticky(MemberUserData(owned=owned, generation=generation))


def test_a_newcomer_takes_its_share_and_the_others_keep_theirs():
    subject = group(
        {"t": 6},
        member("a", "t", user_data=said({"t": (0, 1, 2)}, 4)),
        member("b", "t", user_data=said({"t": (3, 4, 5)}, 4)),
        member("c", "t"),
    )
    result = STICKY.assign(subject)
    assert set(result.members["a"]["t"]) < {0, 1, 2}
    assert set(result.members["b"]["t"]) < {3, 4, 5}
    quality = judge(subject, result, STICKY)
    assert (quality.spread, quality.moved, quality.moved_min) == (0, 2, 2)


@pytest.mark.parametrize("form", [STICKY, COOPERATIVE])
def test_moved_partitions_go_to_a_rack_with_a_replica_and_others_stay(form):
    racks = (("r1",), ("r2",), ("r3",), ("r1",), ("r2",), ("r3",))
    subject = group(
        {"t": TopicMetadata(6, racks)},
        member("a", "t", rack="r2", owned={"t": (0, 1, 2)}, generation=1),
        member("b", "t", rack="r1", owned={"t": (3, 4, 5)}, generation=1),
        member("c", "t", rack="r3"),
    )
    assert form.assign(subject).target == {"a": {"t": (0, 1)}, "b": {"t": (3, 4)}, "c": {"t": (2, 5)}}


def test_a_claim_older_than_the_last_rebalance_is_ignored():
    subject = group(
        {"t": 2},
        member("back", "t", user_data=said({"t": (0, 1)}, 4)),
        member("stayed", "t", user_data=said({"t": (0,)}, 5)),
    )
    assert STICKY.assign(subject).members == {"back": {"t": (1,)}, "stayed": {"t": (0,)}}


def test_an_undated_claim_of_version_0_counts_until_a_dated_one_contradicts_it():
    undated = said({"t": (0, 1)}, 9)[:-4]
    alone = group({"t": 2}, member("a", "t", user_data=undated))
    assert STICKY.assign(alone).members == {"a": {"t": (0, 1)}}
    contradicted = group(
        {"t": 2}, member("a", "t", user_data=undated), member("b", "t", user_data=said({"t": (1,)}, 0))
    )
    assert STICKY.assign(contradicted).members == {"a": {"t": (0,)}, "b": {"t": (1,)}}


@pytest.mark.parametrize("name", ["sticky", "cooperative-sticky"])
def test_user_data_in_another_format_affects_only_that_member(name):
    subject = group({"t": 4}, member("a", "t", user_data=b"\x7f"), member("b", "t", owned={"t": (2, 3)}))
    result = strategy(name).assign(subject)
    assert list(result.user_data_errors) == ["a"]
    assert result.members == {"a": {"t": (0, 1)}, "b": {"t": (2, 3)}}


@pytest.mark.parametrize(
    ("client", "user_data"),
    [
        ("java", struct.pack(">i", 7)),
        ("librdkafka and franz-go", said({"t": (0, 1)}, 7)),
        ("librdkafka and franz-go, nothing owned", said({}, 7)),
    ],
)
def test_the_generation_of_every_cooperative_client_is_read(client, user_data):
    """A subscription of version 1 contains the owned partitions, its user data their generation: the older claim is
    void."""
    subject = group(
        {"t": 2},
        member("a", "t", owned={"t": (0, 1)}, user_data=user_data),
        member("b", "t", owned={"t": (0, 1)}, generation=6),
    )
    result = COOPERATIVE.assign(subject)
    assert not result.user_data_errors, client
    assert COOPERATIVE.roster(subject).ownership[0].owned == {0: (0, 1)}
    assert judge(subject, result, COOPERATIVE).moved == 1


@pytest.mark.parametrize("user_data", [None, b""])
def test_no_user_data_is_no_error(user_data):
    subject = group({"t": 1}, member("a", "t", owned={"t": (0,)}, generation=3, user_data=user_data))
    result = COOPERATIVE.assign(subject)
    assert (result.members, result.user_data_errors) == ({"a": {"t": (0,)}}, {})


def test_the_subscriptions_own_generation_wins():
    subject = group(
        {"t": 1},
        member("a", "t", owned={"t": (0,)}, generation=3, user_data=encode_generation(MemberUserData(generation=9))),
        member("b", "t", owned={"t": (0,)}, generation=4),
    )
    assert COOPERATIVE.roster(subject).ownership[0].owned == {1: (0,)}


def test_owned_partitions_in_cooperative_user_data_are_ignored():
    """librdkafka continues to list partitions that the subscription no longer lists."""
    subject = group({"t": 2}, member("a", "t", generation=5, user_data=said({"t": (0, 1)}, 5)), member("b", "t"))
    assert COOPERATIVE.roster(subject).ownership[0].owned == {}


def test_members_read_the_user_data_that_they_write():
    owned = {"clicks": (0, 2), "payments": (4,)}
    assert decode_sticky(STICKY.user_data({}, owned, 6)) == MemberUserData(owned=owned, generation=6)
    assert COOPERATIVE.user_data({}, owned, 6) == b"\0\0\0\6"
    assert decode_cooperative_sticky(COOPERATIVE.user_data({}, {})) == MemberUserData()


def test_a_negative_generation_is_unknown():
    subject = group(
        {"t": 1},
        member("a", "t", owned={"t": (0,)}, user_data=encode_generation(MemberUserData(generation=-7))),
        member("b", "t", owned={"t": (0,)}),
    )
    assert COOPERATIVE.roster(subject).ownership[0].disputed == {0: (0, 1)}


@pytest.mark.parametrize(
    "data", [b"\0", b"\0\0\0\1", b"\0\0\0\0\0", b"\0\0\0\0\0\0\0\1\0", b"\xff\xff\xff\xff\0\0\0\1"]
)
def test_other_bytes_are_refused(data):
    with pytest.raises(DecodeError, match="sticky user data"):
        decode_sticky(data)
    if len(data) != 4:
        with pytest.raises(DecodeError, match="cooperative-sticky user data"):
            decode_cooperative_sticky(data)


def test_values_out_of_range_are_refused_by_name():
    with pytest.raises(InvalidInputError, match="generation"):
        encode_sticky(MemberUserData(generation=2**31))
    with pytest.raises(InvalidInputError, match="partitions"):
        encode_sticky(MemberUserData(owned={"t": (2**31,)}, generation=1))
    with pytest.raises(InvalidInputError, match="topic"):
        encode_sticky(MemberUserData(owned={"t" * 40_000: (1,)}, generation=1))
