"""How a member departed and which partitions it lost: from its reports, its commits, or unknown."""

import pytest

from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.epoch_groups import GroupEpoch, MemberState, TargetEpoch
from rebalance_agent.model.events import Callback
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.epochs import current, fact, gone, group_of_two, target
from support.tracker.tracking import (
    B_GONE,
    TWO_EAGER,
    assigned,
    closing,
    committed,
    feed,
    in_time,
    listed,
    member,
    record,
    revoked,
    said,
    tick,
    topics,
    watch,
    written_by,
)

REPORT = (assigned("b", 4_000, 4_010, 1, (2, 3)),)


def commits_of_b(until, *, every=5_000, since=5_000):
    return [committed(at, 2, 3) for at in range(since, until + 1, every)]


def reported(*observations, known=TWO_EAGER, commits=False):
    tracker, events = watch(*in_time(*known, *observations), tick(150_000), commits=commits)
    event, counters = closing(events)[-1], tracker.view("g").counters
    return event.trigger, event.lost, event.lost_min, counters.lost


WAITED = (listed(80_000), *(listed(at, "g") for at in range(80_200, 110_201, 5_000)))
"""Polls show the group waiting for members for 30 s, its rebalance timeout."""

GONE = (Trigger.MEMBER_GONE, None, 0, 0)

# The session timeout is 15 s, the poll interval 30 s; b is removed between 80.0 and 80.2 s.


def test_without_reports_and_commits_it_is_unknown_how_many_partitions_were_lost():
    assert reported(*B_GONE) == (Trigger.MEMBER_GONE, None, 0, 0)


def test_a_member_that_committed_within_its_session_timeout_left():
    assert reported(*commits_of_b(79_000, every=1_000), *B_GONE) == (Trigger.MEMBER_LEFT, 0, 0, 0)


@pytest.mark.parametrize("last", [60_000, 65_000])
def test_a_member_that_was_removed_one_session_timeout_after_regular_commits_failed(last):
    assert reported(*commits_of_b(last), *B_GONE) == (Trigger.MEMBER_FAILED, 2, 2, 2)


def test_a_member_that_was_removed_one_poll_interval_after_regular_commits_failed():
    assert reported(*commits_of_b(50_000), *B_GONE) == (Trigger.MEMBER_FAILED, 2, 2, 2)


@pytest.mark.parametrize(
    "commits",
    [
        commits_of_b(30_000),  # long before both timeouts: it had no new records, and left
        commits_of_b(65_000, since=65_000),  # once: it did not have to commit again
        commits_of_b(65_000, every=30_000),  # seldom: likewise
    ],
)
def test_missing_commits_alone_are_no_failure(commits):
    assert reported(*commits, *B_GONE) == (Trigger.MEMBER_GONE, None, 0, 0)
    assert reported(*REPORT, *B_GONE) == (Trigger.MEMBER_GONE, None, 0, 0)


def test_a_reporting_member_without_reports_and_commits_for_its_session_timeout_failed():
    assert reported(*REPORT, *commits_of_b(30_000), *B_GONE) == (Trigger.MEMBER_FAILED, 2, 2, 2)


def test_a_reporting_member_without_a_last_report_left_if_it_committed():
    assert reported(*REPORT, *commits_of_b(80_000), *B_GONE) == (Trigger.MEMBER_LEFT, 0, 0, 0)


def test_a_static_member_that_closes_expires_like_a_failed_one():
    """Its close sends no LeaveGroup."""
    static = member("b", (2, 3), instance="i")
    known = (topics(0, t=4), listed(500), record(1_000, 0), record(4_000, 1, member("a", (0, 1)), static, joined=3_990))
    assert reported(*commits_of_b(65_000), *B_GONE, known=known) == (Trigger.MEMBER_GONE, None, 0, 0)


def test_a_member_that_committed_while_others_waited_for_it_was_removed():
    """The rebalance timeout is 30 s: the join phase took longer."""
    late = record(110_300, 2, member("a", (0, 1, 2, 3)), joined=110_250)
    assert reported(*commits_of_b(105_000), *WAITED, late) == (Trigger.MEMBER_FAILED, 2, 2, 2)


@pytest.mark.parametrize(("returned", "trigger", "lost"), [(82_900, "member_left", 0), (84_000, "member_failed", 2)])
def test_a_member_whose_callback_returns_after_the_join_phase_was_expelled(returned, trigger, lost):
    """The record comes even later, because the leader's assign() took long."""
    death = (listed(80_000), listed(80_200, "g"), record(90_000, 2, member("a", (0, 1, 2, 3)), joined=82_990))
    report = revoked("b", 80_300, returned, 1, (2, 3))
    assert reported(*death, report) == (Trigger(trigger), lost, lost, lost)


