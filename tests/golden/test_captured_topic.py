"""A captured ``__consumer_offsets`` (see ``make_captured_topic.py``) always gives exactly these events.

``REBALANCE_AGENT_GOLDEN=write pytest tests/golden`` writes them.
"""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

import pytest

from rebalance_agent.groupprotocol.group_fact import GROUP_FACT_KINDS, group_fact
from rebalance_agent.groupprotocol.records import decode_record, record_kind
from rebalance_agent.model.event_json import json_line
from rebalance_agent.tracking.observations import Backfilled, Tick, TopicsSeen
from rebalance_agent.tracking.observed_record import observed_record
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.tracking import closing, feed

FOLDER = Path(__file__).parent
GOLDEN = FOLDER / "captured_topic_events.ndjson"
HEADER, *ROWS = map(json.loads, (FOLDER / "captured_topic.ndjson").read_text(encoding="utf-8").splitlines())
START = ROWS[0]["timestamp"]
END = ROWS[-1]["timestamp"] + 60_000
DELAY_MS = 5


def observed(row, *, live=True):
    """The group observation of a row; None for other records."""
    key = base64.b64decode(row["key"])
    if record_kind(key) not in GROUP_FACT_KINDS:
        return None
    fact = group_fact(decode_record(key, None if row["value"] is None else base64.b64decode(row["value"])))
    return observed_record(fact, row["timestamp"], row["timestamp"] + DELAY_MS, live=live)


def captured(read_before=0):
    """The capture as an observer sees it that starts after the first ``read_before`` records."""
    yield TopicsSeen(START, HEADER["topics"], HEADER["ids"])
    past = {row["key"]: row for row in ROWS[:read_before]}
    yield from filter(None, (observed(row, live=False) for row in past.values()))
    yield Backfilled(START, frozenset({0}))
    yield from filter(None, map(observed, ROWS[read_before:]))
    yield Tick(END)


def replayed(observations):
    return feed(Tracker("captured"), *observations)


def test_the_events_are_the_golden_ones_byte_for_byte_and_reproducible():
    lines = [json_line(event) for event in replayed(captured())]
    if os.environ.get("REBALANCE_AGENT_GOLDEN") == "write":
        GOLDEN.write_bytes(b"".join(line + b"\n" for line in lines))
    assert lines == GOLDEN.read_bytes().splitlines()
    assert [json_line(event) for event in replayed(captured())] == lines


def test_the_published_events_are_those_of_the_captured_topic():
    reported = {}
    # The captured members commit nothing, so the manner of their departure is unknown.
    for event in closing(feed(Tracker("captured"), *captured(), commits=False)):
        reported.setdefault(event.group, []).append((event.group_type.value, event.trigger.value, len(event.members)))
    start, join, leave, end = ("group_started", 1), ("member_joined", 2), ("member_gone", 1), ("member_gone", 0)
    for group, group_type in (("eager", "classic"), ("cooperative", "classic"), ("coordinated", "consumer")):
        assert reported[group] == [(group_type, *each) for each in (start, join, leave, end)]
    old, new = "classic", "consumer"
    assert reported["migrated"] == [
        *[(old, *each) for each in (start, join, leave)],
        *[(new, *each) for each in (join, leave, join)],
        *[(old, *each) for each in (leave, end)],
    ]


# The coordinator writes related records as one batch, and a topic ends with a complete one.
BATCHES = [place for place in range(1, len(ROWS)) if ROWS[place]["timestamp"] != ROWS[place - 1]["timestamp"]]


@pytest.fixture(scope="module")
def whole():
    """All events of the capture, as group, kind and id."""
    return {(event.group, event.KIND, event.event_id) for event in replayed(captured())}


@pytest.mark.parametrize("read_before", BATCHES)
def test_an_observer_that_starts_later_publishes_a_subset_without_duplicates(read_before, whole):
    later = [(event.group, event.KIND, event.event_id) for event in replayed(captured(read_before))]
    assert len(set(later)) == len(later)
    assert set(later) <= whole
