"""Reports of leaders in the events topic: those from before the start are read first, and each report once."""

from __future__ import annotations

import threading

import pytest

from rebalance_agent.errors import ClusterError
from rebalance_agent.model.episode import Source
from rebalance_agent.model.event_json import json_line
from rebalance_agent.polls import member_events as module
from rebalance_agent.polls.member_events import KIND_HEADER, LED_BACK_MS, MemberEvents
from support.observer.fakes import FakeRecord, fake_context, generation_event
from support.tracker.led_reports import Leaders, led

TOPIC = "rebalance-events"


def record(offset, event):
    return FakeRecord(b"here:g", json_line(event), [(KIND_HEADER, event.KIND.encode())], at=(0, offset))


def published(generation, at_ms):
    return generation_event(cluster_id="here", generation=generation, timestamp_ms=at_ms, source=Source.FRAMES)


class Topic:
    """A topic with one partition, its offsets, and its readers. ``stop`` is set when a reader has read everything.

    ``fails_at``: offset at which the next read fails once. ``new``: records that are written after the first read.
    """

    def __init__(self, *events, new=(), partitions=1):
        self.records = [record(offset, event) for offset, event in enumerate(events)]
        self.stop, self.fails_at, self.asked_ms = threading.Event(), None, []
        self.partitions, self._new = partitions, list(new)

    def write(self):
        self.records += [record(len(self.records) + index, event) for index, event in enumerate(self._new)]
        self._new = []

    def end_offsets(self, _topic, partitions):
        return {number: len(self.records) for number in partitions}

    def start_offsets(self, _topic, partitions):
        return dict.fromkeys(partitions, 0)

    def offsets_since(self, _topic, partitions, since_ms):
        self.asked_ms.append(since_ms)
        return dict.fromkeys(partitions, 0)


class Reader:
    """A reader of a `Topic` that returns one record per read."""

    def __init__(self, topic):
        self._topic, self.topic, self.positions = topic, TOPIC, {}

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        pass

    def partitions(self):
        return self._topic.partitions

    def begin(self, offsets):
        self.positions |= {number: max(0, offset) for number, offset in offsets.items()}

    def end(self, partitions):
        for partition in partitions:
            del self.positions[partition]

    def read(self, _most, _timeout):
        topic, at = self._topic, self.positions[0]
        if topic.fails_at == at:
            topic.fails_at = None
            raise ClusterError("nobody answers")
        if at == len(topic.records):
            topic.write()
            if at == len(topic.records):
                topic.stop.set()
                return []
        self.positions[0] = at + 1
        return [topic.records[at]]


@pytest.fixture
def follow(monkeypatch):
    """Follow a topic until everything was read; return the collector."""

    def following(topic, leaders, members=None):
        monkeypatch.setattr(module, "TopicReader", lambda *_: Reader(topic))
        members = members or MemberEvents(fake_context(cluster=topic), TOPIC, "here", leaders)
        members._follow(topic.stop)
        return members

    return following


def reported(reports):
    return [event.generation for event in reports]


def test_reports_from_before_the_start_come_first_without_those_that_have_events(follow):
    before = (led("g", 1, 1_000), published(1, 1_000), led("g", 2, 2_000))
    topic, leaders = Topic(*before, new=[led("g", 3, 3_000)]), Leaders(due=True)
    members = follow(topic, leaders)
    assert leaders.backlogs == [[(before[0], False), (before[2], True)]]
    assert reported(leaders.reports) == [3], "read once, although members' reports were read again"
    now_ms = members._context.clock.now_ms()
    assert topic.asked_ms[0] == now_ms - LED_BACK_MS
    assert len(topic.asked_ms) == 2, "members' reports of the rebalances that need an event"


def test_only_shown_groups_of_this_cluster_are_read_back(follow):
    topic, leaders = Topic(led("g", 1), published(1, 1_000)), Leaders(due=True)
    members = MemberEvents(fake_context(cluster=topic, shows=lambda _group: False), TOPIC, "here", leaders)
    follow(topic, leaders, members)
    assert leaders.backlogs == [[]]


def test_nothing_is_read_back_where_the_offsets_topic_can_be_read(follow):
    topic, leaders = Topic(led("g", 1), led("g", 2)), Leaders()
    follow(topic, leaders)
    assert (leaders.backlogs, topic.asked_ms) == ([], [])


def test_before_the_topic_exists_there_are_no_earlier_reports(follow, monkeypatch):
    monkeypatch.setattr(module, "ABSENT_WAIT_S", 0)
    topic, leaders = Topic(new=[led("g", 1)], partitions=0), Leaders(due=True)

    def begin(backlog):
        topic.partitions = 1
        Leaders.begin(leaders, backlog)

    monkeypatch.setattr(leaders, "begin", begin)
    follow(topic, leaders)
    assert leaders.backlogs == [[]]
    assert reported(leaders.reports) == [1]


def test_after_a_failure_reading_goes_on_where_it_ended(follow):
    topic, leaders = Topic(led("g", 1), new=[led("g", number) for number in (2, 3, 4)]), Leaders(due=True)
    members = MemberEvents(fake_context(cluster=topic), TOPIC, "here", leaders)
    topic.fails_at = 2
    with pytest.raises(ClusterError):
        follow(topic, leaders, members)
    assert reported(leaders.reports) == [2]
    follow(topic, leaders, members)
    assert reported(leaders.reports) == [2, 3, 4]
    assert len(leaders.backlogs) == 1


def test_a_topic_that_was_created_again_is_read_from_its_end(follow):
    topic, leaders = Topic(*(led("g", number) for number in range(5)), new=[led("g", 5)]), Leaders(due=True)
    members = follow(topic, leaders)
    assert reported(leaders.reports) == [5]
    topic.stop.clear()
    topic.records = [record(0, led("g", 10))]
    topic._new = [led("g", 11)]
    follow(topic, leaders, members)
    assert reported(leaders.reports) == [5, 11]


def test_a_failure_while_earlier_reports_are_read_starts_over(follow):
    topic, leaders = Topic(led("g", 1), led("g", 2), new=[led("g", 3)]), Leaders(due=True)
    members = MemberEvents(fake_context(cluster=topic), TOPIC, "here", leaders)
    topic.fails_at = 1
    with pytest.raises(ClusterError):
        follow(topic, leaders, members)
    assert (leaders.backlogs, leaders.reports) == ([], [])
    follow(topic, leaders, members)
    assert [reported(event for event, _ in backlog) for backlog in leaders.backlogs] == [[1, 2]]
    assert reported(leaders.reports) == [3]


def test_without_permission_to_read_the_topic_new_reports_do_not_wait():
    leaders = Leaders()
    MemberEvents(fake_context(), TOPIC, "here", leaders)._denied("not allowed")
    assert leaders.topicless
