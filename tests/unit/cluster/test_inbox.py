from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.clock import FakeClock
from rebalance_agent.cluster.inbox import COMMIT_BYTES, DECODED, REPORTS_AT_ONCE, Inbox
from rebalance_agent.model.epoch_groups import GroupEpoch
from rebalance_agent.model.events import Callback, MemberEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.partition_ranges import PartitionRanges
from rebalance_agent.tracking.evidence.kept_reports import report_bytes
from rebalance_agent.tracking.observations import CommitsSeen, EpochRecord, GroupRecord, MemberReported, Tick

PATIENCE_S = 10


def test_observations_leave_the_inbox_in_order():
    inbox = Inbox()
    for at in range(5):
        inbox.put(Tick(at))
    assert inbox.take(3, 0) == [Tick(0), Tick(1), Tick(2)]
    assert inbox.take(3, 0) == [Tick(3), Tick(4)]
    assert inbox.take(3, 0) == []


def test_a_full_inbox_drops_polls_and_blocks_records():
    inbox = Inbox(1)
    inbox.put(Tick(1))
    assert not inbox.offer(Tick(2))
    waiting = threading.Thread(target=inbox.put, args=(Tick(3),), daemon=True)
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive()
    assert inbox.take(1, 0) == [Tick(1)]
    waiting.join(PATIENCE_S)
    assert inbox.take(1, PATIENCE_S) == [Tick(3)]


def test_closing_the_inbox_ends_all_waits():
    full, empty, results = Inbox(1), Inbox(), []
    full.put(Tick(1))
    threads = [
        threading.Thread(target=full.put, args=(Tick(2),), daemon=True),
        threading.Thread(target=lambda: results.append(empty.take(1, PATIENCE_S * 10)), daemon=True),
    ]
    for thread in threads:
        thread.start()
    full.close()
    empty.close()
    for thread in threads:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
    assert results == [[]]


def test_a_closed_inbox_still_returns_its_observations_and_accepts_no_more():
    inbox = Inbox()
    inbox.put(Tick(1))
    inbox.close()
    inbox.put(Tick(2))
    assert not inbox.offer(Tick(3))
    assert inbox.take(9, 0) == [Tick(1)]
    assert len(inbox) == 0


RECORD = GroupRecord("g", 1, 1, None)
EPOCH = EpochRecord("g", 1, 1, GroupType.CONSUMER, GroupEpoch, None)
REPORT = MemberReported(
    1, MemberEvent("id", "g", 2, Callback.REVOKED, "c", "m", 3, 1, {"t": PartitionRanges("0-9")}, "process", 1)
)


@pytest.mark.parametrize(
    ("first", "observation", "record_bytes"),
    [
        (RECORD, RECORD, 600),
        (RECORD, EPOCH, 600),
        (RECORD, CommitsSeen(1, {bytes([key]): None for key in range(24)}), 0),
        (RECORD, CommitsSeen(1, {b"a long name" * 500: None}), 0),
        (REPORT, REPORT, 0),
    ],
)
def test_the_memory_of_records_commits_and_reports_is_bounded(first, observation, record_bytes):
    inbox = Inbox(size_bytes=DECODED * 1_000, reports_bytes=report_bytes(REPORT.event))
    inbox.put(first, 900)
    waiting = threading.Thread(target=inbox.put, args=(observation, record_bytes), daemon=True)
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive()
    assert inbox.offer(Tick(1)), "it takes no memory"
    assert first in inbox.take(1, 0)
    waiting.join(PATIENCE_S)
    assert observation in inbox.take(2, PATIENCE_S)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 40), st.integers(0, 4)), max_size=40))
def test_the_queued_bytes_are_bounded_for_any_commits_and_reports(steps):
    """An entry that is larger than the bound is in its queue alone."""
    most, of_reports = 50 * COMMIT_BYTES, 3 * report_bytes(REPORT.event)
    inbox = Inbox(8, most, of_reports)
    for is_report, number, taken in steps:
        inbox.offer(REPORT if is_report else CommitsSeen(1, {bytes([key]): None for key in range(2 * number)}))
        if taken:
            inbox.take(taken, 0)
        for lane, bytes_max in ((inbox._lane, most), (inbox._reports, of_reports)):
            assert lane._bytes == sum(queued.size_bytes for queued in lane.items)
            assert lane._bytes <= bytes_max or len(lane.items) == 1
            assert len(lane.items) <= 8


def test_many_reports_delay_no_records():
    inbox = Inbox(size=REPORTS_AT_ONCE + 1)
    for _ in range(REPORTS_AT_ONCE + 1):
        inbox.put(REPORT)
    assert not inbox.offer(REPORT)
    inbox.put(RECORD)
    assert inbox.take(9, 0) == [RECORD] + [REPORT] * REPORTS_AT_ONCE


def test_the_work_of_an_observation_counts_until_it_is_processed():
    inbox = Inbox()
    inbox.put(RECORD, 900, 0.25)
    inbox.put(RECORD, 900, 0.5)
    assert (inbox.work_s, inbox.take(1, 0), inbox.work_s) == (0.75, [RECORD], 0.75)
    assert (inbox.take(1, 0), inbox.work_s) == ([RECORD], 0.5)
    assert (inbox.take(1, 0), inbox.work_s) == ([], 0)


def test_an_observation_larger_than_the_bound_is_accepted_alone():
    inbox = Inbox(size_bytes=100)
    inbox.put(RECORD, 600)
    assert inbox.take(9, 0) == [RECORD]


def test_the_age_is_that_of_the_oldest_unprocessed_observation():
    clock = FakeClock()
    inbox = Inbox(clock=clock)
    assert inbox.age == 0
    inbox.put(Tick(1))
    clock.advance(2_000)
    inbox.put(Tick(2))
    assert inbox.age == 2
    inbox.take(1, 0)
    clock.advance(1_000)
    assert inbox.age == 3, "a taken observation is in process until the next call"
    inbox.take(1, 0)
    assert inbox.age == 1
    inbox.put(REPORT)
    clock.advance(1_000)
    inbox.take(1, 0)
    assert inbox.age == 0, "reports do not make an observer unready"
