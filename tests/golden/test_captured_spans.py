"""The captured events, and a member's, always give exactly these spans: other processes compute the same ids.

``REBALANCE_AGENT_GOLDEN=write pytest tests/golden`` writes them.
"""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

from rebalance_agent.model.event_json import event_from_json
from rebalance_agent.model.events import Callback
from rebalance_agent.traces.event_traces import EventTraces
from support.observer.views import NOW, assign_event, member_event

FOLDER = Path(__file__).parent
GOLDEN = FOLDER / "captured_spans.ndjson"
MEMBER = {"cluster_id": "captured", "group": "eager"}
REPORTED = (
    member_event(Callback.REVOKED, 1, event_id="1" * 32, generation=1, **MEMBER),
    assign_event(2, event_id="2" * 32, generation=2, timestamp_ms=NOW + 4_000, **MEMBER),
    member_event(
        Callback.ASSIGNED,
        3,
        event_id="3" * 32,
        generation=2,
        started_ms=NOW + 5_000,
        timestamp_ms=NOW + 5_100,
        join_seconds=4.0,
        sync_seconds=0.5,
        **MEMBER,
    ),
)


def test_the_spans_are_the_golden_ones():
    lines = (FOLDER / "captured_topic_events.ndjson").read_bytes().splitlines()
    traces = EventTraces()
    events = [*(event_from_json(json.loads(line)) for line in lines), *REPORTED]
    spans = [dataclasses.asdict(span) for event in events for span in traces.spans(event)]
    text = "".join(json.dumps(span, sort_keys=True) + "\n" for span in spans)
    if os.environ.get("REBALANCE_AGENT_GOLDEN") == "write":
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")
