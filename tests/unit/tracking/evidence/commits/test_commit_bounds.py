"""Bounds of stalls from commits, in groups without reports."""

import itertools
import pickle
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.groupprotocol.commit_key import commit_key
from rebalance_agent.model.episode import Basis, Trigger
from rebalance_agent.model.epoch_groups import GroupEpoch, MemberState, TargetEpoch
from rebalance_agent.tracking.evidence import late_commits
from rebalance_agent.tracking.evidence.commits.awaited_commits import COMMITS_WAIT_MAX_MS
from rebalance_agent.tracking.evidence.commits.commit_times import (
    AWAITED_MAX_MS,
    EARLIER_MAX,
    EARLIER_MAX_MS,
    CommitTimes,
)
from rebalance_agent.tracking.evidence.commits.slow_answers import COMMIT_DELAY_MS, SLOW_MAX, SlowAnswers
from rebalance_agent.tracking.evidence.known_times import FirstCommits
from rebalance_agent.tracking.evidence.last_seen import SESSION_TIMEOUT_MS
from rebalance_agent.tracking.evidence.late_commits import COMMITS_LATE_MAX_MS
from rebalance_agent.tracking.observations import GroupsListed
from support.tracker.epochs import current, fact, gone, group_of_two, joins, target
from support.tracker.tracking import (
    B_GONE,
    REBALANCING,
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
    written_by,
)

A = member("a", (0, 1))
WORK = [committed(at, 0, 1, 2, 3) for at in range(5_000, 80_000, 5_000)]


def stall_of(*observations):
    _, events = watch(*in_time(*TWO_EAGER, *observations), tick(150_000), commits=False)
    return [event for event in closing(events) if event.group == "g"][-1].stall


def test_the_first_commit_after_an_assignment_is_the_upper_bound_of_the_stall():
    stall = stall_of(*WORK, *B_GONE, committed(84_500, 0))
    # b worked at least until 69.5 s, half a second before its second-last commit; a, which got everything again,
    # committed at 84.5 s.
    assert (stall.lower_seconds, stall.seconds, stall.basis) == (2.8, 15.0, Basis.BOUND)


def test_a_commit_may_be_recorded_half_a_second_after_its_offsets_were_determined():
    """An aiokafka member was stalled between the two: 12.606 s by its own measurement, 12.158 s by the commit's
    time."""
    taken_ms, recorded_ms = 69_552, 70_000
    work = [committed(60_000, 2, 3), committed(65_000, 2, 3), committed(recorded_ms, 2, 3), committed(75_000, 2, 3)]
    assert stall_of(*work, *B_GONE, committed(84_500, 0)).seconds >= 84.5 - taken_ms / 1000


def test_the_commit_before_does_not_show_when_offsets_were_taken():
    """Seed 7: librdkafka sent three commits, one a second, before a busy coordinator had answered the first."""
    work = [committed(at, 2, 3) for at in (79_800, 79_900, 80_000)]
    assert stall_of(*work, *B_GONE, committed(84_500, 0)).seconds == pytest.approx(84.5 - 79.4)


@pytest.mark.parametrize(
    ("asked", "answered", "worked"),
    [(69_500, 70_500, 68.75), (70_400, 72_900, 67.25), (66_000, 69_400, 65.5), (60_000, 63_000, 69.5), (0, 250, 69.5)],
    ids=["around it", "asked just after it", "answered just before it", "answered long before", "prompt"],
)
def test_while_brokers_answer_slowly_commits_may_be_as_late(asked, answered, worked):
    slow = GroupsListed(T0 + asked, T0 + answered, frozenset(REBALANCING), ())
    stall = stall_of(*WORK, slow, *B_GONE, committed(84_500, 0))
    assert stall.seconds == pytest.approx(84.5 - worked)


def test_without_a_commit_the_end_of_the_stall_is_unknown():
    stall = stall_of(*WORK, *B_GONE)
    assert (stall.lower_seconds, stall.seconds, stall.upper_partition_seconds) == (2.8, None, None)


def test_a_commit_of_a_partition_kept_by_a_cooperative_member_proves_nothing():
    """Its timer also commits during its assigned callback."""
    coop = {"protocol": "cooperative-sticky"}
    a, b = member("a", (0, 1), owned=(0, 1)), member("b", (2, 3), owned=(2, 3))
    grown = member("a", (0, 1, 2, 3), owned=(0, 1))
    known = (topics(0, t=4), listed(500), record(1_000, 0), record(4_000, 1, a, b, joined=3_990, **coop))
    death = (listed(80_000), listed(80_200, "g"), record(83_000, 2, grown, joined=82_990, **coop))
    for number, seconds in ((0, None), (2, pytest.approx(84.5 - 69.5))):
        _, events = watch(*in_time(*known, *WORK, *death, committed(84_500, number)), tick(150_000), commits=False)
        assert closing(events)[-1].stall.seconds == seconds


