"""A table of events agrees with the topic, or each kind of difference is named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaos.verdict.exactly_once import refused, unlike
from rebalance_agent.model.episode import Source
from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.events import GroupGoneEvent
from rebalance_agent.model.group import GroupType

GONE = GroupGoneEvent("a", "cluster", "orders", 1, Source.RECORDS, GroupType.CLASSIC)
FIRST, BETTER, OTHER = GONE, replace(GONE, timestamp_ms=2, revision=1), replace(GONE, event_id="b")
PUBLISHED = [json_line(each) for each in (FIRST, OTHER, BETTER, FIRST)]
"""One event is reported twice, with a higher revision in between."""


def row(event):
    return event.event_id, event.revision, json_line(event).decode()


def test_each_event_once_with_its_highest_revision_is_correct():
    assert unlike([row(BETTER), row(OTHER)], PUBLISHED) == []
    assert unlike([], []) == []


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([row(BETTER)], "1 events are not there, such as ['b']"),
        ([row(BETTER), row(OTHER), row(OTHER)], "1 events are there more than once, such as ['b']"),
        ([row(FIRST), row(OTHER)], "1 events are not as they were published last, such as ['a']"),
        ([row(BETTER), ("b", 0, "{}")], "1 events are not as they were published last, such as ['b']"),
        ([row(BETTER), row(OTHER), ("c", 0, "{}")], "1 events are there, and were never published, such as ['c']"),
    ],
)
def test_every_difference_is_named(rows, words):
    assert unlike(rows, PUBLISHED) == [words]


def test_refused_events_are_an_error():
    assert refused([]) == []
    assert refused([b"no event"]) == ["1 records were refused, such as b'no event'"]
