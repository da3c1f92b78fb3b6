"""The observers' own topics, snapshots and baselines, which every client with write access can damage."""

from __future__ import annotations

import contextlib
import json

from fuzz.target import KB, MB, Target, joined, parts, read_or_refused
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.baseline import AdviceSavings, BaselineScope, GroupBaseline, HourBaseline, baseline_from_json
from rebalance_agent.model.event_json import value_to_json
from rebalance_agent.offsets_topic.snapshots.codec import (
    VERSION,
    Digest,
    Marker,
    SnapshotAssembly,
    StoredRecord,
    marker_key,
    marker_value,
    record_key,
    record_value,
)
from rebalance_agent.polls.baseline_reader import Baselines
from rebalance_agent.ui.page.savings_note import savings_note
from support.kafka.captured import CAPTURED_TOPIC
from support.observer.views import NOW

__all__ = ["TARGETS"]

OWNER = b"rebalance-agent"


def take_snapshot(data):
    """Keys and values in turn, of the topic of snapshots."""
    assembly = SnapshotAssembly(OWNER, [0, 1])
    pieces = parts(data)
    for key, value in zip(pieces[::2], pieces[1::2], strict=False):
        assembly.add(key or b"", value)
    for partition in (0, 1):
        assembly.keys(partition)
        with contextlib.suppress(InvalidInputError):
            if marker := assembly.marker(partition):
                assembly.records(partition, marker)


def take_baseline(data):
    """A record of the topic of baselines."""
    baseline = read_or_refused(baseline_from_json, data, InvalidInputError)
    if baseline is not None:
        baselines = Baselines()
        assert baselines.put(baseline)
        baselines.at(baseline.group, NOW)
        savings_note(AdviceSavings.total([baseline.savings] * 20_000 if baseline.savings else []))


def snapshots():
    stored = CAPTURED_TOPIC.records[:12]
    records = [StoredRecord(0, each.offset(), NOW, each.key(), each.value() or b"") for each in stored]
    digest = Digest(records)
    marker = Marker(VERSION, 7, records[-1].offset() + 1, len(digest.summands), digest.text, NOW, "facts")
    pieces = []
    for each in records:
        pieces += [record_key(OWNER, 0, each.key()), record_value(7, each.offset(), NOW, each.value())]
    return [joined(*pieces, marker_key(OWNER, 0), marker_value(marker))]


def baselines():
    hours = tuple(HourBaseline(hour, BaselineScope.WEEK, 9, 0.5, 1.0, None) for hour in range(0, 168, 40))
    savings = AdviceSavings(2, 1, -3.5, 10.0, 1, 1e3)
    kept = GroupBaseline("c", "orders", NOW, hours, savings)
    return [json.dumps(value_to_json(kept) | {"schema_version": 1}).encode()]


TARGETS = (
    Target("snapshot", take_snapshot, snapshots, (OWNER,), length_max=16 * KB, framed_from=0),
    Target("baseline", take_baseline, baselines, (b"hours", b"week", b"1e400"), 0.5, 4 * MB, text=True),
)