def test_a_member_that_stopped_polling_left_only_after_its_poll_interval():
    """It still sends heartbeats, so the session timeout bounds nothing; its commits stop with its polls."""
    kept = [committed(at, 0, 1) for at in range(5_000, 80_000, 5_000)]
    stuck = [committed(at, 2, 3) for at in range(5_000, 55_000, 5_000)]
    stall = stall_of(*kept, *stuck, *B_GONE, committed(84_000, 0))
    assert stall.seconds == 84.0 - 44.5  # its second-last commit; 50 was the last


def test_a_repeated_offset_may_be_committed_by_a_callback():
    work = [committed(at, 0, 1, 2, 3) for at in (60_000, 65_000, 70_000)]
    closing_down = [committed(75_000, 2, 3), committed(80_100, 2, 3, offset=75_000)]
    stall = stall_of(*work, *closing_down, *B_GONE, committed(84_000, 0))
    assert stall.seconds == 84.0 - 69.5


def test_a_staying_member_that_changed_its_subscription_stopped_before_the_rebalance():
    """It revokes first, and sends JoinGroup after its callback."""
    wider = member("b", (2, 3), topics=("t", "u"))
    rejoined = record(83_000, 2, A, wider, joined=82_990)
    stall = stall_of(*WORK, B_GONE[0], B_GONE[1], rejoined, committed(84_000, 0, 2))
    assert stall.seconds == 84.0 - 69.5
    joined = record(83_000, 2, member("a", (0, 1)), member("b", (2,)), member("c", (3,)), joined=82_990)
    stall = stall_of(*WORK, B_GONE[0], B_GONE[1], joined, committed(84_000, 0, 2, 3))
    assert stall.seconds == 84.0 - 80.0  # asked to rejoin by the coordinator


@pytest.mark.parametrize(("rejoined", "upper"), [(83_000, 84.0 - 79.8), (99_000, 100.0 - 90.5)])
def test_commits_of_a_staying_member_may_be_five_seconds_late_when_it_rejoins(rejoined, upper):
    known = (topics(0, t=4), record(1_000, 0), record(4_000, 1, member("a", (0, 1, 2, 3)), joined=3_990))
    work = [committed(at, 0, 1, 2, 3) for at in range(5_000, rejoined - 1_500, 1_000)]
    joined = record(rejoined, 2, member("a", (0, 1, 2)), member("b", (3,)), joined=rejoined - 10)
    rest = (listed(79_800), listed(80_000, "g"), joined, committed(rejoined + 1_000, 0, 1, 2, 3))
    _, events = watch(*in_time(*known, *work, *rest, tick(rejoined + 60_000)), commits=False)
    assert closing(events)[-1].stall.seconds == pytest.approx(upper)


def test_an_open_stall_continues_in_the_next_rebalance():
    second = (listed(85_000), listed(85_200, "g"), record(86_000, 3, member("c", (0, 1, 2, 3)), joined=85_990))
    stall = stall_of(*WORK, *B_GONE, *second, committed(87_000, 0))
    assert stall.seconds == 87.0 - 69.5
    stall = stall_of(*WORK, *B_GONE, committed(84_000, 0), committed(84_500, 0), *second, committed(87_000, 0))
    assert stall.seconds == 87.0 - 83.5


SHARED = (
    listed(85_000),
    listed(85_200, "g"),
    record(86_000, 3, member("a", (0, 1)), member("c", (2, 3)), joined=85_990),
)
"""A rebalance before anything was committed in the one before it."""


def test_the_first_commit_of_a_later_owner_ends_the_stall_of_a_rebalance_that_another_one_followed():
    commits = committed(86_500, 0, 1), committed(87_000, 2, 3)
    _, events = watch(*in_time(*TWO_EAGER, *WORK, *B_GONE, *SHARED, *commits), tick(150_000), commits=False)
    first, last = (event.stall for event in closing(events)[-2:])
    # b had 2 and 3, which only c committed: a's callback for them may never have run.
    assert (first.lower_seconds, first.seconds) == (2.8, 87.0 - 69.5)
    assert first.upper_partition_seconds == pytest.approx(2 * (86.5 - 80.0) + 2 * (87.0 - 69.5))
    assert last.seconds == 87.0 - 69.5


def test_a_later_commit_of_another_partition_ends_no_stall_of_an_earlier_rebalance():
    """Its former owner's callback may never have run, and the current owner's may not have run yet."""
    observations = in_time(*TWO_EAGER, *WORK, *B_GONE, *SHARED, committed(86_500, 0, 1))
    _, events = watch(*observations, tick(150_000), commits=False)
    assert [event.stall.seconds for event in closing(events)[-2:]] == [None, None]


