"""Topic ids in records become names in events, even if the names are learned later."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.epoch_groups import (
    CurrentAssignment,
    EpochMember,
    GroupEpoch,
    MemberState,
    MemberTarget,
    TargetEpoch,
)
from rebalance_agent.tracking.observations import TopicsSeen
from rebalance_agent.tracking.rebalance.episodes.episode_stages import NAMES_WAIT_MAX_MS
from support.tracker.epochs import ID, current, deleted, fact, gone, joins, named, target
from support.tracker.tracking import (
    T0,
    WHOLE,
    closing,
    committed,
    feed,
    in_time,
    member,
    record,
    tick,
    tombstone,
    topics,
    watch,
)

SETTLE_MS = 1_000
STARTS = [
    joins(1_000, "a"),
    fact(1_000, GroupEpoch(2)),
    target(1_000, "a", 0, 1, 2, 3),
    fact(1_000, TargetEpoch(2)),
    current(1_000, "a", 2, (0, 1, 2, 3)),
]
JOINED = [
    joins(2_000, "b"),
    fact(2_000, GroupEpoch(3)),
    target(2_000, "a", 0, 1),
    target(2_000, "b", 2, 3),
    fact(2_000, TargetEpoch(3)),
    current(2_000, "a", 2, (0, 1), (2, 3)),
    current(2_100, "a", 3, (0, 1)),
    current(2_200, "b", 3, (2, 3)),
]
BACK = [  # to the classic protocol, and then "a" leaves
    *gone(6_000, "a"),
    *gone(6_000, "b"),
    *deleted(6_000),
    record(6_000, 3, member("a", (0, 1)), member("b", (2, 3))),
    record(7_000, 4, member("b", (0, 1, 2, 3))),
]
UNNAMED_UNTIL = 1_003 + SETTLE_MS + NAMES_WAIT_MAX_MS  # each record is read after 3 ms


def followed(*observations):
    return watch(WHOLE, *observations, settle_ms=SETTLE_MS)


def test_pending_reports_use_names_learned_in_the_meantime():
    _, late = followed(*STARTS, *JOINED, named(2_500), tick(20_000))
    _, early = followed(named(), *STARTS, *JOINED, tick(20_000))
    assert late == early
    assert [event.topics for event in closing(late)] == [{"t": 4}, {"t": 4}]


def test_reporting_waits_for_the_names_of_topics():
    tracker, nothing = followed(*STARTS, *JOINED, topics(1_500, t=4), tick(UNNAMED_UNTIL - 1))
    assert nothing == []
    assert tracker.unsettled("g")
    events = closing(feed(tracker, named(UNNAMED_UNTIL - 1), tick(UNNAMED_UNTIL)))
    assert [event.members[0].assigned for event in events] == [{"t": (0, 1, 2, 3)}, {"t": (0, 1)}]


def test_a_topic_without_a_name_is_reported_by_its_id_and_again_with_its_name():
    tracker, events = followed(*STARTS, topics(1_500, t=4), tick(UNNAMED_UNTIL))
    (by_id,) = closing(events)
    assert by_id.members[0].assigned == {ID: (0, 1, 2, 3)}
    (by_name,) = closing(feed(tracker, named(30_000), tick(30_000 + SETTLE_MS)))
    assert (by_name.event_id, by_name.revision) == (by_id.event_id, 1)
    assert by_name.members[0].assigned == {"t": (0, 1, 2, 3)}


def test_an_earlier_pending_rebalance_is_reported_first_with_the_same_name():
    alone = [
        *gone(3_000, "b"),
        fact(3_000, GroupEpoch(4)),
        target(3_000, "a", 0, 1, 2, 3),
        fact(3_000, TargetEpoch(4)),
        current(3_100, "a", 4, (0, 1, 2, 3)),
    ]
    _, late = followed(topics(0, t=4), *STARTS, *JOINED, *alone, named(UNNAMED_UNTIL + 1_500), tick(40_000))
    _, early = followed(named(), *STARTS, *JOINED, *alone, tick(40_000))
    last = {event.generation: replace(event, revision=0) for event in closing(late)}
    assert sorted(event.generation for event in closing(late)) == [2, 2, 3, 3, 4]
    assert list(last.values()) == closing(early)


def test_the_next_rebalance_is_compared_with_named_topics():
    tracker, _ = followed(*STARTS, topics(1_500, t=4), tick(UNNAMED_UNTIL), named(30_000))
    later = [
        *gone(40_000, "a"),
        joins(40_000, "b"),
        fact(40_000, GroupEpoch(3)),
        target(40_000, "b", 0, 1, 2, 3),
        fact(40_000, TargetEpoch(3)),
        current(40_100, "b", 3, (0, 1, 2, 3)),
    ]
    assert closing(feed(tracker, *later, tick(60_000)))[-1].moved == 4


def test_a_group_without_unnamed_topics_does_not_wait():
    _, events = followed(named(), *STARTS, tick(1_003 + SETTLE_MS))
    assert len(closing(events)) == 1


@pytest.mark.parametrize("named_ms", [6_500, 7_500, UNNAMED_UNTIL - 1])
def test_a_group_that_became_classic_is_reported_by_names(named_ms):
    _, late = followed(*STARTS, *JOINED, *BACK, named(named_ms), tick(40_000))
    _, early = followed(named(), *STARTS, *JOINED, *BACK, tick(40_000))
    assert late == early
    assert closing(late)[-1].moved == 2


def test_a_group_that_changed_its_type_is_reported_again_even_with_a_short_stall():
    there = [
        record(1_000, 0),
        record(2_000, 1, member("a", (0, 1, 2, 3))),
        tombstone(20_000),
        joins(20_000, "a", classic=True),
        fact(20_000, GroupEpoch(1)),
        target(20_000, "a", 0, 1, 2, 3),
        fact(20_000, TargetEpoch(1)),
        current(20_000, "a", 1, (0, 1, 2, 3)),
        joins(20_000, "b"),
        fact(20_000, GroupEpoch(2)),
        target(20_000, "a", 0, 1),
        target(20_000, "b", 2, 3),
        fact(20_000, TargetEpoch(2)),
        current(20_170, "a", 2, (0, 1)),
        current(20_190, "b", 2, (2, 3)),
    ]
    _, late = followed(topics(0, t=4), *there, tick(45_000), named(50_000), tick(60_000))
    _, early = followed(named(), *there, tick(60_000))
    by_id, by_name = closing(late)[-2:]
    assert (by_id.moved, by_id.revision, by_name.revision) == (0, 0, 1)
    assert replace(by_name, revision=0) == closing(early)[-1]


def test_partitions_that_all_members_revoked_are_reported_with_their_names():
    nobody = [
        fact(2_400, GroupEpoch(4)),
        target(2_400, "a"),
        target(2_400, "b"),
        fact(2_400, TargetEpoch(4)),
        current(2_410, "a", 3, (), (0, 1), MemberState.UNREVOKED),
        current(2_420, "b", 3, (), (2, 3), MemberState.UNREVOKED),
        current(2_500, "a", 4),
        current(2_510, "b", 4),
        fact(2_600, GroupEpoch(5)),
        target(2_600, "a", 0, 1, 2, 3),
        fact(2_600, TargetEpoch(5)),
        current(2_700, "b", 5),
        current(2_710, "a", 5, (0, 1, 2, 3)),
    ]
    _, late = followed(topics(0, t=4), *STARTS, *JOINED, *nobody, named(2_800), tick(40_000))
    _, early = followed(named(), *STARTS, *JOINED, *nobody, tick(40_000))
    assert late == early
    assert closing(late)[-1].stall.seconds > 0


def test_topics_that_grew_before_another_was_named_keep_their_former_size():
    starts = [
        fact(1_000, EpochMember("client-a", "/10.0.0.1", topics=("t", "u")), "a"),
        fact(1_000, GroupEpoch(2)),
        fact(1_000, MemberTarget({ID: (0,), "of-t": (0, 1)}), "a"),
        fact(1_000, TargetEpoch(2)),
        fact(1_000, CurrentAssignment(2, 1, MemberState.STABLE, {ID: (0,), "of-t": (0, 1)}), "a"),
    ]
    grown = TopicsSeen(T0 + 40_000, {"t": 8}, {"t": "of-t"})
    tracker, events = followed(TopicsSeen(T0, {"t": 2}, {"t": "of-t"}), *starts, tick(30_000), grown, tick(50_000))
    events += feed(tracker, TopicsSeen(T0 + 60_000, {"t": 8, "u": 1}, {"t": "of-t", "u": ID}), tick(70_000))
    assert [(event.topics, event.unassigned) for event in closing(events)] == [
        ({"t": 2, ID: 1}, 0),
        ({"t": 2, "u": 1}, 0),
    ]


def test_changes_of_other_topics_cause_no_revision():
    left_out = [
        joins(40_000, "a"),
        fact(40_000, GroupEpoch(3)),
        fact(40_000, TargetEpoch(3)),
        current(40_000, "a", 3, (0, 1, 2, 3)),
    ]
    starts = [fact(1_000, EpochMember("client-a", "/10.0.0.1", topics=("t", "x")), "a"), *STARTS[1:]]
    tracker, events = followed(topics(0, t=4, x=2), *starts, tick(30_000), *left_out, tick(70_000))
    assert closing(events)[-1].trigger is Trigger.SUBSCRIPTION_CHANGED
    assert feed(tracker, topics(200_000, t=4), tick(220_000)) == []  # it is deleted now, but existed then


JOINED_BY_ID = (WHOLE, topics(0, t=4), *STARTS, *JOINED)
"""Member B got partitions 2 and 3 at 2.2 s."""


@pytest.mark.parametrize(
    ("commits", "first"),
    [((3_000,), 3_000), ((2_100, 2_150, 2_400, 2_600), 2_400), ((2_150, 2_400), 2_400), ((2_150, 3_000), 3_000)],
)
def test_commits_end_the_stall_of_a_topic_named_later(commits, first):
    """Commits have the name, records of assignments the id; A owned 2 and 3 until 2.1 s, requested at 2.0 s."""
    history = in_time(
        *JOINED_BY_ID, committed(1_500, 0, 1, 2, 3), *(committed(at, 2, 3) for at in commits), named(2_800)
    )
    _, events = watch(*history, tick(20_000), settle_ms=SETTLE_MS, commits=False)
    stall = closing(events)[-1].stall
    assert (stall.lower_seconds, stall.seconds) == (pytest.approx(0.1), (first - 2_000) / 1_000)


def test_an_open_stall_of_a_topic_continues_when_its_name_is_known():
    taken = [
        *gone(40_000, "b"),
        fact(40_000, GroupEpoch(4)),
        target(40_000, "a", 0, 1, 2, 3),
        fact(40_000, TargetEpoch(4)),
        current(40_100, "a", 4, (0, 1, 2, 3)),
        committed(41_000, 2, 3),
    ]
    for by_name, since in (((), 1.0), ([committed(39_000, 2, 3)], 2.2)):
        history = in_time(*JOINED_BY_ID, tick(UNNAMED_UNTIL + 5_000), named(30_000), *by_name, *taken)
        _, events = watch(*history, tick(90_000), settle_ms=SETTLE_MS, commits=False)
        assert closing(events)[-1].stall.seconds == pytest.approx(41.0 - since)
