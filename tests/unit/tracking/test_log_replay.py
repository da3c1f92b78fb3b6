"""The replay of a captured topic gives the observer's generations, and damaged records do not stop it."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from rebalance_agent.model.event_json import event_to_json
from rebalance_agent.tracking.log_replay import LogFacts, PastRecord, UnreadableRecord, replay_log

GOLDEN = Path(__file__).parents[2] / "golden"
HEADER, *ROWS = map(json.loads, (GOLDEN / "captured_topic.ndjson").read_text().splitlines())
WATCHED = [json.loads(line) for line in (GOLDEN / "captured_topic_events.ndjson").read_text().splitlines()]
FACTS = LogFacts("captured", HEADER["topics"], HEADER["ids"])


def record(place, row):
    value = None if row["value"] is None else base64.b64decode(row["value"])
    return PastRecord(0, place, row["timestamp"], base64.b64decode(row["key"]), value)


RECORDS = [record(place, row) for place, row in enumerate(ROWS)]


def reported(records, **more):
    return [
        event_to_json(each) for each in replay_log(records, FACTS, **more) if not isinstance(each, UnreadableRecord)
    ]


def of_kind(events, kind):
    return {each["event_id"]: each for each in events if each["kind"] == kind}


def test_replayed_generations_equal_the_observed_ones_in_all_fields_of_records():
    again, watched = of_kind(reported(RECORDS), "generation"), of_kind(WATCHED, "generation")
    assert again.keys() == watched.keys()
    for name, event in watched.items():
        for field in event.keys() - {"stall", "phases", "trigger", "causes", "lost"}:
            assert again[name][field] == event[field], field


def test_nothing_is_concluded_from_compacted_records():
    assert of_kind(reported(RECORDS[::2]), "aborted") == {}


def test_other_groups_are_omitted():
    some = reported(RECORDS, shows=lambda group: group == "eager")
    assert {event["group"] for event in some} == {"eager"}
    everything = [event for event in reported(RECORDS) if event["group"] == "eager"]
    assert of_kind(some, "generation") == of_kind(everything, "generation")


def test_a_record_that_breaks_its_schema_is_reported_and_the_others_count():
    broken = PastRecord(0, 3, RECORDS[3].timestamp_ms, b"\x00\x02\x00\x09x", b"")
    found = list(replay_log([*RECORDS[:4], broken, *RECORDS[4:]], FACTS))
    (misread,) = [each for each in found if isinstance(each, UnreadableRecord)]
    assert misread.record is broken
    assert (
        of_kind([event_to_json(each) for each in found if each is not misread], "generation").keys()
        == of_kind(WATCHED, "generation").keys()
    )


def test_without_records_the_replay_is_empty():
    assert reported([]) == []