@pytest.mark.parametrize(
    ("begun_ms", "upper"),
    [(131_000, 133.0 - 86.0), (129_000, 131.0 - 69.5), (113_000, 115.0 - 69.5)],
    ids=["much later", "perhaps silent since then", "at that time"],
)
def test_a_stall_ends_at_the_latest_when_its_owner_would_have_been_removed(begun_ms, upper):
    """An owner whose callback never returns leaves at its rebalance timeout, 30 s after 83 s, or soon after."""
    polls = listed(begun_ms), listed(begun_ms + 200, "g")
    later = record(begun_ms + 1_000, 3, member("c", (0, 1, 2, 3)), joined=begun_ms + 990)
    idle = replace(A, rebalance_timeout_ms=30_000, assignment=B_GONE[-1].value.members[0].assignment)
    taken = replace(B_GONE[-1], value=replace(B_GONE[-1].value, members=(idle,)))
    stall = stall_of(*WORK, *B_GONE[:-1], taken, *polls, later, committed(begun_ms + 2_000, 0))
    assert stall.seconds == pytest.approx(upper)  # much later, it stopped 30 s + 15 s before it left, or when it joined


def test_a_stall_continues_through_all_rebalances_of_an_outage_without_responses_to_members():
    """A coordinator without replicas responds with errors, and members rejoin repeatedly."""
    away = [listed(at, complete=not 58_000 < at < 100_000) for at in range(5_000, 101_000, 250)]
    leaves = [*(committed(at, 2, 3) for at in range(5_000, 55_000, 5_000)), committed(55_000, 0, 1)]
    alone, shared = [(0, 1, 2, 3)], [(0, 1), (2, 3)]
    rounds = [
        record(at, number, *map(_impatient, "ac", assigned), joined=at - 10, delay=99_900 - at)
        for at, number, assigned in ((62_000, 2, alone), (80_000, 3, shared), (96_000, 4, shared))
    ]
    others = [record(60_000 + number, number, A, group="h", delay=39_800 - number) for number in range(70)]
    stall = stall_of(*leaves, *away, *others, *rounds, committed(104_000, 0, 1, 2, 3))
    assert stall.seconds == 104.0 - 44.5  # half a second before b's second-last commit


def test_a_stall_continues_if_an_outage_began_before_its_owner_would_have_been_removed():
    """b is removed, c gets its partitions but no response until brokers are back; the outage lasts from 79 to 120 s."""
    away = [listed(at, complete=not 79_000 < at < 120_000) for at in range(5_000, 121_000, 250)]
    work = [committed(at, 0, 1, 2, 3) for at in range(5_000, 60_000, 5_000)]
    rounds = [
        record(at, number, *map(_impatient, "ac", [(0, 1), (2, 3)]), joined=at - 10, delay=delay)
        for at, number, delay in ((76_000, 2, 0), (85_000, 3, 35_000), (100_000, 4, 20_000))
    ]
    stall = stall_of(*work, *away, *rounds, committed(124_000, 0, 1, 2, 3))
    assert stall.seconds >= 124.0 - 76.0


def test_a_stall_continues_while_records_are_not_replicated():
    """All brokers answer polls, but a coordinator's records are not replicated: it answers members with an error."""
    work = [committed(at, 0, 1, 2, 3) for at in range(5_000, 60_000, 5_000)]
    rounds = [
        record(at, number, *map(_impatient, "ac", [(0, 1), (2, 3)]), joined=at - 10, delay=99_900 - at)
        for at, number in ((76_000, 2), (87_000, 3), (98_000, 4))
    ]
    stall = stall_of(*work, *rounds, committed(104_000, 0, 1, 2, 3))
    assert stall.seconds >= 104.0 - 76.0


def test_a_stall_continues_if_a_new_coordinator_had_not_answered_its_owner():
    """b stops at 59.5 s or later. Its coordinator fails before c gets its assignment of b's partitions."""
    work = [committed(at, 0, 1, 2, 3) for at in range(5_000, 61_000, 5_000)]
    rounds = [
        written_by(leader, record(at, number, *map(_impatient, "ac", [(0, 1), (2, 3)]), joined=at - 10))
        for leader, at, number in ((1, 76_000, 2), (2, 88_000, 3), (2, 95_000, 4))
    ]
    stall = stall_of(*work, *itertools.chain(*rounds), committed(98_000, 2, 3), committed(98_000, 0, 1))
    assert stall.seconds >= 98.0 - 59.5


def _impatient(name, assigned):
    return replace(member(name, assigned), rebalance_timeout_ms=8_000)


STAY = record(83_000, 2, member("a", (0, 1)), member("b", (2,)), member("c", (3,)), joined=82_990)


