"""The captured ``__consumer_offsets``, told by observers that are killed and go on from their snapshots."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from rebalance_agent.collectors.group_records import GroupRecords
from rebalance_agent.collectors.snapshot_codec import StoredRecord
from rebalance_agent.rebalances.observations import TopicsSeen
from support.fakes import fake_context
from support.restarts import TICK_MS, Observed, numbered, told_together

HEADER, *ROWS = map(
    json.loads, Path(__file__).with_name("captured_topic.ndjson").read_text(encoding="utf-8").splitlines()
)
START_MS = ROWS[0]["timestamp"]
END_MS = ROWS[-1]["timestamp"] + 60_000


def _log():
    records = GroupRecords(fake_context())
    stored = [
        StoredRecord(
            0,
            offset,
            row["timestamp"],
            base64.b64decode(row["key"]),
            None if row["value"] is None else base64.b64decode(row["value"]),
        )
        for offset, row in enumerate(ROWS)
    ]
    return numbered([(message.key(), records.decode(message, live=True)) for message, _ in records.of_groups(stored)])


LOG = _log()
TOPICS = (TopicsSeen(START_MS, HEADER["topics"], HEADER["ids"]),)


@pytest.mark.parametrize("settle_ms", [0, 1_000, 5_000])
@pytest.mark.parametrize("away_ms", [0, 3_000])
def test_wherever_it_is_killed_the_same_is_told(settle_ms, away_ms):
    begin = lambda: Observed(LOG, TOPICS, settle_ms)  # noqa: E731
    whole = begin().live(START_MS, END_MS).told()
    assert len(whole) > 15
    for killed_ms in range(START_MS, ROWS[-1]["timestamp"] + 10_000, TICK_MS):
        killed = begin().live(START_MS, killed_ms)
        successor = killed.successor(killed_ms + away_ms).live(killed_ms + away_ms, END_MS)
        assert told_together([killed, successor]) == whole, killed_ms - START_MS


def test_what_it_covers_comes_close_to_what_was_written():
    observer = Observed(LOG, TOPICS, 1_000)
    behind = []
    for now_ms in range(START_MS, END_MS, TICK_MS):
        observer.live(now_ms, now_ms)
        behind.append(observer.position - observer.covered)
    assert behind[-1] == 0
    assert behind.count(0) > len(behind) / 2
