"""The times of events are bounded relative to the time of ingest, because each day is a folder of several tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rebalance_agent.model.episode import Source
from rebalance_agent.model.event_json import event_from_json, json_line, json_object
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.pipeline.ingest.event_rows import EventRow, event_row
from rebalance_agent.pipeline.ingest.event_times import ReadAt, untimely

LINES = (Path(__file__).parents[2] / "golden" / "captured_topic_events.ndjson").read_bytes().splitlines()
EVENTS = [event_from_json(json_object(line)) for line in LINES]
GENERATION = next(
    event for event in EVENTS if isinstance(event, GenerationEvent) and event.phases.started_ms and event.stall
)
DAY_MS, NOW_MS = 86_400_000, GENERATION.timestamp_ms
ROLLOUT = RolloutEvent(
    "id", "c", "g", NOW_MS, Source.RECORDS, GroupType.CLASSIC, NOW_MS - 1, 1, 2, True, 2, 2, 2, 0.5
)  # fmt: skip
PHASES = ("started_ms", "joined_ms", "completed_ms")


def test_published_events_are_timely_for_the_maximum_age():
    latest = max(event.timestamp_ms for event in EVENTS)
    for event in EVENTS:
        assert untimely(event, ReadAt(latest, 1)) is None


def moved(name, value):
    """The generation with this time; ``name`` is a field of the event or of its phases."""
    if name in PHASES:
        return replace(GENERATION, phases=replace(GENERATION.phases, **{name: value}))
    return replace(GENERATION, **{name: value})


@pytest.mark.parametrize("name", ["timestamp_ms", *PHASES])
def test_every_time_that_chooses_a_folder_is_bounded(name):
    field = f"phases.{name}" if name in PHASES else name
    assert untimely(moved(name, NOW_MS + DAY_MS), ReadAt(NOW_MS)) is None
    ahead = untimely(moved(name, NOW_MS + DAY_MS + 1), ReadAt(NOW_MS))
    assert ahead.startswith(f"{field}: must not be more than 1 day after")
    long_ago = moved(name, NOW_MS - 9 * DAY_MS)
    assert untimely(long_ago, ReadAt(NOW_MS, 9)) is None
    assert untimely(long_ago, ReadAt(NOW_MS + 1, 9)).startswith(f"{field}: must not be more than 9 days before")
    assert untimely(long_ago, ReadAt(NOW_MS)) is None


def test_the_start_of_a_deploy_is_bounded():
    assert untimely(ROLLOUT, ReadAt(NOW_MS, 1)) is None
    assert untimely(replace(ROLLOUT, started_ms=NOW_MS - 2 * DAY_MS), ReadAt(NOW_MS, 1)).startswith("started_ms: ")


def test_a_value_with_such_a_time_is_rejected_for_its_own_reason_and_other_faults_keep_theirs():
    line = json_line(GENERATION)
    assert isinstance(event_row(line, ReadAt(NOW_MS)), EventRow)
    assert event_row(line, ReadAt(NOW_MS - 2 * DAY_MS)).code == "untimely"
    assert event_row(line, ReadAt(NOW_MS + 2 * DAY_MS, 1)).code == "untimely"
    assert event_row(line[:-1], ReadAt(NOW_MS + 2 * DAY_MS, 1)).code == "malformed"