@pytest.mark.parametrize(("back", "upper"), [(79_000, 84.0 - 40.0), (60_000, 84.0 - 80.0)], ids=["just now", "long"])
def test_partitions_may_be_stalled_since_the_start_of_an_outage(back, upper):
    """Seed 11: 1.8 s after its partitions were revoked, a librdkafka member's commits of before still came."""
    away = [listed(at, complete=False) for at in range(40_250, back, 250)]
    work = [committed(at, 0, 1, 2, 3) for at in range(5_000, 40_000, 5_000)]
    stall = stall_of(*work, listed(40_000), *away, *B_GONE[:-1], STAY, committed(84_000, 0, 2, 3))
    assert (stall.seconds, stall.basis) == (84.0 - 40.0, Basis.BOUND)
    again = [committed(79_200, 0, 1, 2, 3), committed(79_700, 0, 1, 2, 3), committed(79_900, 0, 1, 2, 3)]
    stall = stall_of(*work, listed(40_000), *away, listed(back), *again, *B_GONE[:-1], STAY, committed(84_000, 0, 2, 3))
    assert stall.seconds == upper


@pytest.mark.parametrize(("longest_ms", "upper"), [(COMMITS_LATE_MAX_MS, 84.5 - 49.5), (5_000, 84.5 - 78.7)])
def test_commits_delayed_by_an_outage_do_not_show_when_their_member_worked(monkeypatch, longest_ms, upper):
    """A librdkafka member lost its partitions at 76 s, while its commits of the last seconds were still pending."""
    monkeypatch.setattr(late_commits, "COMMITS_LATE_MAX_MS", longest_ms)
    polls = [listed(at, complete=at <= 50_000 or at >= 79_900) for at in range(1_000, 80_000, 100)]
    work = [committed(at, 0, 1, 2, 3) for at in range(5_000, 50_000, 5_000)]
    waited = [committed(at, 0, 1, 2, 3) for at in range(78_800, 79_400, 100)]
    stall = stall_of(*polls, *work, *waited, *B_GONE, committed(84_500, 0))
    assert stall.seconds == pytest.approx(upper)


def test_an_episode_waits_a_bounded_time_for_first_commits():
    tracker, events = watch(*in_time(*TWO_EAGER, *WORK, *B_GONE), tick(90_000), commits=False)
    assert triggers(events) == [Trigger.GROUP_STARTED]
    events = feed(tracker, committed(90_500, 0), tick(91_500), commits=False)
    assert closing(events)[-1].stall.seconds == 21.0
    tracker, events = watch(
        *in_time(*TWO_EAGER, *WORK, *B_GONE), tick(83_000 + 5_000 + COMMITS_WAIT_MAX_MS), commits=False
    )
    assert triggers(events) == [Trigger.GROUP_STARTED, Trigger.MEMBER_LEFT]


def test_a_group_that_never_commits_is_awaited_once():
    tracker, events = watch(*TWO_EAGER, tick(9_100), commits=False)
    assert triggers(events) == []
    assert triggers(feed(tracker, tick(20_000), *B_GONE, tick(88_000), commits=False)) == [
        Trigger.GROUP_STARTED,
        Trigger.MEMBER_GONE,
    ]


def test_a_group_that_commits_late_is_awaited_in_the_next_rebalance():
    """Its topics were empty for longer than the wait of an episode."""
    tracker, _ = watch(*in_time(*TWO_EAGER, tick(30_000), *WORK[6:], *B_GONE), tick(90_000), commits=False)
    events = feed(tracker, committed(90_500, 0), tick(91_500), commits=False)
    assert closing(events)[-1].stall.seconds == 21.0


def test_a_removed_member_may_consume_until_its_next_heartbeat():
    """KIP-848: it did not revoke within its rebalance timeout, and consumes until its next heartbeat."""
    observations = [
        *group_of_two((0, 1), (2, 3), rebalance_timeout_ms=30_000),
        fact(10_000, GroupEpoch(3)),
        target(10_000, "a", 0),
        target(10_000, "b", 1, 2, 3),
        fact(10_000, TargetEpoch(3)),
        current(11_000, "a", 2, (0,), (1,), MemberState.UNREVOKED),
        *gone(41_000, "a"),
        fact(41_000, GroupEpoch(4)),
        target(41_000, "b", 0, 1, 2, 3),
        fact(41_000, TargetEpoch(4)),
        current(41_500, "b", 4, (0, 1, 2, 3)),
        tick(100_000),
    ]
    _, events = watch(*observations)
    assert triggers(events)[-1] is Trigger.MEMBER_FAILED
    assert closing(events)[-1].stall.lower_seconds == 0


@given(st.lists(st.tuples(st.integers(1, 2_000), st.integers(0, COMMIT_DELAY_MS), st.booleans()), max_size=30))
def test_a_partition_was_consumed_after_every_commit_that_counts_as_work(steps):
    """A reader that consumes between two commits, and repeats an offset at most once, in its callback.

    It consumes as soon as it has taken the offsets of the commit before, which may not be recorded yet.
    """
    times, at_ms, taken_ms, offset, repeats = CommitTimes(), 0, 0, 0, False
    consumed = []
    for wait, delay, idle in steps:
        repeats = idle and not repeats
        if not repeats:
            offset += 1
            consumed.append(taken_ms)
        taken_ms += wait
        at_ms = max(at_ms + 1, taken_ms + delay)
        taken_ms = max(taken_ms, at_ms - COMMIT_DELAY_MS)
        times.update({commit_key("g", "t", 0): (at_ms, offset)})
    worked = times.worked_ms("g", [("t", 0)], 0, at_ms)
    assert worked is None or worked <= max(consumed)


