"""Records of a real broker's ``__consumer_offsets``, which the ``make_*`` scripts in ``tests/golden`` captured."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path

from rebalance_agent.offsets_topic.group_records import GroupRecords
from rebalance_agent.offsets_topic.snapshots.codec import StoredRecord
from rebalance_agent.tracking.observations import TopicsSeen
from support.observer.fakes import fake_context
from support.observer.restarts import numbered

__all__ = ["CAPTURED", "CAPTURED_TOPIC", "EVERY_KIND", "Capture", "member_bytes"]

_FOLDER = Path(__file__).parents[2] / "golden"


@dataclass(frozen=True)
class Capture:
    """One partition from its first record to its last; ``topics``: the cluster's topics at the end."""

    name: str
    topics: TopicsSeen
    records: tuple[StoredRecord, ...]

    @property
    def start_ms(self):
        return self.records[0].timestamp_ms

    @property
    def end_ms(self):
        return self.records[-1].timestamp_ms

    def log(self):
        """The result of `GroupRecords`: (key, observation)."""
        records = GroupRecords(fake_context())
        found = [(key, records.decode(message, live=True)) for message, key in records.of_groups(self.records)]
        return numbered(found)


def _capture(name):
    header, *rows = map(json.loads, (_FOLDER / f"{name}.ndjson").read_text(encoding="utf-8").splitlines())
    records = [
        StoredRecord(0, at, row["timestamp"], _raw(row["key"]), _raw(row["value"])) for at, row in enumerate(rows)
    ]
    return Capture(name, TopicsSeen(rows[0]["timestamp"], header["topics"], header["ids"]), tuple(records))


def _raw(text):
    return None if text is None else base64.b64decode(text)


CAPTURED_TOPIC = _capture("captured_topic")
"""Classic and consumer groups, and a migration: few records, all of whose events are known."""

EVERY_KIND = _capture("captured_records")
"""Groups of all four types with every kind of record."""

CAPTURED = tuple((each.key(), each.value()) for each in EVERY_KIND.records)
"""Key and value of each record of `EVERY_KIND`; a value of None is a tombstone."""


def member_bytes(value):
    """Subscriptions and assignments of members as bytes, from a decoded group or member record."""
    members = value.get("members", ())
    protocols = (value.get("classic_member_metadata") or {}).get("supported_protocols", ())
    subscriptions = [member["subscription"] for member in members] + [each["metadata"] for each in protocols]
    return subscriptions, [member["assignment"] for member in members]