def test_the_member_that_the_others_waited_for_until_the_rebalance_timeout_was_expelled_and_is_named():
    """Without reports and commits: it is the only one gone, and a failed one would have been removed after 15 s."""
    late = record(110_300, 2, member("a", (0, 1, 2, 3)), joined=110_250)
    assert reported(*WAITED, late) == (Trigger.MEMBER_FAILED, 2, 2, 2)
    tracker, events = watch(*in_time(*TWO_EAGER, *WAITED, late), tick(150_000), commits=False)
    event, view = closing(events)[-1], tracker.view("g")
    assert (event.slowest_member_id, event.slowest_client_id, event.slowest_host) == ("b", "client-b", "/10.0.0.1")
    assert (event.slowest_lower_seconds, event.slowest_seconds) == (30.0, 30.25)
    assert (view.awaited[0].client_id, view.awaited[0].seconds) == ("client-b", 30.0)
    assert view.counters.expelled == 1


def test_the_member_that_was_expelled_by_its_own_report_is_named():
    death = (listed(80_000), listed(80_200, "g"), record(90_000, 2, member("a", (0, 1, 2, 3)), joined=82_990))
    report = revoked("b", 80_300, 84_000, 1, (2, 3))
    _, events = watch(*in_time(*TWO_EAGER, *death, report), tick(150_000), commits=False)
    assert (closing(events)[-1].slowest_client_id, closing(events)[-1].slowest_seconds) == ("client-b", 2.99)


JOINED_AGAIN = (
    listed(84_100),
    listed(84_150, "g"),
    revoked("a", 84_160, 84_300, 2, (0, 1, 2, 3)),
    record(84_400, 3, member("a", (0, 1)), member("b2", (2, 3), client="client-b"), joined=84_350),
)
"""A member that was removed during its revoked callback rejoins under a new id."""


@pytest.mark.parametrize("received", [84_000, 120_000])
@pytest.mark.parametrize("lost_too", [False, True])
def test_a_member_expelled_during_its_callback_is_still_named_after_its_rejoin(received, lost_too):
    """The next rebalance has another slowest member, moments later; the report may come when both are settled."""
    reports = [revoked("b", 80_300, 84_000, 1, (2, 3), received=received)]
    if lost_too:
        reports.append(said(Callback.LOST, "b", 84_010, 84_020, 1, (2, 3), received=received))
    observed = in_time(*TWO_EAGER, *B_GONE, *JOINED_AGAIN, *reports)
    tracker, _ = watch(*observed, tick(150_000), commits=False)
    view = tracker.view("g")
    assert view.last_episode.slowest_client_id == "client-a"
    waits = [(each.client_id, each.host, each.seconds) for each in view.awaited]
    assert waits == [("client-a", "10.0.0.1", 0.14), ("client-b", "10.0.0.1", 2.79)]
    assert view.counters.expelled == 1


def test_a_views_last_rebalance_is_updated_by_late_reports():
    tracker, _ = watch(*in_time(*TWO_EAGER, *B_GONE), tick(110_000), commits=False)
    before = tracker.view("g")
    assert (before.last_episode.slowest_client_id, before.awaited, before.counters.expelled) == (None, (), 0)
    feed(tracker, revoked("b", 80_300, 84_000, 1, (2, 3), received=120_000), tick(150_000), commits=False)
    after = tracker.view("g")
    assert (after.last_episode.slowest_client_id, after.last_episode.revision) == ("client-b", 1)
    assert ([each.client_id for each in after.awaited], after.counters.expelled) == (["client-b"], 1)
    assert after.version > before.version


def test_no_slowest_member_is_named_if_several_are_gone():
    three = (member("a", (0, 1)), member("b", (2, 3)), member("c", (4, 5)))
    known = (topics(0, t=6), listed(500), record(1_000, 0), record(4_000, 1, *three, joined=3_990))
    late = record(110_300, 2, member("a", tuple(range(6))), joined=110_250)
    _, events = watch(*in_time(*known, *WAITED, late), tick(150_000), commits=False)
    assert (closing(events)[-1].trigger, closing(events)[-1].slowest_member_id) == (Trigger.MEMBER_GONE, None)


def test_only_partitions_of_the_certainly_failed_one_of_two_members_are_counted():
    three = (member("a", (0, 1)), member("b", (2, 3)), member("c", (4, 5)))
    known = (topics(0, t=6), listed(500), record(1_000, 0), record(4_000, 1, *three, joined=3_990))
    assert reported(*commits_of_b(65_000), *B_GONE, known=known) == (Trigger.MEMBER_FAILED, None, 2, 2)