def test_slow_answers_are_kept_in_a_bounded_number():
    answers = SlowAnswers()
    for asked_ms in range(10_000, 10_000 + 3_000 * (SLOW_MAX + 1), 3_000):
        answers.take(asked_ms, asked_ms + 400)
    assert answers.taken_ms(10_000) == 10_000 - COMMIT_DELAY_MS
    assert answers.taken_ms(13_000) == 13_000 - COMMIT_DELAY_MS - 150


def test_slow_answers_of_many_commits_are_kept_for_a_minute():
    answers = SlowAnswers()
    for asked_ms in range(10_000, 70_000, 20):
        answers.take(asked_ms, asked_ms + (900 if asked_ms < 12_000 else 300))
    assert answers.taken_ms(11_000) == 11_000 - COMMIT_DELAY_MS - 650
    assert answers.taken_ms(30_000) == 30_000 - COMMIT_DELAY_MS - 50


def test_commits_are_kept_for_a_bounded_number_of_partitions(monkeypatch):
    monkeypatch.setattr("rebalance_agent.tracking.evidence.commits.last_commits.PARTITIONS_MAX", 2)
    times, first = CommitTimes(), FirstCommits()
    for at_ms in (1_000, 2_000):
        times.update({commit_key("g", "t", number): (at_ms, at_ms) for number in range(5)})
    seen = [times.worked_ms("g", [("t", number)], 0, 9_000) for number in range(5)]
    assert seen == [500, 500, None, None, None]
    times.expect("g", [("t", 4)], 2_000, first)
    times.update({commit_key("g", "t", 4): (3_000, 2), commit_key("g", "t", 0): None})
    assert first.at_ms == {("t", 4): 3_000}
    times.forget("g")
    for at_ms in (4_000, 5_000):
        times.update({commit_key("h", "t", number): (at_ms, at_ms) for number in range(5)})
    assert [times.worked_ms("h", [("t", number)], 0, 9_000) for number in range(3)] == [3_500, 3_500, None]


def test_a_commit_ends_the_stalls_of_a_bounded_number_of_generations():
    times, firsts = CommitTimes(), [FirstCommits() for _ in range(EARLIER_MAX + 2)]
    for first in firsts:
        times.expect("g", [("t", 0)], 1_000, first)
        times.expect("g", [("t", 0)], 1_000, first)  # reassigned within the generation
    times.update({commit_key("g", "t", 0): (2_000, 1)})
    assert firsts[-1].at_ms == {("t", 0): 2_000}
    assert [first.later_ms for first in firsts] == [{}, *[{("t", 0): 2_000}] * EARLIER_MAX, {}]


def test_a_commit_ends_no_stall_of_a_generation_long_before():
    times, before, after = CommitTimes(), FirstCommits(), FirstCommits()
    times.expect("g", [("t", 0)], 1_000, before)
    times.expect("g", [("t", 0)], 1_001 + EARLIER_MAX_MS, after)
    times.update({commit_key("g", "t", 0): (2_000 + EARLIER_MAX_MS, 1)})
    assert (before.later_ms, len(after.at_ms)) == ({}, 1)


def test_of_too_many_awaited_first_commits_those_of_the_largest_group_are_dropped(monkeypatch):
    monkeypatch.setattr("rebalance_agent.tracking.evidence.commits.commit_times.AWAITED_MAX", 4)
    times, small, large = CommitTimes(), FirstCommits(), FirstCommits()
    times.expect("small", [("t", 0), ("t", 1)], 1_000, small)
    for number in range(5):
        times.expect("large", [("t", number)], 1_000, large)
    assert (times.awaited("small"), times.awaited("large")) == (2, 2)
    times.update({commit_key(name, "t", number): (2_000, 1) for name in ("small", "large") for number in range(5)})
    assert (sorted(small.at_ms), sorted(large.at_ms)) == ([("t", 0), ("t", 1)], [("t", 3), ("t", 4)])


def test_the_wait_for_first_commits_is_bounded():
    """For example, the topic was deleted, or the group stores its offsets elsewhere."""
    times, first = CommitTimes(), FirstCommits()
    times.expect("elsewhere", [("t", number) for number in range(200)], 1_000, first)
    times.expect("g", [("t", 0)], 1_000 + AWAITED_MAX_MS, first)
    many = len(pickle.dumps(times))
    times.pass_time(1_001 + AWAITED_MAX_MS)
    assert len(pickle.dumps(times)) < many / 5
    assert (times.awaited("elsewhere"), times.awaited("g")) == (0, 1)
    times.update({commit_key("elsewhere", "t", 0): (2_000 + AWAITED_MAX_MS, 1)})
    assert first.at_ms == {}


