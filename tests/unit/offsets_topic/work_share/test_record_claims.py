"""Claims of a record: existing partitions count, absurd claims cost nothing, ordinary records are unchanged."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.model.group import UNREAD_ASSIGNMENTS, GroupSnapshot, Member
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription
from rebalance_agent.offsets_topic.work_share import record_claims as bounds
from rebalance_agent.offsets_topic.work_share.record_claims import CLAIMS_MAX, FREE_CLAIMS, bounded_claims, claims
from rebalance_agent.tracking.observations import Backfilled, GroupRecord, TopicsSeen
from rebalance_agent.tracking.tracker import Tracker

NOW = 1_700_000_000_000


def _group(*assigned, topics=("t",), owned=None):
    members = tuple(
        Member(
            member_id=f"m{number}",
            instance_id=None,
            client_id="c",
            client_host="/10.0.0.1",
            rebalance_timeout_ms=60_000,
            session_timeout_ms=45_000,
            subscription=ConsumerSubscription(1, topics, None, owned or {}, -1, None),
            assignment=ConsumerAssignment(1, partitions, None),
        )
        for number, partitions in enumerate(assigned)
    )
    return GroupSnapshot("g", "consumer", 1, "range", "m0", NOW, members, 100)


def _assigned(value):
    return [dict(member.assigned) for member in value.members]


def test_an_ordinary_record_is_unchanged_even_if_its_topics_are_newer_than_the_list():
    value = _group({"t": tuple(range(10_000))}, owned={"t": tuple(range(10_000))})
    assert claims(value) == FREE_CLAIMS
    assert bounded_claims(value, {"other": 1}) is value


def test_nonexistent_partitions_of_very_many_are_removed():
    value = _group({"t": tuple(range(50_000)), "absurd": tuple(range(50_000))}, topics=("t", "absurd"))
    bounded = bounded_claims(value, {"t": 3})
    assert _assigned(bounded) == [{"t": (0, 1, 2)}]
    assert bounded.members[0].subscription.topics == ("t",)
    assert bounded.protocol_type == "consumer"


def test_a_group_that_has_this_many_partitions_keeps_them():
    value = _group({"t": tuple(range(30_000))}, {"t": tuple(range(30_000, 60_000))})
    assert bounded_claims(value, {"t": 60_000}) == value


def test_subscriptions_to_very_many_topics_keep_those_that_exist():
    topics = tuple(f"t{number}" for number in range(bounds.FREE_TOPICS + 1))
    bounded = bounded_claims(_group({}, topics=topics), {"t7": 1, "t9": 1})
    assert bounded.members[0].subscription.topics == ("t7", "t9")


def test_a_record_with_too_many_existing_partitions_loses_all_its_partitions():
    everyone = {"t": tuple(range(2_000))}
    value = _group(*[everyone] * (CLAIMS_MAX // 2_000 + 1))
    bounded = bounded_claims(value, {"t": 2_000})
    assert bounded.protocol_type == UNREAD_ASSIGNMENTS
    assert (len(bounded.members), claims(bounded)) == (len(value.members), 0)
    tracker = Tracker("c")
    tracker.observe(TopicsSeen(NOW, {"t": 2_000}, {}))
    tracker.observe(Backfilled(NOW, frozenset(range(50)), anew=True))
    tracker.observe(GroupRecord("g", NOW, NOW, bounded, offset=1))
    view = tracker.view("g")
    assert (view.generation, len(view.members)) == (1, len(value.members))
    assert (view.partitions, view.unassigned, view.skew_ratio, view.idle_members) == (None, None, None, None)


def test_claims_are_bounded_before_the_topics_are_known():
    value = _group({"absurd": tuple(range(CLAIMS_MAX + 1))})
    assert bounded_claims(value, {}).protocol_type == UNREAD_ASSIGNMENTS
    fits = _group({"t": tuple(range(CLAIMS_MAX))})
    assert bounded_claims(fits, {}) is fits


sizes = st.dictionaries(st.sampled_from(["t", "u"]), st.integers(1, 9))
held = st.dictionaries(
    st.sampled_from(["t", "u", "v"]),
    st.sets(st.integers(0, 12), min_size=1).map(lambda numbers: tuple(sorted(numbers))),
)


@given(st.lists(held, min_size=1, max_size=3), sizes)
def test_partitions_that_exist_are_never_lost_below_the_bound(assigned, topic_sizes):
    free, bounds.FREE_CLAIMS = bounds.FREE_CLAIMS, 0
    try:
        bounded = bounded_claims(_group(*assigned), topic_sizes)
    finally:
        bounds.FREE_CLAIMS = free
    for before, after in zip(assigned, _assigned(bounded), strict=True):
        expected = {
            topic: kept
            for topic, numbers in before.items()
            if (kept := tuple(number for number in numbers if not topic_sizes or number < topic_sizes.get(topic, 0)))
        }
        assert after == expected
    assert claims(bounded) == sum(map(count_partitions, _assigned(bounded)))


def test_a_member_with_an_unreadable_subscription_is_bounded():
    value = _group({"absurd": tuple(range(30_000))})
    value = replace(value, members=(replace(value.members[0], subscription=None),))
    assert _assigned(bounded_claims(value, {"t": 1})) == [{}]
