"""When the last records that members read were appended, found by ListOffsets with timestamps."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.errors import ClusterError
from rebalance_agent.polls.last_reads import PRECISION_MS, ReadTimesPoll, last_reads
from rebalance_agent.tracking.evidence.commits.read_times import CLOCKS_MS, ReadQuestion
from support.observer.fakes import fake_context

NOW = 100_000


class FakeCluster:
    """Partitions with the timestamps (epoch ms) of their records."""

    def __init__(self, **records):
        self.records = {("t", int(name[1:])): times for name, times in records.items()}
        self.requests = 0
        self.error = None

    def offsets_at(self, times):
        self.requests += 1
        if self.error:
            raise self.error
        return {
            partition: next((n for n, at in enumerate(self.records[partition]) if at >= at_ms), -1)
            for partition, at_ms in times.items()
            if partition in self.records
        }


def question(offset, after_ms=0, until_ms=20_000, partition=0):
    return ReadQuestion(("t", partition), offset, after_ms, until_ms)


times = st.lists(st.integers(0, 40_000), max_size=60)


@given(times.map(sorted), st.data())
def test_the_answer_is_exact_to_a_tenth_of_a_second(records, data):
    offset = data.draw(st.integers(0, len(records)))
    asked = question(offset, *sorted(data.draw(st.tuples(st.integers(0, 30_000), st.integers(0, 30_000)))))
    answer = last_reads([asked], FakeCluster(p0=records).offsets_at, NOW)[asked]
    read = [at for at in records[:offset] if asked.after_ms < at <= asked.until_ms]
    # If records after `until_ms` were read, the member worked until then.
    latest = asked.until_ms if any(at > asked.until_ms for at in records[:offset]) else max(read, default=None)
    if answer is not None:
        assert latest is not None
        assert latest - PRECISION_MS <= answer <= latest
    elif latest is not None:
        assert latest - asked.after_ms <= PRECISION_MS


@given(times, st.data())
def test_the_answer_is_never_later_than_the_last_record_that_was_read(records, data):
    """Also where timestamps go back, as several producers' do."""
    asked = question(data.draw(st.integers(0, len(records))), 0, 40_000)
    answer = last_reads([asked], FakeCluster(p0=records).offsets_at, NOW)[asked]
    if answer is not None:
        assert answer <= max(records[: asked.offset])


def test_where_records_come_all_the_time_two_requests_are_enough():
    cluster = FakeCluster(p0=range(0, 20_000, 100))
    asked = question(200)
    assert last_reads([asked], cluster.offsets_at, NOW) == {asked: 20_000 - PRECISION_MS}
    assert cluster.requests == 2


def test_partitions_with_records_from_the_future_have_no_answer():
    asked = question(2)
    for newest, answered in ((NOW + CLOCKS_MS + 1, False), (NOW + CLOCKS_MS - 1, True)):
        answer = last_reads([asked], FakeCluster(p0=[1_000, 19_900, newest]).offsets_at, NOW)[asked]
        assert (answer is not None) is answered


def test_partitions_that_cannot_be_asked_have_no_answer():
    asked = question(2, partition=7)
    assert last_reads([asked], FakeCluster(p0=[1, 2]).offsets_at, NOW) == {asked: None}


@pytest.fixture
def context():
    return fake_context(FakeCluster(p0=range(0, 20_000, 100), p1=range(0, 20_000, 100)))


def test_all_questions_are_answered_also_those_of_one_partition(context):
    first, second, other = question(200), question(100), question(150, partition=1)
    questions = deque([first, second, other])
    ReadTimesPoll(context, questions)()
    answers = {}
    for observation in context.inbox.take(9, 0):
        answers |= observation.appended_ms
    assert not questions
    assert answers.keys() == {first, second, other}
    assert 9_900 - PRECISION_MS <= answers[second] <= 9_900


def test_a_cluster_that_does_not_answer_leaves_the_questions_open_to_nobody(context):
    context.cluster.error = ClusterError("no broker")
    asked = question(200)
    ReadTimesPoll(context, deque([asked]))()
    assert [each.appended_ms for each in context.inbox.take(9, 0)] == [{asked: None}]


def test_without_questions_nothing_is_asked(context):
    ReadTimesPoll(context, deque())()
    assert context.cluster.requests == 0
