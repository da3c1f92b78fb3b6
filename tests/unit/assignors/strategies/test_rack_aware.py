"""``rack-aware-sticky``: labels, affinities, and its user data."""

from __future__ import annotations

import pytest

from rebalance_agent.assignors import judge, strategy
from rebalance_agent.assignors.locality.labels import AFFINITY, LABELS, LABELS_MAX, affinities_of, labels_of
from rebalance_agent.errors import AssignmentError, DecodeError, InvalidInputError
from rebalance_agent.groupprotocol.user_data import LABELS_SETTING, decode_labelled, encode_labelled
from rebalance_agent.model.subscription import GroupSubscription, MemberUserData, TopicMetadata
from support.assignors.rules import group, member

EAGER = strategy("rack-aware-sticky")
COOPERATIVE = strategy("cooperative-rack-aware-sticky")


def gold(**fields):
    return {LABELS.name: "tier=gold", **fields}


def test_a_partition_moves_to_the_rack_of_its_replica():
    topic = TopicMetadata(2, (("r1",), ("r2",)))
    subject = group(
        {"t": topic},
        member("a", "t", rack="r1", owned={"t": (1,)}, generation=1),
        member("b", "t", rack="r2", owned={"t": (0,)}, generation=1),
    )
    result = EAGER.assign(subject)
    assert result.members == {"a": {"t": (0,)}, "b": {"t": (1,)}}
    assert judge(subject, result, EAGER).rack_misses == 0


def test_balance_has_priority_over_racks():
    subject = group({"t": TopicMetadata(4, (("r1",),) * 4)}, member("a", "t", rack="r1"), member("b", "t", rack="r2"))
    assert {name: len(given["t"]) for name, given in EAGER.assign(subject).members.items()} == {"a": 2, "b": 2}


def test_a_topic_goes_to_members_with_all_of_its_labels():
    members = (
        member("a", "t u", config={LABELS.name: "zone=eu"}),
        member("b", "t u", config={LABELS.name: "zone=eu,tier=gold"}),
    )
    topics = {"t": TopicMetadata(2), "u": TopicMetadata(2)}
    subject = GroupSubscription(topics, members, config={AFFINITY.name: "t:tier=gold;zone=eu"})
    assert EAGER.assign(subject).members == {"a": {"u": (0, 1)}, "b": {"t": (0, 1)}}


def test_labels_in_user_data_override_the_configuration():
    said = EAGER.user_data(gold(), {"t": (1,)}, 7)
    assert decode_labelled(said) == MemberUserData({LABELS_SETTING: "tier=gold"}, {"t": (1,)}, 7)
    assert decode_labelled(COOPERATIVE.user_data(gold(), {"t": (1,)}, 7)) == MemberUserData(
        {LABELS_SETTING: "tier=gold"}, {}, 7
    )
    roster = EAGER.roster(group({"t": 2}, member("a", "t", user_data=said, config={LABELS.name: "tier=lead"})))
    assert roster.of(LABELS) == ("tier=gold",)
    assert roster.ownership[0].owned == {0: (1,)}


def test_user_data_of_a_newer_version_is_read_as_the_newest_known_one():
    said = encode_labelled(MemberUserData({LABELS_SETTING: "tier=gold"}, {"t": (1,)}, 7))
    assert decode_labelled(b"\0\5" + said[2:] + b"more") == MemberUserData(
        {LABELS_SETTING: "tier=gold"}, {"t": (1,)}, 7
    )


@pytest.mark.parametrize(
    "data", [b"\0", b"\0\0\0\2a", b"\0\0\xff\xff", b"\0\0\0\0\0\0\0\1", b"\xff\xff\0\0\0\0\0\0\0\0\0\1"]
)
def test_broken_user_data_is_named(data):
    with pytest.raises(DecodeError, match="rack-aware-sticky user data"):
        decode_labelled(data)


def test_invalid_labels_affect_only_that_member():
    odd = encode_labelled(MemberUserData({LABELS_SETTING: "not labels"}, {"t": (0,)}, 7))
    result = EAGER.assign(group({"t": 2}, member("a", "t", user_data=odd), member("b", "t", user_data=None)))
    assert "'not labels' is not key=value" in result.user_data_errors["a"]
    with pytest.raises(InvalidInputError, match="labels"):
        encode_labelled(MemberUserData({LABELS_SETTING: "x" * 40_000}))


def test_rack_texts_are_parsed():
    assert labels_of("") == frozenset()
    assert labels_of("topology.kubernetes.io/zone=eu-1,tier=gold") == {
        ("topology.kubernetes.io/zone", "eu-1"),
        ("tier", "gold"),
    }
    assert affinities_of("") == {}
    assert affinities_of("orders:zone=eu;tier=gold,clicks:zone=us") == {
        "orders": {("zone", "eu"), ("tier", "gold")},
        "clicks": {("zone", "us")},
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("zone", "'zone' is not key=value"),
        ("zone=", "'zone=' is not key=value"),
        ("zone=eu,", "'' is not key=value"),
        ("zone=eu zone=us", "is not key=value"),
        ("a=1,a=2", "'a' appears twice"),
        (",".join(f"k{n}=v" for n in range(LABELS_MAX + 1)), "65 labels are more than 64"),
    ],
)
def test_invalid_labels_are_refused(text, problem):
    with pytest.raises(AssignmentError, match=problem):
        EAGER.user_data({LABELS.name: text}, {})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("orders", "'' is not key=value"),
        (":zone=eu", "'' is not the name of a topic"),
        ("orders:zone=eu,orders:zone=us", "'orders' appears twice"),
        ("orders:zone=eu;zone=us", "'zone' appears twice"),
        ("or ders:zone=eu", "'or ders' is not the name of a topic"),
    ],
)
def test_invalid_affinities_are_refused(text, problem):
    with pytest.raises(AssignmentError, match=problem):
        EAGER.assign(GroupSubscription({}, (), config={AFFINITY.name: text}))