@pytest.mark.parametrize("wrong_ms", [0, 2**53], ids=["past", "future"])
def test_a_record_with_a_wrong_time_ends_no_other_groups_wait_for_first_commits(wrong_ms):
    tracker, _ = watch(*TWO_EAGER, tick(5_000), commits=False)
    wrong = record(wrong_ms - T0, 1, member("c", (0,)), group="other")
    feed(tracker, replace(wrong, seen_ms=T0 + 6_000), tick(7_000), commits=False)
    assert tracker._context.commits.awaited("g") == 4
    feed(tracker, tick(4_001 + 2 * AWAITED_MAX_MS), commits=False)
    assert tracker._context.commits.awaited("g") == 0


def test_deleted_commits_of_unknown_groups_take_no_memory():
    times = CommitTimes()
    times.update({commit_key("kept", "t", 0): (1, 1)})
    before = pickle.dumps(times)
    for number in range(100):
        times.update({commit_key(f"deleted-{number}", "t", 0): None})
    assert pickle.dumps(times) == before
    times.update({commit_key("kept", "t", 0): None})
    assert len(pickle.dumps(times)) < len(before)


COOP = {"protocol": "cooperative-sticky"}
A_AND_B = (
    topics(0, t=4),
    listed(500),
    record(4_000, 1, member("a", (0, 1), owned=(0, 1)), member("b", (2, 3), owned=(2, 3)), joined=3_990, **COOP),
)


@pytest.mark.parametrize(
    ("owned", "upper"), [((2, 3), 0.0), ((2,), 81.0 - 4.0), ((), 81.0 - 64.5)], ids=["all", "one lost", "both lost"]
)
def test_a_cooperative_member_that_rejoins_without_its_partitions_had_lost_them(owned, upper):
    """Commits of a member that kept some partitions show no work on the others."""
    again = record(
        80_000, 2, member("a", (0, 1), owned=(0, 1)), member("b", (2, 3), owned=owned), joined=79_900, **COOP
    )
    observations = in_time(*A_AND_B, *WORK[:-1], listed(79_800), listed(79_850, "g"), again, committed(81_000, 2, 3))
    _, events = watch(*observations, tick(150_000), commits=False)
    stall = closing(events)[-1].stall
    assert (stall.seconds, stall.lower_seconds) == (pytest.approx(upper), pytest.approx(0.1 * (upper > 0)))
    assert (stall.basis is Basis.EXACT) == (upper == 0)


def test_a_partition_lost_by_its_owner_was_stalled_before_it_moved():
    moved = record(
        80_000, 2, member("a", (0, 1, 3), owned=(0, 1)), member("b", (2,), owned=(2,)), joined=79_900, **COOP
    )
    observations = in_time(*A_AND_B, *WORK[:-1], listed(79_800), listed(79_850, "g"), moved, committed(81_000, 3))
    _, events = watch(*observations, tick(150_000), commits=False)
    assert closing(events)[-1].stall.seconds == pytest.approx(81.0 - 4.0)


@pytest.mark.parametrize(("leader", "upper"), [(1, 84.0 - 80.0), (2, 84.0 - 49.5)])
def test_members_may_have_revoked_for_a_rebalance_of_a_former_coordinator(leader, upper):
    """Seed 11: a librdkafka member had, and did not join before the new coordinator began a rebalance of its own."""
    work = [committed(at, 0, 1, 2, 3) for at in range(5_000, 60_000, 5_000)]
    other = record(58_000, 1, member("x", ()), group="other")
    observations = *written_by(1, *TWO_EAGER, other), *work, *written_by(leader, *B_GONE[:-1], STAY)
    _, events = watch(*in_time(*observations, committed(84_000, 0, 2, 3)), tick(150_000), commits=False)
    assert [event for event in closing(events) if event.group == "g"][-1].stall.seconds == pytest.approx(upper)


@pytest.mark.parametrize(("since", "back", "upper"), [(40_000, 70_000, 44.0), (12_000, 20_000, 84.0 - 70.4)])
def test_partitions_may_have_stood_still_since_the_first_of_two_outages(since, back, upper):
    """Seed 7: two brokers were away for 111 s. When they started, they answered one poll, and then none for a while."""
    away = [listed(at, complete=False) for at in (*range(since + 200, back, 200), *range(70_600, 79_000, 200))]
    polls = [listed(at) for at in (since, *range(back, 70_600, 200))]
    work = [committed(at, 0, 1, 2, 3) for at in range(5_000, since, 2_500)]
    _, events = watch(*in_time(*TWO_EAGER, *work, *away, *polls, *B_GONE[:-1], STAY, committed(84_000, 0, 2, 3)),
                      tick(150_000), commits=False)  # fmt: skip
    assert closing(events)[-1].stall.seconds == pytest.approx(upper)


