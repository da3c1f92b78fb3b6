"""Bounds of stalls from the times when the records were appended that departed members read last."""

import pytest

from rebalance_agent.tracking.evidence.commits.commit_times import READS_ASKED, CommitTimes
from rebalance_agent.tracking.evidence.commits.read_times import CLOCKS_MS, QUESTIONS_MAX, ReadQuestion, ReadTime
from rebalance_agent.tracking.observations import ReadsAppended
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.epochs import gone, group_of_two
from support.tracker.tracking import (
    B_GONE,
    T0,
    TWO_EAGER,
    closing,
    committed,
    feed,
    in_time,
    member,
    record,
    tick,
    topics,
)

WORK = [committed(at, 0, 1, 2, 3) for at in range(5_000, 80_000, 5_000)]
"""Each commit of a partition has its time as its offset. b owns the partitions 2 and 3."""


def questions_of(tracker):
    taken = list(tracker.read_questions)
    tracker.read_questions.clear()
    return taken


def stall_with(appended_ms, *work):
    """The stall after b left, if the last records that it had read were appended at ``appended_ms``."""
    tracker = Tracker("cluster", settle_ms=1_000)
    feed(tracker, *in_time(*TWO_EAGER, *work, *B_GONE), commits=False)
    asked = questions_of(tracker)
    answers = dict.fromkeys(asked, None if appended_ms is None else T0 + appended_ms)
    events = feed(tracker, ReadsAppended(T0 + 84_000, answers), committed(84_500, 0), tick(150_000), commits=False)
    return asked, closing(events)[-1].stall


def test_only_the_last_commits_of_departed_members_are_asked_about():
    asked, _ = stall_with(None, *WORK)
    assert [(each.partition, each.offset) for each in asked] == [(("t", 3), 75_000), (("t", 2), 75_000)]
    # Its commits show its work until 69.5 s, half a second before the second-last one.
    assert {(each.after_ms, each.until_ms) for each in asked} == {(T0 + 69_500, T0 + 75_000)}


def test_a_departed_member_worked_until_the_last_record_that_it_read_was_appended():
    _, stall = stall_with(74_900, *WORK)
    assert stall.seconds == pytest.approx(84.5 - (74_900 - CLOCKS_MS) / 1_000)


@pytest.mark.parametrize("appended_ms", [None, 60_000])
def test_without_a_later_record_the_last_commit_but_one_remains(appended_ms):
    _, stall = stall_with(appended_ms, *WORK)
    assert stall.seconds == pytest.approx(84.5 - 69.5)


def test_the_latest_of_several_partitions_counts():
    time = ReadTime()
    for at_ms in (5_000, 9_000, 7_000):
        time.see(at_ms)
    assert time.worked_ms == 9_000 - CLOCKS_MS


def test_a_static_member_that_returned_under_another_id_is_asked_about():
    """Its seat may have been handed over: then the consumer that read is gone."""
    tracker = Tracker("cluster", settle_ms=1_000)
    a, b, again = (
        member(name, parts, instance=name[0]) for name, parts in (("a", (0, 1)), ("b", (2, 3)), ("b2", (2, 3)))
    )
    generation = topics(0, t=4), record(4_000, 1, a, b, joined=3_990)
    feed(tracker, *generation, *WORK, record(78_000, 1, a, again, joined=3_990), commits=False)
    asked = questions_of(tracker)
    assert {(each.partition, each.until_ms) for each in asked} == {(("t", 2), T0 + 75_000), (("t", 3), T0 + 75_000)}
    feed(tracker, ReadsAppended(T0 + 79_000, dict.fromkeys(asked, T0 + 74_900)), commits=False)
    stall = closing(feed(tracker, committed(79_500, 2), tick(150_000), commits=False))[-1].stall
    assert stall.seconds == pytest.approx(79.5 - (74_900 - CLOCKS_MS) / 1_000)


def test_a_member_that_leaves_a_consumer_group_is_asked_about():
    tracker = Tracker("cluster", settle_ms=1_000)
    work = [committed(at, 0, 1, 2, 3) for at in range(20_000, 40_000, 5_000)]
    feed(tracker, *group_of_two((0, 1), (2, 3)), *work, *gone(41_000, "b"))
    assert {each.partition for each in questions_of(tracker)} == {("t", 2), ("t", 3)}


def test_a_member_of_many_partitions_is_asked_about_those_that_it_committed_last():
    commits = CommitTimes()
    many = [("t", number) for number in range(50)]
    for at in (10_000, 20_000):
        commits.update(committed(at, *range(40)).commits)
    commits.update(committed(24_000, *range(40, 50)).commits)
    commits.update(committed(29_000, *range(40, 50)).commits)
    commits.ask_reads("g", many, T0, T0 + 30_000)
    asked = list(commits.reads.unasked)
    assert len(asked) == READS_ASKED
    assert {each.until_ms for each in asked} == {T0 + 29_000}


def test_a_commit_soon_after_the_one_before_needs_no_question():
    commits = CommitTimes()
    for at in (10_000, 10_400):
        commits.update(committed(at, 0).commits)
    worked_ms = commits.worked_ms("g", [("t", 0)], T0, T0 + 30_000)
    commits.ask_reads("g", [("t", 0)], worked_ms, T0 + 30_000)
    assert not commits.reads.unasked


def test_the_questions_are_bounded():
    commits = CommitTimes()
    first = ReadTime()
    for number in range(QUESTIONS_MAX + 1):
        question = ReadQuestion(("t", number), 9, T0, T0 + 5_000)
        commits.reads.ask(question, first if number == 0 else ReadTime())
    commits.reads.answer(dict.fromkeys([ReadQuestion(("t", 0), 9, T0, T0 + 5_000)], T0 + 4_000))
    assert (len(commits.reads.unasked), first.worked_ms) == (QUESTIONS_MAX, None)
