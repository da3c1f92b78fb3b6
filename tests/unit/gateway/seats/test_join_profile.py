"""Two consumers are equal if the coordinator may give one the assignment of the other."""

from __future__ import annotations

import pytest

from rebalance_agent.assignors import strategy
from rebalance_agent.gateway.seats.rules.join_profile import ProfileDifference, difference, read_profile
from support.gateway.seats import metadata, profile

WEIGHTED = strategy("weighted-sticky")


def weighted(weight, owned):
    return WEIGHTED.user_data({"assignment.consumer.weight": str(weight)}, owned, 3)


def test_owned_partitions_make_no_difference():
    before = profile(names=("cooperative-sticky",), owned_partitions={"t": (1, 2)}, generation_id=7)
    after = profile(names=("cooperative-sticky",))
    assert difference(before, after) is None
    assert before.fingerprint == after.fingerprint


def test_the_order_of_topics_makes_no_difference():
    assert difference(profile(topics=("a", "b")), profile(topics=("b", "a"))) is None


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"protocol_type": "other"}, ProfileDifference.PROTOCOL_TYPE),
        ({"names": ("roundrobin",)}, ProfileDifference.ASSIGNORS),
        ({"names": ("range", "roundrobin")}, ProfileDifference.ASSIGNORS),
        ({"topics": ("t", "u")}, ProfileDifference.TOPICS),
        ({"rack_id": "zone-b"}, ProfileDifference.RACK),
        ({"user_data": b"x"}, ProfileDifference.USER_DATA),
        ({"session_ms": 10_000}, ProfileDifference.TIMEOUTS),
        ({"rebalance_ms": 10_000}, ProfileDifference.TIMEOUTS),
    ],
)
def test_each_difference_that_the_coordinator_would_ignore_is_named(changed, expected):
    assert difference(profile(), profile(**changed)) is expected
    assert profile().fingerprint != profile(**changed).fingerprint


def test_the_order_of_assignors_is_a_difference():
    assert (
        difference(profile(names=("range", "roundrobin")), profile(names=("roundrobin", "range")))
        is ProfileDifference.ASSIGNORS
    )


def test_a_strategys_user_data_is_compared_without_what_the_member_owned():
    names = (WEIGHTED.name,)
    before = profile(names=names, user_data=weighted(2, {"t": (0, 1)}))
    assert difference(before, profile(names=names, user_data=weighted(2, {}))) is None
    assert difference(before, profile(names=names, user_data=weighted(3, {}))) is ProfileDifference.USER_DATA


def test_user_data_with_only_owned_partitions_makes_no_difference():
    sticky = strategy("sticky")
    before = profile(names=("sticky",), user_data=sticky.user_data({}, {"t": (0, 1)}, 4))
    assert difference(before, profile(names=("sticky",))) is None


def test_damaged_user_data_of_a_known_strategy_is_compared_by_its_bytes():
    names = (WEIGHTED.name,)
    assert difference(profile(names=names, user_data=b"?"), profile(names=names, user_data=b"?")) is None
    differs = difference(profile(names=names, user_data=b"?"), profile(names=names, user_data=b"!"))
    assert differs is ProfileDifference.USER_DATA


def test_a_subscription_that_cannot_be_read_has_no_profile():
    assert read_profile("consumer", [("range", metadata()), ("x", b"\0")], 1, 1) is None
