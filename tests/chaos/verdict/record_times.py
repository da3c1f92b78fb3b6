"""Gives events from gateways' frames the times of the coordinator's records, as `tests/judge` expects them."""

from __future__ import annotations

import json

from rebalance_agent.groupprotocol.records import decode_record, record_kind
from rebalance_agent.groupprotocol.tables import GROUP_METADATA
from rebalance_agent.model.episode import Source
from rebalance_agent.model.events import GenerationEvent
from support.observer.observing import everything


def at_their_records(published, bootstrap):
    """Return the events, each generation from frames with the time of the nearest record with its number."""
    times = {}
    for record in everything(bootstrap, "__consumer_offsets"):
        key, value = record.key(), record.value()
        if key and value and record_kind(key) == GROUP_METADATA.kind:
            decoded = decode_record(key, value)
            times.setdefault((decoded.group, decoded.value["generation"]), []).append(record.timestamp()[1])
    return [_dated(value, times) for value in published]


def _dated(value, times):
    event = json.loads(value)
    if event["kind"] != GenerationEvent.KIND or event["source"] != Source.FRAMES:
        return value
    known = times.get((event["group"], event["generation"]))
    if not known:
        return value
    at_ms = min(known, key=lambda each: abs(each - event["timestamp_ms"]))
    return json.dumps({**event, "timestamp_ms": at_ms}).encode()
