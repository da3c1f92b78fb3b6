"""The backfill from the remaining coordinator records gives the observed generations with the same ids."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import astuple
from pathlib import Path

import pytest
from pyspark.sql import functions as F  # noqa: N812

from rebalance_agent.clock import FakeClock, SystemClock
from rebalance_agent.groupprotocol.coordinator_partition import OFFSETS_TOPIC
from rebalance_agent.pipeline.ingest.backfill import (
    keep,
    ranges,
    records_of_files,
    records_of_topic,
    replayed,
    topic_now,
)
from rebalance_agent.pipeline.ingest.ingest_events import ingest_batch, stored_events
from rebalance_agent.pipeline.ingest.log_rows import GroupPatterns
from rebalance_agent.tracking.log_replay import LogFacts
from support.observer.observing import create_topic, events, eventually, everything, members, observing
from support.pipeline.pipelines import generations, stored

GOLDEN = Path(__file__).parents[2] / "golden"
HEADER, *ROWS = map(json.loads, (GOLDEN / "captured_topic.ndjson").read_text().splitlines())
WATCHED = [json.loads(line) for line in (GOLDEN / "captured_topic_events.ndjson").read_text().splitlines()]
FACTS = LogFacts("captured", HEADER["topics"], HEADER["ids"])


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "records"
    folder.mkdir()
    return folder


def test_files_of_records_give_the_observed_generations(tables, folder):
    odd = {**ROWS[0], "key": "AAIAAw==", "timestamp": ROWS[-1]["timestamp"]}
    (folder / "records.ndjson").write_text("".join(json.dumps(row) + "\n" for row in [*ROWS, odd]))
    records = records_of_files(tables.spark, str(folder))
    # Their partition and offsets are unknown and stay empty.
    assert [each[:4] for each in map(astuple, ranges(records))] == [(0, len(ROWS) + 1, None, None)]
    assert replayed(records, FACTS).select(F.spark_partition_id()).distinct().count() > 1
    reported, missing = keep(tables, replayed(records, FACTS), FakeClock())
    assert missing == []
    assert generations(stored(tables)) == generations(WATCHED)
    assert reported.rejected == 1
    (rejected,) = tables.read("events_rejected").collect()
    assert rejected["reason"].startswith("offsets_record: ")
    assert (rejected["partition"], rejected["offset"]) == (0, None)


def test_positions_of_missing_generations_are_reported(tables, folder):
    eager = [each for each in WATCHED if each["group"] == "eager" and each["kind"] == "generation"]
    gone = {each["timestamp_ms"] for each in eager[1:2]}
    left = [row for row in ROWS if row["timestamp"] not in gone]
    (folder / "records.ndjson").write_text("".join(json.dumps(row) + "\n" for row in left))
    rows = replayed(records_of_files(tables.spark, str(folder)), FACTS, GroupPatterns(allow="eager"))
    _, missing = keep(tables, rows, FakeClock(), write=False)
    assert [(each.group, each.missing) for each in missing] == [("eager", 1)]
    assert not tables.exists("events")


def test_every_record_of_a_real_topic_is_read_and_every_generation_equals_the_observed_one(kafka, tables):
    bootstrap, topic, group = kafka.bootstrap_servers, "backfilled", "backfilled-group"
    create_topic(bootstrap, topic, 4)
    published = "backfill-events"
    with observing(bootstrap, events_topic=published), members(bootstrap, group, topic, 2) as closers:
        eventually(lambda: any(len(each["members"]) == 2 for each in of_group(bootstrap, published, group)))
        closers[0]()
        eventually(lambda: len(of_group(bootstrap, published, group)[-1]["members"]) == 1)
    properties = {"bootstrap.servers": bootstrap}
    now = topic_now(properties)
    records = records_of_topic(tables.spark, properties, now)
    # A plain consumer reads the same number of records in each partition; its own join came after the ends.
    plain = Counter(
        each.partition() for each in everything(bootstrap, OFFSETS_TOPIC) if each.offset() < now.ends[each.partition()]
    )
    assert {each.partition: each.records for each in ranges(records)} == dict(plain)

    rows = replayed(records, now.facts, GroupPatterns(allow=group))
    keep(tables, rows, FakeClock())
    repeated_events = generations(stored(tables))
    watched = generations(events(bootstrap, published, group=group))
    assert watched
    assert {name: repeated_events[name] for name in watched} == watched
    # The observed event replaces it permanently.
    published_events = stored_events(tables.spark, properties, published)
    assert ingest_batch(tables, published_events, "ingest", SystemClock()).rejected == 0
    keep(tables, rows, FakeClock())
    origins = {row["event_id"]: row["origin"] for row in tables.read("events").collect()}
    assert {origins[name] for name in watched} == {"ingest"}


def of_group(bootstrap, published, group):
    try:
        return [each for each in events(bootstrap, published, group=group) if each["kind"] == "generation"]
    except KeyError:
        return []
