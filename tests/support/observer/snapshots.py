"""The part of Kafka that the snapshot store uses, in memory, with one partition per topic."""

from __future__ import annotations

from types import SimpleNamespace

from confluent_kafka import KafkaError

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.offsets_topic.snapshots.codec import SnapshotAssembly
from rebalance_agent.offsets_topic.snapshots.reader import Snapshot

OWNER = "rebalance-agent"


class FakeCluster:
    def identify(self):
        return "cluster", {"__consumer_offsets": 1, "state": 1}

    def topic_id(self, _topic):
        return "id"

    def topic_setting(self, _topic, _name):
        return None


class FakeProducer:
    """Appends to ``topic`` at once; the next ``fails`` records are lost, which the next poll reports."""

    def __init__(self, topic):
        self.topic = topic
        self.fails = 0
        self._answers = []

    def produce(self, _topic, *, key, value, partition, on_delivery):
        assert partition == 0
        error = None
        if self.fails:
            self.fails -= 1
            error = KafkaError(KafkaError._MSG_TIMED_OUT)
        else:
            self.topic.append((key, value))
        offset = len(self.topic) - 1
        message = SimpleNamespace(partition=lambda: partition, offset=lambda: offset)
        self._answers.append((on_delivery, error, message))

    def poll(self, _timeout):
        answers, self._answers = self._answers, []
        for reported, error, message in answers:
            reported(error, message)
        return len(answers)

    def flush(self, timeout):
        return self.poll(timeout)


class FakeReader:
    """Reads the records of ``topic``, as `SnapshotReader` does."""

    def __init__(self, topic):
        self._topic = topic
        self.kept = {}
        self.made_from = None

    def load(self, bounds, made_from):
        self.made_from = made_from
        assembly = SnapshotAssembly(OWNER.encode(), bounds)
        for key, value in self._topic:
            assembly.add(key, value)
        self.kept = {0: assembly.keys(0)}
        try:
            marker = assembly.marker(0)
            if marker is None:
                return {}
            records = tuple(assembly.records(0, marker))
        except InvalidInputError:
            return {}
        return {0: Snapshot(marker.position, marker.written_ms, marker.series, records)}
