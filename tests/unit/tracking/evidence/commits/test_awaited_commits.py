"""How long an episode waits for first commits, and which commits of a partition that was given up count."""

import pytest

from rebalance_agent.model.epoch_groups import GroupEpoch, MemberState, TargetEpoch
from support.tracker.epochs import current, fact, group_of_two, joins, named, target
from support.tracker.tracking import (
    WHOLE,
    closing,
    committed,
    feed,
    in_time,
    listed,
    member,
    record,
    tick,
    topics,
    watch,
)

COOP = {"protocol": "cooperative-sticky"}


def test_an_episode_waits_for_the_later_owner_of_what_was_taken_before_any_commit():
    """Seed 7: a librdkafka member got all, had to give up some to a second one, and committed first what it kept."""
    observations = in_time(
        topics(0, t=4),
        listed(500),
        record(1_000, 0),
        record(2_000, 1, member("a", (0, 1, 2, 3)), joined=1_900, **COOP),
        record(5_000, 2, member("a", (0, 1), owned=(0, 1, 2, 3)), member("b"), joined=4_900, **COOP),
        record(6_000, 3, member("a", (0, 1), owned=(0, 1)), member("b", (2, 3)), joined=5_900, **COOP),
        committed(8_000, 0, 1),
    )
    tracker, events = watch(*observations, tick(9_500), commits=False)
    assert closing(events) == []
    events = feed(tracker, committed(10_500, 2, 3), tick(12_000), commits=False)
    assert [event.stall.seconds for event in closing(events)] == [10.5 - 1.0, 10.5 - 1.0]


@pytest.mark.parametrize(("numbers", "upper"), [((0, 1, 2, 3), 13.0), ((0, 1), None)], ids=["its own", "the others"])
def test_a_commit_after_the_request_to_give_up_a_partition_shows_that_it_was_assigned(numbers, upper):
    """Seed 7: a librdkafka member of KIP-848 committed all that it had got when it revoked a part of it."""
    epochs = [
        WHOLE,
        named(),
        joins(1_000, "a"),
        fact(1_000, GroupEpoch(2)),
        target(1_000, "a", 0, 1, 2, 3),
        fact(1_000, TargetEpoch(2)),
        current(1_000, "a", 2, (0, 1, 2, 3)),
        joins(1_100, "b"),
        fact(1_100, GroupEpoch(3)),
        target(5_000, "a", 0, 1),
        target(5_000, "b", 2, 3),
        fact(5_000, TargetEpoch(3)),
        current(5_000, "a", 2, (0, 1), (2, 3), MemberState.UNREVOKED),
        committed(14_000, *numbers),
    ]
    _, events = watch(*epochs, tick(17_000), commits=False)
    assert [event.stall.seconds for event in closing(events)] == [upper]


def test_an_episode_waits_for_what_a_member_got_after_its_first_commit():
    """KIP-848: c gets 1 from a at once, and 3 from b, which revokes it later."""
    epochs = [
        *group_of_two((0, 1), (2, 3)),
        committed(2_000, 0, 1, 2, 3),
        committed(3_000, 0, 1, 2, 3),
        tick(9_000),
        joins(10_000, "c"),
        fact(10_000, GroupEpoch(3)),
        target(10_000, "a", 0),
        target(10_000, "b", 2),
        target(10_000, "c", 1, 3),
        fact(10_000, TargetEpoch(3)),
        current(10_100, "a", 2, (0,), (1,), MemberState.UNREVOKED),
        current(10_200, "b", 2, (2,), (3,), MemberState.UNREVOKED),
        current(10_300, "a", 3, (0,)),
        current(10_400, "c", 3, (1,), state=MemberState.UNRELEASED),
        committed(11_000, 1),
        current(12_000, "b", 3, (2,)),
        current(12_100, "c", 3, (1, 3)),
    ]
    tracker, events = watch(*epochs, tick(18_000), commits=False)
    assert [event.generation for event in closing(events)] == [2]
    events = feed(tracker, committed(18_500, 3), tick(19_000), commits=False)
    assert [event.stall.seconds for event in closing(events)] == [pytest.approx(18.5 - 10.2)]


LATE = (
    *in_time(
        topics(0, t=4),
        listed(500),
        record(1_000, 0),
        record(2_000, 1, member("a", (0, 1, 2, 3)), joined=1_900),
        committed(4_000, 0, 1, 2, 3),
        tick(9_000),
        listed(29_500),
        listed(29_700, "g"),
        record(30_000, 2, member("a", (0, 1)), member("b", (2, 3)), joined=29_900),
    ),
)
"""Its second rebalance ends at 30 s, and brokers become unavailable before any member commits."""


def test_an_event_comes_again_with_both_bounds_when_commits_come_late():
    tracker, events = watch(*LATE, tick(46_000), commits=False)
    assert [(event.revision, event.stall.seconds) for event in closing(events)][1:] == [(0, None)]
    assert feed(tracker, committed(90_000, 0, 1), tick(95_000), commits=False) == [], "b has not committed yet"
    (again,) = closing(feed(tracker, committed(100_000, 2), tick(111_000), commits=False))
    assert (again.revision, again.stall.seconds) == (1, pytest.approx(100.0 - 29.5))
    assert feed(tracker, committed(120_000, 0, 1, 2, 3), tick(500_000), commits=False) == []


def test_an_event_comes_again_before_later_rebalances_displace_it():
    later = [record(at, number, member("a", (0, 1)), member("b", (2, 3))) for at, number in ((60_000, 3), (70_000, 4))]
    tracker, _ = watch(*LATE, tick(46_000), commits=False)
    work = [committed(at, 0, 1, 2, 3) for at in (50_000, 62_000, 72_000)]
    events = feed(tracker, work[0], tick(50_500), later[0], work[1], tick(65_500), later[1], work[2], tick(75_500),
                  commits=False)  # fmt: skip
    assert [(event.generation, event.revision) for event in closing(events) if event.generation == 2] == [(2, 1)]


def test_an_event_of_a_group_that_did_not_commit_before_is_not_looked_at_again():
    """Otherwise groups without records to process would be checked for ten minutes after each rebalance."""
    tracker, events = watch(*[each for each in LATE if not hasattr(each, "commits")], tick(46_000), commits=False)
    assert [event.stall.seconds for event in closing(events)] == [None, None]
    assert feed(tracker, committed(90_000, 0, 1, 2, 3), tick(500_000), commits=False) == []
