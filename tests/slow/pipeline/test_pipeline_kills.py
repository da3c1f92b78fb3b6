"""A stream that is killed twenty times at random: every event is in the table once."""

from __future__ import annotations

import random
import threading

import pytest

from rebalance_agent.clock import SystemClock
from rebalance_agent.pipeline.ingest.ingest_events import checkpoint_of, events_of_topic
from rebalance_agent.pipeline.ingest.streaming import StreamSettings, ingest_stream
from rebalance_agent.pipeline.spark.session import SessionSettings, open_session
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables
from support.observer.observing import create_topic
from support.pipeline.pipelines import ANY_AGE, assert_exactly_once, kill_at_random, producing

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")]


def test_every_event_is_stored_once_after_twenty_kills(kafka, tmp_path):
    seed = random.randrange(2**32)
    print("seed", seed)
    bootstrap, topic, folder = kafka.bootstrap_servers, "ingest-killed-twenty-times", str(tmp_path / "tables")
    create_topic(bootstrap, topic, 3)
    with producing(bootstrap, topic, seed=seed) as reported:
        kill_at_random(bootstrap, topic, folder, tmp_path / "log", times=20, seed=seed)
    with open_session(SessionSettings(master="local[2]", driver_memory="1g", partitions=2)) as spark:
        tables = DeltaTables(spark, folder)
        properties = {"bootstrap.servers": bootstrap}
        records = events_of_topic(spark, properties, topic, records_max=50_000)
        settings = StreamSettings(checkpoint_of(tables, properties, topic), age_days_max=ANY_AGE)
        ingest_stream(tables, records, settings, SystemClock(), threading.Event())
        assert_exactly_once(tables, reported)