def test_a_member_without_partitions_lost_none():
    idle = (member("a", (0, 1, 2, 3)), member("b"))
    known = (topics(0, t=4), listed(500), record(1_000, 0), record(4_000, 1, *idle, joined=3_990))
    assert reported(*B_GONE, known=known) == (Trigger.MEMBER_GONE, 0, 0, 0)


@pytest.mark.parametrize(
    ("commits", "same", "other"),
    [
        (commits_of_b(79_000, every=1_000), (Trigger.MEMBER_LEFT, 0, 0, 0), GONE),
        (commits_of_b(65_000), (Trigger.MEMBER_FAILED, 2, 2, 2), GONE),
    ],
    ids=["left", "failed"],
)
def test_after_a_change_of_the_coordinator_the_time_since_a_commit_proves_nothing(commits, same, other):
    """It restarted b's session."""
    for leader_epoch, expected in ((3, same), (4, other)):
        assert reported(*commits, *written_by(leader_epoch, *B_GONE), known=written_by(3, *TWO_EAGER)) == expected


def test_a_commit_to_the_new_coordinator_shows_how_a_member_departed():
    another = record(40_000, 1, member("x", ()), group="other")
    history = *written_by(3, *TWO_EAGER), *written_by(4, another, *B_GONE)
    assert reported(*commits_of_b(65_000), known=history) == (Trigger.MEMBER_FAILED, 2, 2, 2)


def test_the_member_that_the_others_waited_for_may_have_failed_under_a_new_coordinator():
    """It restarted b's session and the rebalance."""
    late = record(110_300, 2, member("a", (0, 1, 2, 3)), joined=110_250)
    assert reported(*written_by(4, *WAITED, late), known=written_by(3, *TWO_EAGER)) == GONE


BOTH = group_of_two((0, 1), (2, 3), rebalance_timeout_ms=30_000)


@pytest.mark.parametrize(
    ("removed", "expected"),
    [
        (60_500, (Trigger.MEMBER_LEFT, 0)),
        (75_000, (Trigger.MEMBER_GONE, None)),
        (101_000, (Trigger.MEMBER_FAILED, 2)),  # with a heartbeat every 5 s, its last one may be older than its commit
        (107_000, (Trigger.MEMBER_FAILED, 2)),
        (125_000, (Trigger.MEMBER_GONE, None)),
    ],
)
def test_commits_show_how_members_of_epoch_groups_departed(removed, expected):
    """Their session timeout is 45 s by default, and unknown."""
    work = [committed(at, 0, 1) for at in range(20_000, 60_001, 5_000)]
    taken_over = [
        fact(removed, GroupEpoch(3)),
        target(removed, "b", 0, 1, 2, 3),
        fact(removed, TargetEpoch(3)),
        current(removed + 500, "b", 3, (0, 1, 2, 3)),
    ]
    records = *gone(removed, "a"), *taken_over
    event = closing(feed(Tracker("cluster", settle_ms=1_000), *BOTH, *work, *records, tick(200_000), commits=False))[-1]
    assert (event.trigger, event.lost) == expected


def test_after_a_change_of_the_coordinator_the_departure_of_an_epoch_groups_member_is_unknown():
    """It restarts their sessions and their timeouts to revoke."""
    work = [committed(at, 0, 1) for at in range(20_000, 60_001, 5_000)]
    slow = [
        fact(60_000, GroupEpoch(3)),
        target(60_000, "a", 0),
        target(60_000, "b", 1, 2, 3),
        fact(60_000, TargetEpoch(3)),
        current(61_000, "a", 2, (0,), (1,), MemberState.UNREVOKED),
    ]
    for removed, asked, how in ((60_500, (), "left"), (107_000, (), "failed"), (92_000, slow, "failed")):
        records = [
            *gone(removed, "a"),
            fact(removed, GroupEpoch(4)),
            target(removed, "b", 0, 1, 2, 3),
            fact(removed, TargetEpoch(4)),
            current(removed + 500, "b", 4, (0, 1, 2, 3)),
        ]
        for leader_epoch, expected in ((3, f"member_{how}"), (4, "member_gone")):
            history = *written_by(3, *BOTH, *work, *asked), *written_by(leader_epoch, *records)
            events = feed(Tracker("cluster", settle_ms=1_000), *history, tick(200_000), commits=False)
            assert closing(events)[-1].trigger == expected
