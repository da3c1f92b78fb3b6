"""Reports that compress well do not fill the memory of the observer that reads them."""

from __future__ import annotations

import json

from confluent_kafka.admin import AdminClient, NewTopic

from rebalance_agent.cluster.topic_reader import BEGINNING, TopicReader
from rebalance_agent.polls.member_events import READ_MAX, TUNING
from rebalance_agent.runtime.sinks.publisher import events_producer

TOPIC, PARTITIONS, RECORDS, RECORD_BYTES = "compressed-reports", 6, 12_000, 60_000
QUEUE_MAX_BYTES = 40 * 2**20
"""The queue's limit of 8 MiB, and one response: 16 kB of compressed batches of each partition."""


def test_the_queue_of_reports_is_bounded_in_decompressed_bytes(kafka):
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(30)
    producer = events_producer({"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": "50"})
    for number in range(RECORDS):
        producer.produce(TOPIC, b"p" * RECORD_BYTES, partition=number % PARTITIONS)
        if number % 100 == 99:
            assert producer.flush(60) == 0

    queued = []

    def keep(text):
        partitions = json.loads(text)["topics"].get(TOPIC, {"partitions": {}})["partitions"]
        # All partitions share one queue, and each of them reports the size of the whole queue.
        queued.append(max((each["fetchq_size"] for each in partitions.values()), default=0))

    properties = {"bootstrap.servers": kafka.bootstrap_servers, "statistics.interval.ms": 2, "stats_cb": keep}
    with TopicReader(properties, TOPIC, TUNING) as reader:
        reader.begin(dict.fromkeys(range(PARTITIONS), BEGINNING))
        while sum(reader.positions.values()) < RECORDS:
            reader.read(READ_MAX, 0.5)
    assert 0 < max(queued) < QUEUE_MAX_BYTES
