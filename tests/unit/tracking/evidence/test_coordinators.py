"""New coordinators restart every member's session, and running classic rebalances."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.model.epoch_groups import GroupEpoch, TargetEpoch
from rebalance_agent.tracking.evidence import coordinators
from rebalance_agent.tracking.evidence.coordinators import Coordinators, last_contact_ms
from rebalance_agent.tracking.evidence.known_times import CoordinatorChange
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.epochs import current, fact, gone, group_of_two, target
from support.tracker.tracking import (
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
    written_by,
)

SESSION_MS = 45_000


JOINED = (
    topics(0, t=4),
    listed(500),
    record(1_000, 0),
    record(4_000, 1, member("a", (0, 1)), member("b", (2, 3)), joined=3_990),
)
ANOTHER = record(60_000, 1, member("x", ()), group="other")
REMOVED = (
    listed(120_000),
    listed(120_200, "g"),
    listed(122_990, "g"),
    record(123_000, 2, member("a", (0, 1, 2, 3)), joined=122_990),
)


def stall_of(*observations):
    _, events = watch(*in_time(*observations), tick(200_000))
    return closing([event for event in events if event.group == "g"])[-1].stall


def test_a_removed_member_sent_no_heartbeat_for_one_session_if_its_coordinator_stayed():
    assert stall_of(*written_by(3, *JOINED, ANOTHER, *REMOVED)).seconds == 123 - (120 - 45)


def test_under_a_new_coordinator_heartbeats_may_be_missing_since_a_session_before_the_old_ones_last_record():
    """For example, killed at 20 s; the old coordinator's last record, of another group of the partition, is at 60 s."""
    work = [committed(at, 0, 1) for at in (40_000, 50_000, 55_000)]
    stall = stall_of(*written_by(3, *JOINED, ANOTHER), *work, *written_by(4, *REMOVED))
    assert (stall.seconds, stall.lower_seconds) == (123 - (60 - 45), pytest.approx(0.01))


@pytest.mark.parametrize(("leader_epoch", "worked"), [(3, 109.5), (4, 59.5)])
def test_a_commit_that_a_new_coordinator_took_may_have_been_sent_long_before(leader_epoch, worked):
    """Clients send it again until a coordinator accepts it; the old one wrote its last record at 60 s."""
    commits = [committed(at, 0, 1, 2, 3) for at in (105_000, 110_000, 115_000)]
    left = record(123_000, 2, member("a", (0, 1, 2, 3)), joined=122_990)
    history = [*written_by(3, *JOINED, ANOTHER), *commits, *written_by(leader_epoch, *REMOVED[:-1], left)]
    assert stall_of(*history).seconds == pytest.approx(123 - worked)


@pytest.mark.parametrize(("leader_epoch", "stalled"), [(3, 3.59), (4, 0.0)])
def test_a_member_that_a_new_coordinator_removed_may_not_have_found_it_yet_and_consume_until_it_does(
    leader_epoch, stalled
):
    """A cooperative member that does not know of a rebalance keeps its partitions, and is removed as others wait."""
    start = record(4_000, 1, member("a", (0, 1)), member("b", (2, 3)), joined=3_990, protocol="cooperative-sticky")
    without_b = member("a", (0, 1, 2, 3), owned=(0, 1))
    removed = [
        *REMOVED[:-1],
        record(123_790, 2, without_b, joined=122_990, protocol="cooperative-sticky"),
    ]
    history = [*written_by(3, *JOINED[:-1], start, ANOTHER), *written_by(leader_epoch, *removed)]
    assert stall_of(*history).lower_seconds == pytest.approx(stalled)


def test_heartbeats_of_an_epoch_groups_member_may_also_be_missing_since_then():
    before = [*group_of_two(), current(50_000, "b", 2, (1,))]
    after = [
        *gone(90_000, "a"),
        fact(90_000, GroupEpoch(3)),
        target(90_000, "b", 0, 1),
        fact(90_000, TargetEpoch(3)),
        current(90_500, "b", 3, (0, 1)),
    ]
    for leader_epoch, seconds in ((3, 45.5), (4, 90.5 - 5.0)):
        events = feed(
            Tracker("cluster", settle_ms=1_000),
            *written_by(3, *before),
            *written_by(leader_epoch, *after),
            tick(200_000),
        )
        assert closing(events)[-1].stall.seconds == pytest.approx(seconds)


@given(
    st.integers(0, 100_000),
    st.lists(st.tuples(st.integers(0, 100_000), st.integers(0, 100_000)).map(sorted), max_size=5),
)
def test_no_possible_last_contact_is_earlier(silent_ms, changes):
    """A member is silent from a moment on; each coordinator removes it a session after that, or after its own start."""
    changes = sorted((CoordinatorChange(*times) for times in changes), key=lambda change: change.until_ms)
    changes = [
        change
        for index, change in enumerate(changes)
        if all(change.after_ms >= earlier.until_ms for earlier in changes[:index])
    ]
    expires_ms = silent_ms + SESSION_MS
    for change in changes:
        if silent_ms <= change.after_ms < expires_ms:
            expires_ms = change.until_ms + SESSION_MS
    known = [change for change in changes if change.until_ms <= expires_ms]
    assert last_contact_ms(expires_ms, SESSION_MS, known) <= silent_ms


def test_a_bounded_number_of_changes_is_kept_by_partition(monkeypatch):
    monkeypatch.setattr(coordinators, "CHANGES_MAX", 3)
    seen = Coordinators()
    for number in range(10):
        seen.see(0, number // 2, 1_000 * number)
        seen.see(1, 7, 1_000 * number)
    assert seen.changes(0) == (
        CoordinatorChange(3_000, 4_000),
        CoordinatorChange(5_000, 6_000),
        CoordinatorChange(7_000, 8_000),
    )
    assert seen.changes(1) == seen.changes(2) == ()


def test_a_record_with_an_unknown_leader_shows_no_change_and_hides_none():
    seen = Coordinators()
    for number, leader_epoch in enumerate((5, -1, 5, -1, 6)):
        seen.see(0, leader_epoch, 1_000 * number)
    assert seen.changes(0) == (CoordinatorChange(2_000, 4_000),)
