"""The times of the last records that members read, as a real broker answers ListOffsets with timestamps."""

from __future__ import annotations

import uuid

import pytest
from confluent_kafka import Producer

from rebalance_agent.clock import SystemClock
from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.polls.last_reads import PRECISION_MS, last_reads
from rebalance_agent.tracking.evidence.commits.read_times import CLOCKS_MS, ReadQuestion
from support.observer.observing import answered, create_topic

pytestmark = pytest.mark.integration

STEP_MS, RECORDS = 700, 20


def test_brokers_know_when_the_last_record_before_an_offset_was_appended(kafka):
    bootstrap, topic = kafka.bootstrap_servers, f"reads-{uuid.uuid4().hex[:8]}"
    create_topic(bootstrap, topic, 3)
    now_ms = SystemClock().now_ms()
    begun_ms = now_ms - 60_000
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for number in range(RECORDS):
        producer.produce(topic, b"x", partition=0, timestamp=begun_ms + number * STEP_MS)
        producer.produce(topic, b"x", partition=1, timestamp=begun_ms + number * STEP_MS)
    producer.produce(topic, b"x", partition=1, timestamp=now_ms + 10 * CLOCKS_MS)
    assert producer.flush(60) == 0

    half, span = RECORDS // 2, (begun_ms - 5_000, begun_ms + RECORDS * STEP_MS)
    read, ahead, empty, absent = (
        ReadQuestion((name, number), half, *span) for name, number in ((topic, 0), (topic, 1), (topic, 2), ("none", 0))
    )
    cluster = Cluster({"bootstrap.servers": bootstrap})
    found = answered(lambda: last_reads([read, ahead, empty, absent], cluster.offsets_at, now_ms))
    last_ms = begun_ms + (half - 1) * STEP_MS
    assert last_ms - PRECISION_MS <= found[read] <= last_ms
    assert [found[each] for each in (ahead, empty, absent)] == [None, None, None]
