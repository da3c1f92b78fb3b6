"""Batches of a reader, from a client with prepared records."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from rebalance_agent.cluster import topic_reader
from rebalance_agent.offsets_topic.backfill_reader import BACKFILL_TUNING
from rebalance_agent.offsets_topic.tail import TAIL_TUNING


class Record:
    """Like confluent-kafka's message: its length is that of its value, so a tombstone is falsy."""

    def __init__(self, offset, value, partition=0):
        self._offset = offset
        self._value = value
        self._partition = partition

    def __len__(self):
        return len(self._value or b"")

    def error(self):
        return None

    def partition(self):
        return self._partition

    def offset(self):
        return self._offset

    def value(self):
        return self._value


class End(Record):
    """Replaces a record: the end of the partition."""

    def error(self):
        return KafkaError(KafkaError._PARTITION_EOF)


class Client:
    """Replaces a Consumer."""

    def __init__(self, settings):
        self.left = [Record(0, None), Record(1, b"1"), Record(2, None)]

    def poll(self, timeout):
        return self.left.pop(0) if self.left else None

    def consume(self, most, timeout):
        taken, self.left = self.left[:most], self.left[most:]
        return taken


@pytest.mark.parametrize("most", [1, 2, 10])
def test_a_tombstone_as_first_record_is_read_like_any_other(monkeypatch, most):
    monkeypatch.setattr(topic_reader, "Consumer", Client)
    reader = topic_reader.TopicReader({}, "topic", {})
    found = []
    while batch := reader.read(most, 1.0):
        found += batch
    assert [(each.offset(), each.value()) for each in found] == [(0, None), (1, b"1"), (2, None)]
    assert reader.positions == {0: 3}


def test_positions_follow_the_last_record_and_gaps_at_the_end(monkeypatch):
    monkeypatch.setattr(topic_reader, "Consumer", Client)
    reader = topic_reader.TopicReader({}, "topic", {})
    reader._consumer.left = [
        Record(4, b"a"),
        Record(0, b"b", partition=1),
        Record(5, b"c"),
        End(9, None, partition=1),
        End(6, None),
        Record(6, b"d"),
        End(3, None, partition=2),
    ]
    found = reader.read(10, 0)
    assert [(each.partition(), each.offset()) for each in found] == [(0, 4), (1, 0), (0, 5), (0, 6)]
    assert reader.positions == {0: 7, 1: 9, 2: 3}


def test_large_messages_of_our_producers_block_no_reader():
    properties = {"message.max.bytes": "10000000", "bootstrap.servers": "127.0.0.1:1", "log_level": "0"}
    for tuning in (TAIL_TUNING, BACKFILL_TUNING):
        topic_reader.TopicReader(properties, "topic", tuning).close()
