"""Events are ingested while they are produced, by a stream that is killed: each is in the table once."""

from __future__ import annotations

import random
import threading

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from rebalance_agent.clock import SystemClock
from rebalance_agent.pipeline.errors import PipelineError
from rebalance_agent.pipeline.ingest.ingest_events import checkpoint_of, events_of_topic, stored_events
from rebalance_agent.pipeline.ingest.streaming import StreamSettings, ingest_stream
from support.observer.observing import create_topic, eventually
from support.pipeline.pipelines import LINES, assert_exactly_once, kill_at_random, producing

KILLS = 1  # and twenty in tests/slow/pipeline


def catch_up(tables, kafka, topic, **more):
    """Ingest all current events, from the command's checkpoint."""
    properties = {"bootstrap.servers": kafka.bootstrap_servers}
    records = events_of_topic(tables.spark, properties, topic, records_max=50_000, **more)
    checkpoint = checkpoint_of(tables, properties, topic)
    return ingest_stream(tables, records, StreamSettings(checkpoint), SystemClock(), threading.Event())


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


def test_a_missing_topic_is_reported_and_not_created(kafka, tables):
    with pytest.raises(PipelineError, match="this cluster has no topic ingest-nowhere"):
        catch_up(tables, kafka, "ingest-nowhere")
    assert "ingest-nowhere" not in AdminClient({"bootstrap.servers": kafka.bootstrap_servers}).list_topics().topics


def produce(bootstrap, topic, values):
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(60) == 0
