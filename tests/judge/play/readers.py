"""Reads topics for the judge with a plain consumer: each record becomes a JSON line in a file."""

from __future__ import annotations

import base64
import json
import threading

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

from judge.members.account import now_ms
from judge.play.run_context import OFFSETS, OFFSETS_PARTITIONS

SURVIVORS_S = 20


def _consumer(bootstrap, **more):
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "judge-reader",
            "enable.auto.commit": False,
            "isolation.level": "read_uncommitted",
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 100,
            "log_level": 0,
            **more,
        }
    )


class Reader:
    """Reads all partitions of a topic from the beginning on, in a thread. ``last_ms``: when the last record came."""

    def __init__(self, bootstrap, topic, partitions, path):
        self._consumer, self._path = _consumer(bootstrap), path
        self._consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(partitions)])
        self._stop, self.count, self.last_ms = threading.Event(), 0, now_ms()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        with self._path.open("w") as file:
            while not self._stop.is_set():
                batch = [each for each in self._consumer.consume(500, 0.2) if each.error() is None]
                for each in batch:
                    file.write(json.dumps(row_of(each)) + "\n")
                if batch:
                    file.flush()
                    self.count, self.last_ms = self.count + len(batch), now_ms()
        self._consumer.close()

    def end(self):
        """Stop, and close the file."""
        self._stop.set()
        self._thread.join()


def row_of(message):
    """Return a record as a row: partition, offset, timestamp (ms), key and value in base64."""
    key, value = (
        None if each is None else base64.b64encode(each).decode() for each in (message.key(), message.value())
    )
    return {
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": message.timestamp()[1],
        "leader_epoch": message.leader_epoch(),
        "key": key,
        "value": value,
    }


def survivors(bootstrap):
    """Return ``partition:offset`` of each record that the offsets topic still has; None if not all were read."""
    consumer = _consumer(bootstrap)
    found, missing = set(), {}
    try:
        for number in range(OFFSETS_PARTITIONS):
            low, high = consumer.get_watermark_offsets(TopicPartition(OFFSETS, number), 10)
            if low < high:
                missing[number] = high
        consumer.assign([TopicPartition(OFFSETS, number, OFFSET_BEGINNING) for number in missing])
        until = now_ms() + SURVIVORS_S * 1000
        while missing and now_ms() < until:
            for each in consumer.consume(1000, 0.3):
                if each.error() is None:
                    found.add(f"{each.partition()}:{each.offset()}")
            for place in consumer.position([TopicPartition(OFFSETS, number) for number in missing]):
                if place.offset >= missing[place.partition]:
                    del missing[place.partition]
    except KafkaException:
        return None
    finally:
        consumer.close()
    return None if missing else sorted(found)
