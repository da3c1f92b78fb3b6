"""When departed members stopped and how they left, from commits and records."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rebalance_agent.model.episode import Basis, Trigger
from rebalance_agent.model.epoch_groups import CurrentAssignment, GroupEpoch, MemberState, TargetEpoch
from rebalance_agent.model.reported.seat_event import SEAT_PREFIX
from rebalance_agent.tracking.evidence import last_seen
from rebalance_agent.tracking.evidence.known_times import LastSeen
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.epochs import current, fact, gone, group_of_two, joins, target
from support.tracker.tracking import (
    B_GONE,
    T0,
    TWO_EAGER,
    closing,
    committed,
    feed,
    in_time,
    listed,
    member,
    record,
    tick,
    topics,
    triggers,
    watch,
)


def stall_of(*commits, death=B_GONE):
    _, events = watch(*in_time(*TWO_EAGER, *commits, *death), tick(99_000))
    return closing(events)[-1].stall


def test_a_departed_member_worked_until_its_second_last_commit():
    """The last one may be that of its revoked callback, long after it stopped working."""
    stall = stall_of(committed(50_000, 0, 1, 2, 3), committed(60_000, 2), committed(79_000, 0, 1))
    assert (stall.seconds, stall.lower_seconds, stall.basis) == (33.5, 2.8, Basis.BOUND)
    assert stall.upper_partition_seconds == pytest.approx(2 * 33.5 + 2 * 3.0)  # a's own stop when it rejoins


def test_the_stall_of_a_clean_leave_begins_at_the_second_last_commit():
    stall = stall_of(committed(74_990, 2, 3), committed(79_990, 2, 3))
    assert (stall.seconds, stall.upper_partition_seconds) == (8.51, pytest.approx(2 * 8.51 + 2 * 3.0))


@pytest.mark.parametrize(
    "commits",
    [
        [committed(29_000, 2, 3), committed(30_000, 2, 3)],  # longer ago than its session timeout
        [committed(78_000, 0, 1), committed(79_000, 0, 1)],  # a commit of another member
        [committed(78_000, 2, 3, group="h"), committed(79_000, 2, 3, group="h")],
        [committed(3_000, 2, 3), committed(3_995, 2, 3)],  # a commit of the previous owner
        [committed(79_000, 2, 3)],  # the only commit: perhaps the one at its end
        [committed(79_000, 2, 3), committed(79_000, 2, 3)],  # the same commit
        [committed(79_000, 2, 3), committed(83_500, 2, 3, seen=82_999)],  # the second commit is the current owner's
    ],
)
def test_a_commit_without_evidence_about_the_end_changes_nothing(commits):
    assert stall_of(*commits) == stall_of()
    assert (stall_of().seconds, stall_of().upper_partition_seconds) == (48.0, pytest.approx(2 * 48.0 + 2 * 3.0))


def test_a_member_cannot_have_stopped_before_its_assignment():
    soon = (listed(9_000), listed(9_200, "g"), record(12_000, 2, member("a", (0, 1, 2, 3)), joined=11_990))
    assert stall_of(death=soon).seconds == pytest.approx(12 - 3.99)


def test_cooperative_members_may_have_failed_during_the_join_phase_of_others():
    coop = {"protocol": "cooperative-sticky"}
    a, b = member("a", (0, 1)), member("b", (2, 3))
    _, events = watch(
        topics(0, t=4),
        listed(900),
        record(4_000, 1, a, b, joined=3_990, **coop),
        listed(9_900),
        listed(10_000, "g"),
        record(20_000, 2, member("a", (0, 1), owned=(0, 1)), member("b", (2, 3), owned=(2, 3)), joined=19_990, **coop),
        listed(30_000),
        listed(30_200, "g"),
        record(33_000, 3, member("a", (0, 1, 2, 3), owned=(0, 1)), joined=32_990, **coop),
        tick(60_000),
    )
    assert closing(events)[-1].stall.seconds == pytest.approx(33 - 9.9)


def static(name, instance, *numbers):
    return member(name, numbers, instance=instance)


STATIC = (
    topics(0, t=4),
    listed(900),
    record(4_000, 1, static("a-1", "A", 0, 1), static("b-1", "B", 2, 3), joined=3_990),
)
RETURN = record(70_000, 1, static("a-2", "A", 0, 1), static("b-1", "B", 2, 3), joined=3_990)


def test_the_stall_of_a_static_members_return_begins_at_its_second_last_commit_or_a_session_before():
    stalls = []
    for commits in ((), (committed(53_000, 0, 1, 2, 3), committed(58_000, 0, 1, 2, 3))):
        _, events = watch(*STATIC, *commits, RETURN, tick(99_000))
        stalls.append(closing(events)[-1].stall)
    assert [(each.seconds, each.upper_partition_seconds) for each in stalls] == [(45.0, 90.0), (17.5, 35.0)]


def test_the_return_of_a_member_is_no_evidence_about_another():
    died = (listed(80_000), listed(80_200, "g"), record(83_000, 2, static("a-2", "A", 0, 1, 2, 3), joined=82_990))
    _, events = watch(*STATIC, RETURN, *died, tick(99_000))
    assert closing(events)[-1].stall.seconds == 48.0  # not 13, because a's return is no sign of life of b
    back = (listed(80_000), listed(80_200, "g"), record(83_000, 2, static("b-1", "B", 0, 1, 2, 3), joined=82_990))
    _, events = watch(*STATIC, RETURN, *back, tick(99_000))
    assert closing(events)[-1].stall.seconds == 13.0


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 90_000), st.sets(st.integers(0, 3), min_size=1)), max_size=8))
@example([(80_001, {0, 1, 2})])
def test_commits_only_ever_tighten(commits):
    without, stall = stall_of(), stall_of(*(committed(at, *numbers) for at, numbers in commits))
    assert without.lower_seconds == stall.lower_seconds <= stall.seconds <= without.seconds
    assert without.partition_seconds == stall.partition_seconds <= stall.upper_partition_seconds
    assert stall.upper_partition_seconds <= without.upper_partition_seconds + 1e-6


# Epoch groups

BOTH = group_of_two((0, 1), (2, 3), rebalance_timeout_ms=30_000)


def taken_over(at, epoch):
    """b gets everything."""
    return [
        fact(at, GroupEpoch(epoch)),
        target(at, "b", 0, 1, 2, 3),
        fact(at, TargetEpoch(epoch)),
        current(at + 500, "b", epoch, (0, 1, 2, 3)),
    ]


def reported(*records):
    return feed(Tracker("cluster", settle_ms=1_000), *BOTH, *records, tick(200_000))


def test_a_member_of_an_epoch_group_was_last_seen_at_its_assignment_or_commit():
    without = closing(reported(*gone(21_000, "a"), *taken_over(21_000, 3)))[-1].stall
    assert (without.seconds, without.upper_partition_seconds) == (20.5, 41.0)
    commits = committed(12_000, 0), committed(15_000, 0)
    with_commit = closing(reported(*commits, *gone(21_000, "a"), *taken_over(21_000, 3)))[-1].stall
    assert (with_commit.seconds, with_commit.upper_partition_seconds) == (10.0, 20.0)


def test_heartbeats_of_a_seat_do_not_show_that_its_consumer_ran():
    """A gateway sends them while the seat has no consumer. The consumer may have ended before the assignment."""
    seat = group_of_two((0, 1), (2, 3), rebalance_timeout_ms=30_000, instance_id=f"{SEAT_PREFIX}1-0")
    tracker, end = Tracker("cluster", settle_ms=1_000), (*gone(21_000, "a"), *taken_over(21_000, 3), tick(200_000))
    assert closing(feed(tracker, *seat, *end))[-1].stall.seconds == 75.5
    tracker, commits = Tracker("cluster", settle_ms=1_000), (committed(12_000, 0), committed(15_000, 0))
    assert closing(feed(tracker, *seat, *commits, *end))[-1].stall.seconds == 10.0


def test_a_member_that_did_not_revoke_within_its_rebalance_timeout_failed():
    asked = [
        fact(10_000, GroupEpoch(3)),
        target(10_000, "a", 0),
        target(10_000, "b", 1, 2, 3),
        fact(10_000, TargetEpoch(3)),
        current(11_000, "a", 2, (0,), (1,), MemberState.UNREVOKED),
    ]
    for at, trigger in ((41_000, Trigger.MEMBER_FAILED), (40_000, Trigger.MEMBER_GONE)):
        tracker = Tracker("cluster", settle_ms=1_000)
        feed(tracker, *BOTH, *asked, *gone(at, "a"), *taken_over(at, 4), tick(200_000))
        assert tracker.view("g").counters.expelled == (trigger is Trigger.MEMBER_FAILED)
        events = reported(*asked, *gone(at, "a"), *taken_over(at, 4))
        assert triggers(events)[-1] is trigger
        assert closing(events)[-1].slowest_client_id == "client-a"
        assert closing(events)[-1].lost == (2 if trigger is Trigger.MEMBER_FAILED else None)


@pytest.mark.parametrize("departs_again", [False, True])
def test_the_work_of_a_member_after_its_return_shows_nothing_about_the_time_before(departs_again):
    """A member is suspended and removed, and returns under its id before the other member has revoked."""
    before = [committed(at, 0, 1) for at in (3_000, 4_000, 5_000)]
    removed = [
        *gone(21_000, "a"),
        fact(21_000, GroupEpoch(3)),
        target(21_000, "b", 0, 1, 2, 3),
        fact(21_000, TargetEpoch(3)),
    ]
    back = [
        joins(30_000, "a", rebalance_timeout_ms=30_000),
        fact(30_000, GroupEpoch(4)),
        target(30_000, "a", 0, 1),
        target(30_000, "b", 2, 3),
        fact(30_000, TargetEpoch(4)),
        current(30_000, "a", 4, (0, 1)),
        *(committed(at, 0, 1) for at in (31_000, 36_000, 37_000, 38_000)),
        current(38_500, "a", 4, (0,), (1,), MemberState.UNREVOKED),
        current(38_600, "a", 4, (0, 1)),
    ]
    again = [*gone(38_700, "a"), *taken_over(38_800, 5)] if departs_again else [current(39_000, "b", 4, (2, 3))]
    stall = closing(reported(*before, *removed, *back, *again))[-1].stall
    assert stall.seconds == 26.5  # from its second last commit before until its first commit after its return


def test_a_static_member_that_left_for_a_while_and_did_not_return_left():
    away = fact(10_000, CurrentAssignment(-2, 2, MemberState.STABLE, {}), "a")
    events = reported(away, *gone(55_000, "a"), *taken_over(55_000, 3))
    assert triggers(events)[-1] is Trigger.MEMBER_LEFT
    stall = closing(events)[-1].stall
    assert (stall.lower_seconds, stall.seconds) == (45.5, 54.5)
    assert triggers(reported(*gone(55_000, "a"), *taken_over(55_000, 3)))[-1] is Trigger.MEMBER_GONE


def test_the_number_of_departed_members_stored_for_an_unstable_group_is_bounded(monkeypatch):
    monkeypatch.setattr(last_seen, "DEPARTED_MAX", 3)
    signs, had = last_seen.EpochLastSeen(), current(0, "x", 2, (0,)).value
    for number in range(10):
        signs.update(f"m{number}", had, T0 + number)
        signs.depart(None, f"m{number}", replace(had, epoch=-2), T0 + 100 + number)
    kept, departures = signs.take()
    assert list(kept) == list(departures) == ["m7", "m8", "m9"]
    assert kept["m9"].contact_ms == T0 + 9
    assert signs.take() == ({}, {})


@pytest.mark.parametrize("later", [None, 5_000])
def test_the_last_work_of_a_departing_member_that_revoked_partitions_is_known(later):
    """It committed before its revocation, and not after it."""
    signs, had = last_seen.EpochLastSeen(), current(0, "x", 2, (0,)).value
    signs.update("x", had, T0 + 3_000)
    signs.work("x", T0 + 2_000)
    signs.depart(None, "x", had, T0 + 9_000)
    signs.work("x", None if later is None else T0 + later)
    seen, _ = signs.take()
    assert seen == {"x": LastSeen(T0 + 3_000, T0 + (later or 2_000))}


def test_members_removed_in_old_records_are_not_stored():
    tracker, at = Tracker("cluster"), 2_000
    sizes = []
    feed(tracker, *BOTH)
    for number in range(3):
        name = f"x{number}"
        feed(tracker, replace(joins(at, name), live=False), current(at, name, 2, live=False))
        feed(tracker, *(replace(each, live=False) for each in gone(at + 1, name)), tick(at + 2_000_000))
        at += 2_000_010
        sizes.append(len(pickle.dumps(tracker._groups.get("g")._evidence.last_seen)))
    assert len(set(sizes)) == 1


def eager(at, name, *, cooperative):
    return joins(at, name, classic=True, eager=not cooperative, session_timeout_ms=45_000)


@pytest.mark.parametrize(("cooperative", "partition_seconds"), [(True, 2.0), (False, 4.0)])
def test_an_eager_member_in_a_migrating_group_also_stops_kept_partitions(cooperative, partition_seconds):
    classic = eager(900, "a", cooperative=cooperative)
    grown = [
        joins(10_000, "c"),
        fact(10_000, GroupEpoch(3)),
        target(10_000, "a", 0),
        target(10_000, "c", 1),
        fact(10_500, TargetEpoch(3)),
        current(11_000, "b", 3, (2, 3)),
        current(12_000, "a", 3, (0,)),
        fact(12_000, CurrentAssignment(3, 0, MemberState.STABLE, current(0, "c", 3, (1,)).value.assigned), "c"),
    ]
    stall = closing(reported(classic, *grown))[-1].stall
    assert (stall.seconds, stall.upper_partition_seconds) == (2.0, partition_seconds)
