"""Brokers limit compressed records by their compressed size, unless the topic stores records without compression."""

from __future__ import annotations

import uuid

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient, NewTopic

pytestmark = pytest.mark.integration

DECOMPRESSED = bytes(20_000_000)
"""A record that has 20 kB with gzip; the brokers' limit of a batch is 1 MiB."""

WAIT_S = 30
"""Seconds to wait for a topic or for the acknowledgement of a record."""


def sent(kafka, config):
    """The error of a client that sends the record to a new topic with this configuration; None if it was stored."""
    topic = f"compressed-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    admin.create_topics([NewTopic(topic, 1, 1, config=config)])[topic].result(WAIT_S)
    limits = {"message.max.bytes": 2 * len(DECOMPRESSED), "compression.type": "gzip"}
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, **limits})
    errors = []
    producer.produce(topic, DECOMPRESSED, on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(WAIT_S) == 0
    [error] = errors
    return error


def test_a_topic_accepts_a_record_that_is_too_large_when_decompressed(kafka):
    assert sent(kafka, {}) is None


def test_an_uncompressed_topic_refuses_a_record_that_is_too_large_when_decompressed(kafka):
    error = sent(kafka, {"compression.type": "uncompressed"})
    assert error.code() == KafkaError.MSG_SIZE_TOO_LARGE