@pytest.mark.parametrize("stays", [True, False])
def test_a_commit_ends_no_stall_of_a_partition_revoked_before(stays):
    """C gets 1 and 2 at 10 s. If it keeps both, its commit shows that its callback has returned for both."""
    c = (1, 2) if stays else (1,)
    members = (member("a", (0,), owned=(0,)), member("b", (3,), owned=(3,)))
    observations = in_time(
        *A_AND_B,
        *(committed(at, 0, 1, 2, 3) for at in (5_000, 6_000, 7_000)),
        listed(9_800),
        listed(9_850, "g"),
        record(10_000, 2, *members, member("c", (1, 2)), joined=9_900, **COOP),
        record(12_000, 3, *members, member("c", c, owned=(1, 2)), member("d"), joined=11_900, **COOP),
        committed(12_200, 1),
        *([] if stays else [record(12_500, 4, *members, member("c", c, owned=c), member("d", (2,)), **COOP)]),
        committed(15_000, 2),
    )
    _, events = watch(*observations, tick(150_000), commits=False)
    stalls = [event.stall.seconds for event in closing(events)]
    assert stalls[1:] == ([12.2 - 4.0, 0.0] if stays else [15.0 - 4.0, 15.0 - 4.0])


@pytest.mark.parametrize("unmeasured", [False, True])
def test_an_unassigned_partition_stalls_until_a_later_rebalance(unmeasured):
    """The follow-up generation comes after the first one has settled, because the rejoining member is late."""
    revoked_one = (member("a", (0,), owned=(0, 1)), member("b", (2, 3), owned=(2, 3)), member("c"))
    between = record(70_000, 3, member("a", (0,), owned=(0,)), member("b", (2, 3), owned=(2, 3)), member("c"), **COOP)
    handed_over = (member("a", (0,), owned=(0,)), member("b", (2, 3), owned=(2, 3)), member("c", (1,)))
    observations = in_time(
        *A_AND_B,
        *(committed(at, 0, 1, 2, 3) for at in (5_000, 6_000, 7_000)),
        listed(9_800),
        listed(9_850, "g"),
        record(10_000, 2, *revoked_one, joined=9_900, **COOP),
        *([replace(between, replayed=True)] if unmeasured else []),
        listed(99_800),
        listed(99_850, "g"),
        record(100_000, 4 if unmeasured else 3, *handed_over, joined=99_900, **COOP),
        committed(101_000, 1),
    )
    _, events = watch(*observations, tick(150_000), commits=False)
    stall = closing(events)[-1].stall
    assert (stall.seconds, stall.upper_partition_seconds) == (101.0 - 10.0, 101.0 - 10.0)
    assert stall.lower_seconds < 1.2


def test_a_member_that_could_not_reach_brokers_may_consume_after_its_removal():
    away = [listed(at, complete=False) for at in range(40_250, 46_000, 250)]
    for polls, lower in (([], 0.5), ([listed(40_000), *away, listed(46_000)], 0.0)):
        observations = [
            *polls,
            *gone(50_000, "a"),
            fact(50_000, GroupEpoch(3)),
            target(50_000, "b", 0, 1, 2, 3),
            fact(50_000, TargetEpoch(3)),
            current(50_500, "b", 3, (0, 1, 2, 3)),
        ]
        _, events = watch(*group_of_two((0, 1), (2, 3)), *observations, tick(150_000))
        assert closing(events)[-1].stall.lower_seconds == lower


@pytest.mark.parametrize(("away_ms", "lower"), [(52_000, 3.0), (98_500, 96.5)])
def test_a_member_removed_at_the_start_of_an_outage_may_work_until_its_end(away_ms, lower):
    """It was paused by a signal and continued; it learned of its removal 12 s later."""
    observations = [
        *gone(50_000, "a"),
        fact(50_000, GroupEpoch(3)),
        target(50_000, "b", 0, 1, 2, 3),
        fact(50_000, TargetEpoch(3)),
        *(listed(at, complete=not away_ms - 2_000 < at < away_ms) for at in range(5_000, 150_000, 500)),
        current(away_ms + SESSION_TIMEOUT_MS + 3_000, "b", 3, (0, 1, 2, 3)),
    ]
    _, events = watch(*in_time(*group_of_two((0, 1), (2, 3)), *observations), tick(190_000))
    assert closing(events)[-1].stall.lower_seconds == pytest.approx(lower, abs=0.01)


