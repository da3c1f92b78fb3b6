"""Upper bounds around outages that are noticed late, or in which members lose partitions without a record."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.model.episode import Basis, Evidence
from rebalance_agent.model.epoch_groups import GroupEpoch, MemberState, TargetEpoch
from rebalance_agent.model.group import GroupType
from rebalance_agent.tracking.evidence.last_seen import SESSION_TIMEOUT_MS
from rebalance_agent.tracking.observations import EpochRecord
from support.tracker.epochs import current, fact, gone, group_of_two, joins, target
from support.tracker.tracking import T0, assigned, away, closing, committed, in_time, listed, tick, watch

KEPT = {"a": (0, 1), "b": (2, 3)}
WORK = [committed(at, 0, 1, 2, 3) for at in range(2_000, 20_000, 1_000)]


def last_stall(*observations):
    _, events = watch(*in_time(*observations), tick(300_000), commits=False)
    return [event for event in closing(events) if event.group == "g"][-1].stall


# An outage that is noticed after the record

MOVES = [
    fact(60_000, GroupEpoch(3)),
    target(60_000, "a", 0),
    target(60_000, "b", 1, 2, 3),
    fact(60_000, TargetEpoch(3)),
    current(60_100, "a", 2, (0,), (1,), MemberState.UNREVOKED),
    current(60_500, "a", 3, (0,)),
    current(60_700, "b", 3, (1, 2, 3)),
    committed(61_000, 0, 1),
]
"""Partition 1 moves from a, which was asked at 60.1 s, to b, which commits at 61 s."""


def moved_stall(noticed):
    """The stall of partition 1, if the observer notices at this time that brokers are away since 40 s."""
    begins = [listed(40_000), replace(listed(40_250, complete=False), answered_ms=T0 + noticed), tick(noticed + 250)]
    return last_stall(*group_of_two(*KEPT.values()), *WORK, *begins, *MOVES)


def test_an_outage_that_is_noticed_before_the_episode_settles_counts_as_if_it_had_been_known_at_the_record():
    known, noticed_later, noticed_too_late = (moved_stall(at).seconds for at in (50_000, 63_000, 80_000))
    assert noticed_later == pytest.approx(21.0, abs=0.01)
    assert known >= noticed_later
    assert noticed_too_late == 0.9


def test_an_outage_that_begins_after_the_record_does_not_count():
    leaves = [
        *gone(60_000, "b"),
        fact(60_000, GroupEpoch(3)),
        target(60_000, "a", 0, 1, 2, 3),
        fact(60_000, TargetEpoch(3)),
        current(60_700, "a", 3, (0, 1, 2, 3)),
    ]
    # In an outage that had begun before, b might not have noticed that it was removed, and have worked until 60.7 s.
    assert last_stall(*group_of_two(*KEPT.values()), *WORK, *leaves, *away(60_750, 64_000)).lower_seconds == 0.7


# Members that lost partitions without a record (KIP-848)

GONE_AWAY, BACK = 20_000, 30_000
OUTAGE = away(GONE_AWAY, BACK)


def rebalance(at, **changed):
    """Epoch 3, in which both members keep what they have, and their first commits half a second later."""
    return [
        replace(each, **changed)
        for each in (
            fact(at, GroupEpoch(3)),
            *(target(at, name, *numbers) for name, numbers in KEPT.items()),
            fact(at, TargetEpoch(3)),
            *(current(at + 200, name, 3, numbers) for name, numbers in KEPT.items()),
        )
    ]


def kept_stall(*observations, at=31_000, **changed):
    kept = (*rebalance(at, **changed), committed(at + 700, 0, 2))
    return last_stall(*group_of_two(*KEPT.values()), *observations, *kept)


def test_partitions_that_members_keep_do_not_stand_still_while_brokers_answer():
    stall = kept_stall(*WORK)
    assert (stall.seconds, stall.upper_partition_seconds) == (0.0, 0.0)


def test_after_an_outage_members_may_have_lost_what_they_kept_since_their_last_work():
    stall = kept_stall(*WORK, *OUTAGE)
    # They worked until 17.5 s: half a second before the second-last commit. One commit each shows that it is over.
    assert (stall.lower_seconds, stall.seconds, stall.basis) == (0.0, pytest.approx(14.2, abs=0.01), Basis.BOUND)
    assert stall.upper_partition_seconds == pytest.approx(4 * 14.2, abs=0.04)


def test_members_lose_nothing_while_their_coordinator_answers_slowly():
    """It gets the request of a member that leaves, though it answers seconds late."""
    late = [committed(at, 0, 1, 2, 3, seen=at + 2_800) for at in range(GONE_AWAY, BACK, 2_800)]
    assert kept_stall(*WORK, *late).seconds == 0.0


def test_without_commits_before_they_may_have_stood_still_since_the_generation_before():
    assert kept_stall(*OUTAGE).seconds == pytest.approx(30.7, abs=0.01)


def test_without_commits_afterwards_nothing_shows_that_it_is_over():
    stall = last_stall(*group_of_two(*KEPT.values()), *WORK, *OUTAGE, *rebalance(31_000))
    assert (stall.lower_seconds, stall.seconds) == (0.0, None)


def test_a_member_that_lost_what_it_kept_after_the_record_was_not_stalled_since_the_record():
    """It lost all 18 s after epoch 3, joined again under its id, and got the same epoch, of which a gateway reported
    the assignment."""
    again = assigned("b", 61_000, 63_000, 3, (2, 3))
    again = replace(again, event=replace(again.event, evidence=Evidence.GATEWAY))
    kept = [*rebalance(31_000), committed(31_700, 0), again, committed(64_000, 2)]
    stall = last_stall(*group_of_two(*KEPT.values()), *WORK, *OUTAGE, *kept)
    assert (stall.lower_seconds, stall.seconds) == (0.0, pytest.approx(63.0 - 17.5, abs=0.01))


def test_a_member_that_worked_after_the_outage_had_lost_nothing():
    after = [committed(at, 0, 1, 2, 3) for at in range(BACK + 16_000, 60_000, 1_000)]
    assert kept_stall(*WORK, *OUTAGE, *after, at=60_000).seconds == 0.0


def test_an_outage_from_long_before_the_rebalance_does_not_count():
    stall = kept_stall(*OUTAGE, *away(90_000, 95_000), at=100_000)
    # Each may have been silent for a session timeout when brokers went away: since 45 s.
    assert stall.seconds == pytest.approx(55.7, abs=0.01)


@pytest.mark.parametrize(("later_ms", "lost"), [(SESSION_TIMEOUT_MS - 100, True), (SESSION_TIMEOUT_MS + 100, False)])
def test_a_member_that_did_not_come_back_within_its_session_timeout_would_have_been_removed(later_ms, lost):
    stall = kept_stall(*WORK, *OUTAGE, at=BACK + later_ms)
    assert (stall.seconds > 0) == lost


def test_a_new_coordinator_may_not_have_got_the_leave_either():
    moved = [replace(each, leader_epoch=0) for each in group_of_two(*KEPT.values()) if isinstance(each, EpochRecord)]
    others = [each for each in group_of_two(*KEPT.values()) if not isinstance(each, EpochRecord)]
    for leader_epoch, seconds in ((0, 0.0), (1, 30.7)):
        kept = rebalance(31_000, leader_epoch=leader_epoch)
        stall = last_stall(*others, *moved, *WORK, *kept, committed(31_700, 0, 2))
        assert stall.seconds == pytest.approx(seconds, abs=0.01)


def test_members_of_the_classic_protocol_come_back_under_another_id():
    fields = {"classic": True, "session_timeout_ms": SESSION_TIMEOUT_MS}
    both = [joins(15_000, name, **fields) for name in KEPT]
    assert kept_stall(*both, *WORK, *OUTAGE).seconds == 0.0


def test_partitions_of_share_groups_are_not_lost_alone():
    shared = [
        replace(each, group_type=GroupType.SHARE) if isinstance(each, EpochRecord) else each
        for each in group_of_two(*KEPT.values())
    ]
    kept = rebalance(31_000, group_type=GroupType.SHARE)
    assert last_stall(*shared, *OUTAGE, *kept).seconds == 0.0


def test_a_partition_that_is_revoked_in_an_outage_is_none_of_those_that_were_kept():
    moves = [
        fact(31_000, GroupEpoch(3)),
        target(31_000, "a", 0),
        target(31_000, "b", 1, 2, 3),
        fact(31_000, TargetEpoch(3)),
        current(31_100, "a", 2, (0,), (1,), MemberState.UNREVOKED),
        current(31_500, "a", 3, (0,)),
        current(31_700, "b", 3, (1, 2, 3)),
    ]
    stall = last_stall(*group_of_two(*KEPT.values()), *WORK, *OUTAGE, *moves, committed(32_000, 0, 1, 2))
    assert stall.lower_seconds == pytest.approx(0.2)


def test_commits_of_kept_partitions_do_not_show_that_a_new_one_is_consumed():
    given = [
        fact(31_000, GroupEpoch(3)),
        target(31_000, "a", 0, 1, 4),
        target(31_000, "b", 2, 3),
        fact(31_000, TargetEpoch(3)),
        current(31_300, "a", 3, (0, 1, 4)),
        current(31_700, "b", 3, (2, 3)),
        committed(31_750, 0, 1, 2, 3),
    ]
    first, later = (
        last_stall(*group_of_two(*KEPT.values()), *WORK, *OUTAGE, *given, committed(at, 4)) for at in (33_000, 35_000)
    )
    assert later.upper_partition_seconds - first.upper_partition_seconds == pytest.approx(2.0)


def test_an_outage_before_the_last_rebalance_does_not_count_for_what_moves_in_the_next_one():
    moves = [
        fact(38_000, GroupEpoch(4)),
        target(38_000, "a", 0),
        target(38_000, "b", 1, 2, 3),
        fact(38_000, TargetEpoch(4)),
        current(38_100, "a", 3, (0,), (1,), MemberState.UNREVOKED),
        current(38_200, "a", 4, (0,)),
        current(38_300, "b", 4, (1, 2, 3)),
        committed(39_000, 0, 1, 2, 3),
    ]
    first = [*rebalance(35_000), committed(36_000, 0, 1, 2, 3)]
    stall = last_stall(*group_of_two(*KEPT.values()), *WORK, *OUTAGE, *first, *moves)
    assert stall.seconds == pytest.approx(3.8, abs=0.01)
