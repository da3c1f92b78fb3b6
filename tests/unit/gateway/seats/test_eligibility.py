"""The consumers that may have a seat; each refusal has a name."""

from __future__ import annotations

import pytest

from rebalance_agent.gateway.seats.rules.eligibility import LastMember, SeatRefusal, handover_refusal, seat_refusal
from rebalance_agent.gateway.seats.rules.join_profile import ProfileDifference
from support.gateway.seats import newcomer, profile


def test_a_plain_consumer_may_have_a_seat():
    assert seat_refusal(newcomer(1, version=5), mixed_group=False) is None


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"version": 4}, SeatRefusal.VERSION),
        ({"instance_id": "own"}, SeatRefusal.OWN_INSTANCE_ID),
        ({"instance_id": ""}, SeatRefusal.OWN_INSTANCE_ID),
        ({"member_id": "pending"}, SeatRefusal.MEMBER_ID),
        ({"protocol_type": "connect"}, SeatRefusal.PROTOCOL_TYPE),
        ({"profile": None}, SeatRefusal.UNREADABLE),
        ({"profile": profile(names=("stream",))}, SeatRefusal.STREAMS),
        ({"profile": profile(names=("range", "streams-sticky"))}, SeatRefusal.STREAMS),
        ({"unfenced_commits": True}, SeatRefusal.UNFENCED_COMMITS),
    ],
)
def test_each_ineligible_consumer_is_refused_by_name(changes, expected):
    assert seat_refusal(newcomer(1, **changes), mixed_group=False) is expected


def test_no_seat_in_a_mixed_group():
    assert seat_refusal(newcomer(1), mixed_group=True) is SeatRefusal.GROUP_TYPE


def refusal(last, one, *, watches_topics=False):
    return handover_refusal(last, one, watches_topics=watches_topics)


def test_an_equal_consumer_of_any_version_may_take_a_followers_seat():
    assert refusal(LastMember(profile(), leads=False), newcomer(1, version=5)) is None


@pytest.mark.parametrize("version", [5, 6, 7, 8])
def test_a_leaders_seat_is_only_for_successors_whose_join_response_names_the_leader(version):
    last = LastMember(profile(), leads=True)
    assert refusal(last, newcomer(1, version=version)) is SeatRefusal.LEADER
    assert refusal(last, newcomer(1, version=version), watches_topics=True) is None
    assert refusal(last, newcomer(1, version=9)) is None


def test_another_subscription_and_an_unknown_one_are_refused():
    assert refusal(LastMember(profile(topics=("u",)), leads=False), newcomer(1)) is ProfileDifference.TOPICS
    assert refusal(LastMember(None, leads=False), newcomer(1)) is SeatRefusal.NOT_COMPARABLE