def test_a_member_that_left_and_rejoined_under_its_id_may_have_been_stalled_before_it_left():
    """A librdkafka consumer that did not poll for its max.poll.interval.ms leaves when it polls, and joins at once."""
    observations = [
        *(committed(at, 0, 1) for at in (45_000, 46_000, 47_000)),
        *gone(60_000, "a"),
        fact(60_000, GroupEpoch(3)),
        target(60_000, "b", 2, 3),
        fact(60_000, TargetEpoch(3)),
        joins(60_016, "a"),
        fact(60_016, GroupEpoch(4)),
        target(60_016, "a", 0, 1),
        fact(60_016, TargetEpoch(4)),
        current(60_016, "a", 4, (0, 1)),
        current(60_700, "b", 4, (2, 3)),
        committed(60_720, 0, 1),
    ]
    _, events = watch(*group_of_two((0, 1), (2, 3)), *observations, tick(190_000), commits=False)
    stall = closing(events)[-1].stall
    assert (stall.lower_seconds, stall.seconds) == (pytest.approx(0.016), pytest.approx(60.72 - 45.5))


def test_a_member_of_an_epoch_group_that_worked_after_an_outage_had_not_stopped_in_it():
    away = [listed(20_000), *(listed(at, complete=False) for at in range(20_250, 26_000, 250)), listed(26_000)]
    moves = [
        fact(60_000, GroupEpoch(3)),
        target(60_000, "a", 0),
        target(60_000, "b", 1, 2, 3),
        fact(60_000, TargetEpoch(3)),
        current(60_300, "a", 2, (0,), (1,), MemberState.UNREVOKED),
        current(60_600, "a", 3, (0,)),
        current(61_000, "b", 3, (1, 2, 3)),
        committed(61_500, 0, 1),
    ]
    before = [committed(at, 0, 1, 2, 3) for at in (5_000, 10_000)]
    # Without a commit since, each may have lost without a record what it kept: at 4.5 s at the earliest.
    for after, upper in (([], 57.0), ([committed(at, 0, 1, 2, 3) for at in (50_000, 55_000)], 1.2)):
        history = [*group_of_two((0, 1), (2, 3)), *before, *away, *after, *moves]
        _, events = watch(*history, tick(150_000), commits=False)
        assert closing(events)[-1].stall.seconds == pytest.approx(upper, abs=0.01)  # the observer's clock is 3 ms ahead


def test_commits_that_waited_for_slow_replicas_are_as_late():
    """Seed 7: nothing could be written for 8 s; then came what a librdkafka member had sent in that time."""
    work = [committed(at, 2, 3) for at in (60_000, 61_000)]
    stuck = replace(committed(62_000, 2, 3), at_ms=T0 + 70_000)
    waited = [committed(at, 2, 3) for at in (70_500, 71_000, 72_000)]
    live = replace(record(59_000, 7, member("h", (0,)), group="h"), seen_ms=T0 + 59_000)
    stall = stall_of(live, *work, stuck, *waited, *B_GONE, committed(84_500, 0))
    assert stall.seconds == pytest.approx(84.5 - (62.0 - 0.5))


def test_what_waited_behind_several_slow_answers_waited_for_all_of_them():
    """Seed 7: a librdkafka member closed, and for 4 s the commits of before still came, one after the other."""
    answers = SlowAnswers()
    for asked_ms, answered_ms in ((52_000, 55_000), (55_200, 57_000)):
        answers.take(asked_ms, answered_ms)
    assert answers.taken_ms(57_500) == 52_000 - COMMIT_DELAY_MS
    assert answers.taken_ms(62_001) == 62_001 - COMMIT_DELAY_MS
    answers.take(63_000, 64_200)
    assert answers.taken_ms(64_500) == 63_000 - COMMIT_DELAY_MS, "another time, a while later"


@pytest.mark.parametrize(("complete", "lower"), [(True, 2.8), (False, 0.01)])
def test_a_member_that_could_not_reach_its_coordinator_may_work_until_brokers_are_back(complete, lower):
    """Seed 7: the others joined without a Java member, which learned of it 0.2 s after the end of the join phase."""
    polls = [listed(at, complete=complete) for at in range(78_000, 80_000, 200)]
    stall = stall_of(*WORK[:-6], *polls, *B_GONE, committed(84_500, 0))
    assert stall.lower_seconds == pytest.approx(lower)


@pytest.mark.parametrize(("owned", "lower"), [((2, 3), 0.0), ((2,), 0.1)], ids=["still had it", "had given it up"])
def test_a_member_that_never_learned_of_a_generation_may_not_have_stopped(owned, lower):
    """Seed 7: the coordinator had written a generation, but answered its members with an error."""
    a = member("a", (0, 1), owned=(0, 1))
    takes = record(79_900, 2, a, member("b", (2,), owned=(2, 3)), member("c"), joined=79_800, **COOP)
    again = record(81_000, 3, a, member("b", (2, 3), owned=owned), joined=80_900, **COOP)
    polls = listed(79_700), listed(79_750, "g"), listed(79_950, "g"), listed(80_800, "g")
    _, events = watch(*in_time(*A_AND_B, *WORK[:-1], *polls, takes, again), tick(150_000), commits=False)
    assert closing(events)[-1].stall.lower_seconds == pytest.approx(lower)
