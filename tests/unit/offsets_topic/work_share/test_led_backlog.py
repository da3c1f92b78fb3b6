"""Reports of leaders from before the start: those with an event show the groups' state, the others need an event."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.model.baseline import NAME_BYTES_MAX
from rebalance_agent.model.episode import Source
from rebalance_agent.model.event_json import event_to_json
from rebalance_agent.offsets_topic.work_share import set_aside
from rebalance_agent.offsets_topic.work_share.led_backlog import CLOCKS_MS, ClosingEvent, LedBacklog
from support.observer.fakes import generation_event
from support.tracker.led_reports import led


def closing(group, generation, at_ms, source=Source.FRAMES):
    return ClosingEvent(group, generation, at_ms, source)


def backlog_of(*entries):
    backlog = LedBacklog()
    for entry in entries:
        (backlog.add_event if isinstance(entry, ClosingEvent) else backlog.add)(entry)
    return backlog


def taken(backlog):
    """Group -> its generations in order, and whether they need an event."""
    found = {}
    for waiting, needs_event in backlog.take():
        event = waiting.message.event
        found.setdefault(event.group, []).append((event.generation, needs_event))
    return found


def test_the_last_report_with_an_event_is_the_state_before_those_without():
    backlog = backlog_of(
        *(led("a", 1, 100), led("a", 2, 200), closing("a", 1, 100), led("b", 7, 250), led("a", 3, 300)),
        *(closing("a", 2, 200), led("a", 4, 400)),
    )
    assert backlog.first_ms == 250
    assert taken(backlog) == {"a": [(2, False), (3, True), (4, True)], "b": [(7, True)]}
    assert taken(backlog) == {}
    assert backlog.first_ms is None


def test_an_event_that_closes_an_episode_covers_all_its_reports():
    assert taken(backlog_of(led("a", 1, 100), led("a", 2, 200), closing("a", 2, 200))) == {"a": [(2, False)]}


def test_an_event_covers_no_report_of_a_recreated_group_with_the_same_number():
    backlog = backlog_of(led("a", 1, 100), led("a", 2, 200), led("a", 1, 5_000), closing("a", 1, 100))
    assert taken(backlog) == {"a": [(1, False), (2, True), (1, True)]}


def test_a_revision_of_an_older_event_changes_nothing():
    backlog = backlog_of(led("a", 1, 100), led("a", 2, 200), closing("a", 2, 200), closing("a", 1, 100), led("a", 3))
    assert taken(backlog) == {"a": [(2, False), (3, True)]}


@pytest.mark.parametrize(("apart_ms", "needs_event"), [(CLOCKS_MS, False), (CLOCKS_MS + 1, True)])
def test_an_event_from_a_record_has_the_coordinators_time(apart_ms, needs_event):
    event = closing("a", 1, 100_000 - apart_ms, Source.RECORDS)
    assert taken(backlog_of(led("a", 1, 100_000), event)) == {"a": [(1, needs_event)]}


def test_of_too_many_reports_the_oldest_are_dropped_and_counted(monkeypatch):
    monkeypatch.setattr(set_aside, "KEY_RECORDS_MAX", 2)
    backlog = backlog_of(*(led("a", number, number) for number in range(5)), led("b", 1))
    reports = [waiting for waiting, _ in backlog.take() if waiting.message.event.group == "a"]
    assert [(each.message.event.generation, each.skipped) for each in reports] == [(3, 3), (4, 0)]


def test_all_reports_together_take_bounded_memory(monkeypatch):
    monkeypatch.setattr(set_aside, "ALL_BYTES_MAX", 5_000)
    backlog = backlog_of(*(led(f"g{number}", 1) for number in range(100)))
    assert 0 < len(taken(backlog)) < 15
    published = backlog_of(
        *(each for number in range(100) for each in (led(f"g{number}", 1), closing(f"g{number}", 1, 1_000)))
    )
    assert 0 < len(taken(published)) < 15


def test_without_published_events_the_reports_only_show_the_groups_state():
    backlog = backlog_of(led("a", 1, 100), closing("a", 1, 100), led("a", 2, 200), led("b", 1))
    backlog.publish_all()
    assert backlog.first_ms is None
    assert taken(backlog) == {"a": [(2, False)], "b": [(1, False)]}


def test_a_name_that_no_group_of_kafka_has_is_ignored():
    assert taken(backlog_of(led("g" * (NAME_BYTES_MAX + 1), 1))) == {}


EVENT = generation_event(source=Source.FRAMES)


def test_the_event_that_closes_an_episode_is_read_from_its_json():
    assert ClosingEvent.of(event_to_json(EVENT), "c") == ("g", 3, 1_000, Source.FRAMES)
    last = replace(EVENT, part=1, parts=2)
    assert ClosingEvent.of(event_to_json(last), "c") is not None


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        event_to_json(replace(EVENT, cluster_id="another")),
        event_to_json(replace(EVENT, closes_episode=False)),
        event_to_json(replace(EVENT, part=0, parts=2)),
        event_to_json(replace(EVENT, source=Source.DESCRIBE)),
        event_to_json(EVENT) | {"generation": "3"},
        event_to_json(EVENT) | {"timestamp_ms": None},
        event_to_json(EVENT) | {"group": ["g"]},
        event_to_json(EVENT) | {"group": "\ud800"},
        event_to_json(EVENT) | {"source": ["frames"]},
        event_to_json(EVENT) | {"part": "0", "parts": "1"},
        event_to_json(led("g", 3)),
    ],
)
def test_other_data_is_not_such_an_event(data):
    assert ClosingEvent.of(data, "c") is None
