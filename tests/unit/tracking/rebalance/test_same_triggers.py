"""Two observers determine the same trigger of an event, independent of the times of their topic polls."""

from dataclasses import replace

import pytest

from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.epoch_groups import (
    CurrentAssignment,
    EpochMember,
    GroupEpoch,
    MemberState,
    MemberTarget,
    ResolvedPattern,
    TargetEpoch,
    Topology,
)
from rebalance_agent.model.group import GroupType
from rebalance_agent.tracking.observations import TopicsSeen
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.epochs import ID, current, fact, joins, named, target
from support.tracker.tracking import T0, WHOLE, closing, feed, in_time, member, record, tick, topics, watch

ALL = (0, 1, 2, 3)


def triggers_of(*observations):
    _, events = watch(*in_time(*observations), tick(900_000))
    return [event.causes for event in closing(events)][1:]


@pytest.mark.parametrize("asked", [6_000, 15_000, 25_000, None])
def test_partitions_changed_when_a_record_first_assigns_new_ones(asked):
    """The topic grows at 5 s, but a's client notices only at 20 s: the rebalance at 10 s has another cause."""
    grown = [topics(asked, t=6)] if asked else []
    records = (
        record(1_000, 1, member("a", ALL)),
        record(10_000, 2, member("a", (0, 1)), member("b", (2, 3))),
        record(20_000, 3, member("a", (0, 1, 2)), member("b", (3, 4, 5))),
    )
    assert triggers_of(topics(0, t=4), *grown, *records) == [(Trigger.MEMBER_JOINED,), (Trigger.PARTITIONS_CHANGED,)]


def test_partitions_assigned_by_a_follow_up_are_not_new():
    coop = {"protocol": "cooperative-sticky"}
    records = (
        record(1_000, 1, member("a", ALL, owned=ALL), **coop),
        record(10_000, 2, member("a", (0, 1), owned=ALL), member("b"), **coop),
        record(10_100, 3, member("a", (0, 1), owned=(0, 1)), member("b", (2, 3)), **coop),
    )
    assert triggers_of(topics(0, t=4), *records) == [(Trigger.MEMBER_JOINED,)]


def test_a_topic_recreated_with_fewer_partitions_is_a_cause():
    records = record(1_000, 1, member("a", ALL)), record(20_000, 2, member("a", (0, 1)))
    assert triggers_of(topics(0, t=4), topics(15_000, t=2), *records) == [(Trigger.PARTITIONS_CHANGED,)]
    assert triggers_of(topics(0, t=4), *records) == [(Trigger.REJOIN,)], "two partitions have no owner"


@pytest.mark.parametrize("asked", [6_000, 15_000, 30_000])
def test_a_new_topic_is_a_cause_when_a_client_notices_it_minutes_later(asked):
    """Its pattern matches the topic that was created at 5 s; a rebalance of another cause comes first."""
    records = (
        record(1_000, 1, member("a", ALL)),
        record(10_000, 2, member("a", (0, 1)), member("b", (2, 3))),
        record(30_000, 3, member("a", {"t": (0, 1), "new": (0,)}, topics=("t", "new")), member("b", (2, 3))),
    )
    causes = triggers_of(topics(0, t=4), topics(asked, t=4, new=1), *records)
    assert causes == [(Trigger.MEMBER_JOINED,), (Trigger.TOPICS_CHANGED,)]


def test_an_old_topic_is_a_changed_subscription():
    after = record(800_000, 2, member("a", {"t": ALL, "old": (0,)}, topics=("t", "old")))
    known = topics(0, t=4), topics(5_000, t=4, old=1), record(400_000, 1, member("a", ALL)), after
    assert triggers_of(*known) == [(Trigger.SUBSCRIPTION_CHANGED,)]


# Epoch groups


def epoch(at, number, *members, hashed=0):
    """All members reach an epoch."""
    return [
        fact(at, GroupEpoch(number, metadata_hash=hashed)),
        *(target(at, name, *numbers) for name, numbers in members),
        fact(at, TargetEpoch(number)),
        *(current(at, name, number, numbers) for name, numbers in members),
    ]


def causes_in(*records):
    return closing(feed(Tracker("cluster", settle_ms=1_000), *records, tick(200_000)))[-1].causes


@pytest.mark.parametrize(("pattern", "cause"), [("t.*", Trigger.TOPICS_CHANGED), ("t|u", Trigger.SUBSCRIPTION_CHANGED)])
def test_an_unchanged_pattern_is_the_same_subscription(pattern, cause):
    """No list of topics shows the creation of u, but the record of the pattern does."""
    seen = TopicsSeen(T0, {"t": 4, "u": 1}, {"t": ID, "u": "other"})
    by_pattern = EpochMember("client-a", "/10.0.0.1", pattern="t.*")
    group = [seen, WHOLE, fact(1_000, by_pattern, "a"), fact(1_000, ResolvedPattern(("t",)), "t.*")]
    group += epoch(1_000, 1, ("a", ALL))
    changed = [
        fact(20_000, replace(by_pattern, pattern=pattern), "a"),
        fact(20_000, ResolvedPattern(("t", "u")), pattern),
    ]
    assert causes_in(*group, *changed, *epoch(20_000, 2, ("a", ALL))) == (cause,)


