"""Events are ingested while they are produced, by a stream that is killed: each is in the table once."""

from __future__ import annotations

import json
import random
import threading

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from rebalance_agent.clock import SystemClock
from rebalance_agent.pipeline.errors import PipelineError
from rebalance_agent.pipeline.ingest.ingest_events import Ingested, checkpoint_of, events_of_topic, stored_events
from rebalance_agent.pipeline.ingest.streaming import StreamSettings, ingest_stream
from support.observer.observing import create_topic, eventually
from support.pipeline.pipelines import ANY_AGE, LINES, assert_exactly_once, kill_at_random, producing

DAY_MS = 86_400_000
KILLS = 1  # and twenty in tests/slow/pipeline


def catch_up(tables, kafka, topic, age_days_max=ANY_AGE, **more):
    """Ingest all current events, from the command's checkpoint."""
    properties = {"bootstrap.servers": kafka.bootstrap_servers}
    records = events_of_topic(tables.spark, properties, topic, records_max=50_000, **more)
    settings = StreamSettings(checkpoint_of(tables, properties, topic), age_days_max=age_days_max)
    return ingest_stream(tables, records, settings, SystemClock(), threading.Event())


def test_every_event_is_stored_once_although_the_stream_was_killed_at_random(kafka, tables, tmp_path):
    seed = random.randrange(2**32)
    print("seed", seed)
    topic = "ingest-killed"
    create_topic(kafka.bootstrap_servers, topic, 2)
    with producing(kafka.bootstrap_servers, topic, seed=seed) as reported:
        kill_at_random(kafka.bootstrap_servers, topic, tables.folder, tmp_path / "log", times=KILLS, seed=seed)
    catch_up(tables, kafka, topic)
    assert_exactly_once(tables, reported)
    assert catch_up(tables, kafka, topic).events == 0
    assert stored_events(tables.spark, {"bootstrap.servers": kafka.bootstrap_servers}, topic).count() > 0


def test_a_recreated_topic_ends_the_stream_with_a_remedy(kafka, tables):
    topic, bootstrap = "ingest-anew", kafka.bootstrap_servers
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    create_topic(bootstrap, topic, 1)
    produce(bootstrap, topic, LINES[:3])
    assert catch_up(tables, kafka, topic).events == 3
    admin.delete_topics([topic])[topic].result()
    eventually(lambda: topic not in admin.list_topics().topics)
    create_topic(bootstrap, topic, 1)
    produce(bootstrap, topic, LINES[3:4])
    with pytest.raises(PipelineError, match="To continue with the remaining records: --allow-loss"):
        catch_up(tables, kafka, topic)
    assert tables.read("events").count() == 3


def test_events_of_every_day_of_a_century_add_folders_only_for_timely_days(kafka, tables):
    topic, bootstrap, now_ms = "ingest-untimely", kafka.bootstrap_servers, SystemClock().now_ms()
    create_topic(bootstrap, topic, 1)
    event, group_gone = json.loads(LINES[0]), {"kind": "group_gone", "schema_version": 1, "source": "records"}
    facts = {name: event[name] for name in ("cluster_id", "group", "group_type")}
    first_ms, beyond_ms = 946_684_800_000, 4_102_444_800_000
    times = range(first_ms, beyond_ms, 86_400_000)
    produce(
        bootstrap,
        topic,
        [json.dumps({**group_gone, **facts, "event_id": f"{at}", "timestamp_ms": at}).encode() for at in times],
        # As its producer chooses it: the timestamp of a record is no evidence.
        timestamps=[min(at, now_ms) for at in times],
    )
    timely = sum(now_ms - 30 * DAY_MS <= at <= now_ms + DAY_MS for at in times)
    assert catch_up(tables, kafka, topic, 30) == Ingested(timely, len(times) - timely)
    assert tables.read("events").select("day").distinct().count() == timely
    reasons = tables.read("events_rejected").selectExpr("split(reason, ':')[0] AS code").distinct().collect()
    assert [row["code"] for row in reasons] == ["untimely"]


def test_a_missing_topic_is_reported_and_not_created(kafka, tables):
    with pytest.raises(PipelineError, match="this cluster has no topic ingest-nowhere"):
        catch_up(tables, kafka, "ingest-nowhere")
    assert "ingest-nowhere" not in AdminClient({"bootstrap.servers": kafka.bootstrap_servers}).list_topics().topics


def produce(bootstrap, topic, values, timestamps=None):
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for value, at_ms in zip(values, timestamps or [0] * len(values), strict=True):
        producer.produce(topic, value, timestamp=at_ms)
    assert producer.flush(60) == 0
