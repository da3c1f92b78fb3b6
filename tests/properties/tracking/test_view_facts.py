"""Idle members, unassigned partitions and topic spread of any assignment, compared with their definitions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.model.partitions import count_partitions
from support.tracker.tracking import member, record, topics, watch

NAMES = ("t", "u", "gone")
COUNTS = {"t": 3, "u": 2}
PROTOCOLS = ("range", "cooperative-sticky", "roundrobin", "unheard-of")


@st.composite
def members(draw):
    """Members with existing partitions, which may be unsubscribed or shared."""
    many = []
    for place in range(draw(st.integers(1, 5))):
        wanted = sorted(draw(st.sets(st.sampled_from(NAMES))))
        assigned = {
            topic: numbers
            for topic, count in COUNTS.items()
            if (numbers := tuple(sorted(draw(st.sets(st.integers(0, count - 1))))))
        }
        many.append(member(f"m{place}", assigned, topics=wanted))
    return many


def viewed(many, protocol):
    tracker, _ = watch(topics(0, **COUNTS), record(10, 1, *many, protocol=protocol))
    return tracker.view("g")


@given(members(), st.sampled_from(PROTOCOLS))
def test_unassigned_partitions_are_subscribed_without_an_owner(many, protocol):
    view = viewed(many, protocol)
    wanted = {topic for each in many for topic in each.subscription.topics}
    whole = {(topic, number) for topic in wanted & COUNTS.keys() for number in range(COUNTS[topic])}
    had = {(topic, number) for each in many for topic, numbers in each.assigned.items() for number in numbers}
    assert (view.partitions, view.unassigned) == (len(whole), len(whole - had))


@given(members(), st.sampled_from(PROTOCOLS))
def test_idle_members_could_own_partitions_but_have_none(many, protocol):
    idle = [
        each
        for each in many
        if not count_partitions(each.assigned) and not COUNTS.keys().isdisjoint(each.subscription.topics)
    ]
    assert viewed(many, protocol).idle_members == len(idle)


@given(members(), st.sampled_from(PROTOCOLS))
def test_the_spread_of_a_topic_is_the_share_of_its_possible_owners(many, protocol):
    expected = {}
    for topic, count in COUNTS.items():
        subscribers = sum(topic in each.subscription.topics for each in many)
        owners = sum(topic in each.assigned for each in many)
        if subscribers:
            expected[topic] = min(1.0, owners / min(count, subscribers))
    assert dict(viewed(many, protocol).topic_spread) == expected


@given(members(), st.sampled_from(PROTOCOLS), st.randoms(use_true_random=False))
def test_facts_do_not_depend_on_the_order_of_members(many, protocol, random):
    view, shuffled = viewed(many, protocol), list(many)
    random.shuffle(shuffled)
    again = viewed(shuffled, protocol)
    for fact in ("partitions", "unassigned", "idle_members", "topic_spread", "skew_ratio", "imbalance", "members"):
        assert getattr(again, fact) == getattr(view, fact), fact