@pytest.mark.parametrize(
    ("before", "after", "cause"),
    [(7, 8, Trigger.RACKS_CHANGED), (7, 7, Trigger.REJOIN), (0, 8, Trigger.REJOIN)],
)
def test_another_hash_of_unchanged_topics_means_other_racks(before, after, cause):
    """The hash covers names, ids, partition counts and racks (KIP-1101). The first one proves nothing."""
    group = [named(), WHOLE, joins(1_000, "a"), *epoch(1_000, 1, ("a", ALL), hashed=before)]
    assert causes_in(*group, *epoch(20_000, 2, ("a", ALL), hashed=after)) == (cause,)


def test_a_hash_that_changes_with_partitions_means_no_other_racks():
    group = [named(), WHOLE, joins(1_000, "a"), *epoch(1_000, 1, ("a", ALL), hashed=7)]
    assert causes_in(*group, *epoch(20_000, 2, ("a", (*ALL, 4)), hashed=8)) == (Trigger.PARTITIONS_CHANGED,)
    assert causes_in(*group, named(10_000, t=5), *epoch(20_000, 2, ("a", ALL), hashed=8)) == (Trigger.REJOIN,)


def test_a_member_that_returns_in_another_rack_is_a_cause():
    old = member("a", ALL)
    moved = replace(old, subscription=replace(old.subscription, rack_id="b"))
    assert triggers_of(topics(0, t=4), record(1_000, 1, old), record(9_000, 2, moved)) == [(Trigger.RACKS_CHANGED,)]


def streams_epoch(at, number, tasks, *, hashed, validated=1):
    """One member of a streams group reaches an epoch with these active tasks: subtopology -> numbers."""
    values = (
        (GroupEpoch(number, validated, hashed), ""),
        (MemberTarget(tasks), "a"),
        (TargetEpoch(number), ""),
        (CurrentAssignment(number, number - 1, MemberState.STABLE, tasks), "a"),
    )
    return [fact(at, value, subject, group_type=GroupType.STREAMS) for value, subject in values]


def streams_causes(*later, sources=("t",), validated=1, tasks=(0, 1), seen=None):
    """The causes of the rebalance at 20 s of a group with one subtopology; its hash changes from 7 to 8."""
    began = [(EpochMember("c", "/h", process="p"), "a"), (Topology({"0": sources}, 1), "")]
    return causes_in(
        seen or topics(0, t=2, u=2),
        WHOLE,
        *(fact(1_000, value, subject, group_type=GroupType.STREAMS) for value, subject in began),
        *streams_epoch(1_000, 1, {"0": (0, 1)}, hashed=7, validated=validated),
        *later,
        *streams_epoch(20_000, 2, {"0": tasks}, hashed=8, validated=validated),
    )


@pytest.mark.parametrize("sources", [("t",), ("t", "u")])
def test_another_hash_of_a_streams_groups_unchanged_topics_means_other_racks(sources):
    assert streams_causes(sources=sources) == (Trigger.RACKS_CHANGED,)


def test_the_hash_of_a_streams_group_proves_nothing_while_its_topics_are_not_validated():
    """Then the group may lack an internal topic, whose creation changes the hash; Kafka 4.1 records no validation."""
    assert streams_causes(validated=-1) == (Trigger.REJOIN,)


def test_the_hash_of_a_streams_group_proves_nothing_if_a_topic_can_grow_without_a_new_task():
    assert streams_causes(sources=("t", "u"), seen=topics(0, t=2, u=1)) == (Trigger.REJOIN,)


def test_a_streams_groups_hash_that_changes_with_its_topics_means_no_other_racks():
    assert streams_causes(tasks=(0, 1, 2)) == (Trigger.PARTITIONS_CHANGED,)
    recreated = topics(10_000, u=2), topics(12_000, t=2, u=2)
    assert streams_causes(*recreated) == (Trigger.REJOIN,)


def test_a_streams_groups_hash_proves_nothing_without_a_list_of_topics():
    assert streams_causes(seen=WHOLE) == (Trigger.REJOIN,)


def test_the_hash_of_a_share_group_proves_nothing():
    """New partitions change the hash in one epoch, and are assigned in a later one."""

    def share(at, number, hashed):
        values = (
            (GroupEpoch(number, metadata_hash=hashed), ""),
            (TargetEpoch(number), ""),
            (CurrentAssignment(number, number - 1, MemberState.STABLE, {ID: (0, 1, 2, 3)}), "a"),
        )
        return [fact(at, value, subject, group_type=GroupType.SHARE) for value, subject in values]

    joined = fact(1_000, EpochMember("c", "/h", topics=("t",)), "a", group_type=GroupType.SHARE)
    assert causes_in(named(), WHOLE, joined, *share(1_000, 1, 7), *share(20_000, 2, 8)) == (Trigger.REJOIN,)
