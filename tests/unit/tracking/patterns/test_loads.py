import pytest

from rebalance_agent.tracking.patterns import loads
from rebalance_agent.tracking.patterns.loads import min_highest_load, skew_ratio
from rebalance_agent.tracking.views import MemberLoad


def member(name, assigned, topics=("t",), target=None):
    return MemberLoad(name, None, name, "h", assigned, target, topics)


def lags(topic="t", **records):
    return {(topic, int(number.removeprefix("p"))): lag for number, lag in records.items()}


def test_an_even_load_is_one():
    members = [member("a", {"t": (0, 1)}), member("b", {"t": (2, 3)})]
    assert skew_ratio(lags(p0=5, p1=5, p2=9, p3=1), members) == 1


def test_a_member_with_the_load_of_both_members_has_a_skew_of_2():
    members = [member("a", {"t": (0, 1)}), member("b", {"t": (2, 3)})]
    assert skew_ratio(lags(p0=50, p1=50), members) == 2


def test_a_partition_that_alone_exceeds_the_share_is_no_skew():
    members = [member("a", {"t": (0,)}), member("b", {"t": (1, 2)})]
    assert skew_ratio(lags(p0=1_000, p1=1, p2=1), members) == 1


@pytest.mark.parametrize("measured", [{}, lags(p0=0, p1=0), lags(p7=9)])
def test_zero_load_is_perfectly_balanced(measured):
    assert skew_ratio(measured, [member("a", {"t": (0, 1)}), member("b", {})]) == 1
    assert skew_ratio(measured, []) == 1
    assert skew_ratio(measured, [member("a", {"t": ()})]) == 1


def test_only_subscribers_of_a_topic_share_its_load():
    """c cannot take partitions of t, so the balance of a and b is the best possible."""
    members = [
        member("a", {"t": (0, 1)}, ("t",)),
        member("b", {"t": (2, 3)}, ("t",)),
        member("c", {"u": (0,)}, ("u",)),
    ]
    measured = lags(p0=10, p1=10, p2=10, p3=10) | lags("u", p0=1)
    assert skew_ratio(measured, members) == 1
    assert min_highest_load(measured, members) == 20


def test_the_topics_with_the_highest_load_per_subscriber_determine_the_best_balance():
    """t and u together could go to three members, but t's load of 40 only to two."""
    members = [
        member("a", {"t": (0, 1), "u": (0,)}, ("t", "u")),
        member("b", {"t": (2, 3)}, ("t",)),
        member("c", {"u": (1,)}, ("u",)),
    ]
    measured = lags(p0=10, p1=10, p2=10, p3=10) | lags("u", p0=10, p1=10)
    assert min_highest_load(measured, members) == 20
    assert skew_ratio(measured, members) == pytest.approx(1.5)


def test_passive_members_do_not_count():
    members = [member("active", {"t": (0, 1)}, target=2.0), member("standby", {}, target=0.0)]
    assert skew_ratio(lags(p0=10, p1=10), members) == 1
    idle = [members[0], member("idle", {}, target=1.0)]
    assert skew_ratio(lags(p0=10, p1=10), idle) == 2


def test_members_with_unknown_subscriptions_share_the_load_of_all_topics():
    members = [member("a", {"t": (0,), "u": (0,)}, None), member("b", {}, None)]
    assert skew_ratio(lags(p0=10) | lags("u", p0=10), members) == 2


def test_a_member_may_own_partitions_without_a_subscription():
    members = [member("a", {"old": (0, 1)}, ("t",)), member("b", {"t": (0,)}, ("t",))]
    assert skew_ratio(lags("old", p0=10, p1=10), members) == 1


def test_very_mixed_subscriptions_use_the_mean_of_all_members(monkeypatch):
    members = [member("a", {"t": (0, 1)}, ("t",)), member("b", {"u": (0,)}, ("u",))]
    measured = lags(p0=10, p1=10) | lags("u", p0=1)
    assert min_highest_load(measured, members) == 20
    monkeypatch.setattr(loads, "ARCS_MAX", 1)
    assert min_highest_load(measured, members) == 10.5
