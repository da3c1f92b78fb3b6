"""Generations that leaders report, where the offsets topic cannot be read: each group has its share of work."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.model.baseline import NAME_BYTES_MAX
from rebalance_agent.model.episode import Source
from rebalance_agent.offsets_topic.work_share import set_aside
from rebalance_agent.offsets_topic.work_share.led_backlog import ClosingEvent, LedBacklog
from rebalance_agent.offsets_topic.work_share.led_share import LedShare
from rebalance_agent.offsets_topic.work_share.record_claims import FREE_CLAIMS, claims
from rebalance_agent.offsets_topic.work_share.work_budget import GROUP_RATE, work_seconds
from support.observer.fakes import fake_context
from support.tracker.led_reports import led


class Observer:
    def __init__(self, hidden=True, *, begun=True, publishes=True):
        self.context = fake_context()
        self.share = LedShare(self.context, lambda: self.hidden, publishes=publishes)
        self.hidden = hidden
        self.share.on_topics({"t": 4})
        if begun:
            self.share.begin(LedBacklog())

    def taken(self):
        return self.context.inbox.take(10_000, 0)

    def run(self, seconds, events=lambda _step: ()):
        """Ten steps a second."""
        found = []
        for step in range(10 * seconds):
            self.context.clock.advance(100)
            for event in events(step):
                self.share.put(event)
                found += self.taken()
            self.share.release()
            found += self.taken()
        return found


def test_a_generation_is_observed_with_its_members():
    observer = Observer()
    observer.share.put(led("g", 3))
    (record,) = observer.taken()
    assert (record.group, record.value.generation, record.source, record.live) == ("g", 3, Source.FRAMES, True)
    assert [dict(member.assigned) for member in record.value.members] == [{"t": (0, 1, 2, 3)}]


def test_where_the_offsets_topic_can_be_read_nothing_is_observed_and_no_group_is_named():
    observer = Observer(hidden=False)
    assert observer.run(5, lambda step: [led("g", step)]) == []
    assert observer.context.meters.of("groups_over_budget") == []


def test_a_sender_causes_no_more_work_than_a_groups_share_and_others_never_wait():
    observer = Observer()
    found = observer.run(20, lambda step: [led("hostile", step, partitions=10_000), led("orders", step)])
    assert sum(record.group == "orders" for record in found) == 200
    hostile = [record for record in found if record.group == "hostile"]
    assert sum(work_seconds(record.value) for record in hostile) <= 20 * GROUP_RATE + 1
    assert observer.context.meters.of("groups_over_budget")[-1] == ("work", ["hostile"])


def test_the_last_generation_is_observed_and_says_how_many_were_skipped():
    observer = Observer()
    found = observer.run(1, lambda step: [led("g", 100 * step + each) for each in range(100)])
    found += observer.run(600)
    assert found[-1].value.generation == 999
    assert sum(record.skipped for record in found) + len(found) == 1_000


def test_partitions_that_do_not_exist_are_removed_from_a_generation_that_claims_very_many():
    observer = Observer()
    observer.share.put(led("g", 1, partitions=FREE_CLAIMS + 1))
    (record,) = observer.taken()
    assert claims(record.value) == 4


@pytest.mark.parametrize("name", ["g" * (NAME_BYTES_MAX + 1), "ü" * NAME_BYTES_MAX])
def test_a_name_that_no_group_of_kafka_has_is_ignored(name):
    observer = Observer()
    observer.share.put(replace(led("g", 1), group=name))
    assert observer.taken() == []


def backlog_of(*reports, published=0):
    """The backlog of these reports; the first ones are published."""
    backlog = LedBacklog()
    for number, report in enumerate(reports):
        backlog.add(report)
        if number < published:
            backlog.add_event(ClosingEvent(report.group, report.generation, report.timestamp_ms, Source.FRAMES))
    return backlog


def numbers(records):
    return [(record.value.generation, record.live, record.replayed) for record in records]


def test_new_reports_wait_for_those_from_before_the_start():
    observer = Observer(begun=False)
    for number in (4, 5):
        observer.share.put(led("g", number, number))
    assert observer.taken() == []
    observer.share.begin(backlog_of(led("g", 1, 1), led("g", 2, 2), led("g", 3, 3), published=2))
    observer.share.put(led("g", 6, 6))
    expected = [(2, False, True), (3, True, True), (4, True, False), (5, True, False), (6, True, False)]
    assert numbers(observer.taken()) == expected


def test_without_published_events_earlier_reports_only_show_the_state():
    observer = Observer(begun=False, publishes=False)
    observer.share.begin(backlog_of(led("g", 1, 1), led("g", 2, 2)))
    assert numbers(observer.taken()) == [(2, False, True)]


def test_reports_that_wait_for_earlier_ones_take_bounded_memory(monkeypatch):
    monkeypatch.setattr(set_aside, "KEY_RECORDS_MAX", 3)
    observer = Observer(begun=False)
    for number in range(10):
        observer.share.put(led("g", number, number))
    observer.share.begin(LedBacklog())
    assert [(record.value.generation, record.skipped) for record in observer.taken()] == [(7, 7), (8, 0), (9, 0)]


def test_dropped_reports_from_before_the_start_are_skipped_ones(monkeypatch):
    monkeypatch.setattr(set_aside, "KEY_RECORDS_MAX", 1)
    observer = Observer(begun=False)
    observer.share.begin(backlog_of(*(led("g", number, number) for number in range(5))))
    assert [(record.value.generation, record.skipped) for record in observer.taken()] == [(4, 4)]


def test_earlier_reports_are_due_once_the_topics_are_known_and_the_offsets_topic_is_hidden():
    context, hidden = fake_context(), []
    share = LedShare(context, lambda: bool(hidden))
    assert not share.due
    hidden.append(True)
    assert not share.due
    share.on_topics({"t": 4})
    assert share.due
    share.begin(LedBacklog())
    assert not share.due


def test_reports_of_a_new_group_that_waits_do_not_replace_each_other():
    observer = Observer()
    for number in range(400):
        observer.share.put(led(f"other-{number}", 1, number))
    for number in (1, 2, 3):
        observer.share.put(led("late", number, number))
    taken = observer.run(300)
    assert [each.value.generation for each in taken if each.group == "late"] == [1, 2, 3]


def test_reports_do_not_wait_for_a_topic_that_may_not_be_read():
    observer = Observer(begun=False)
    observer.share.put(led("g", 1, 1))
    observer.share.release()
    assert observer.taken() == []
    observer.share.without_topic()
    observer.share.release()
    assert numbers(observer.taken()) == [(1, True, False)]
