"""All partitions of one topic, assigned by hand: no group is joined, nothing is committed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, Self, cast

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from rebalance_agent.collectors.cluster import ANSWER_TIMEOUT_S, raise_cluster_error

__all__ = ["BEGINNING", "TopicReader", "TopicRecord"]

BEGINNING: int = OFFSET_BEGINNING

_GROUP_ID = "rebalance-agent"
"""librdkafka wants a name even though no group is formed under it."""

_ABSENT = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC)  # noqa: SLF001 - librdkafka's own spelling
_START_OVER = (
    *_ABSENT,
    KafkaError._AUTO_OFFSET_RESET,  # noqa: SLF001
    KafkaError.OFFSET_OUT_OF_RANGE,
    KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
)


class TopicRecord(Protocol):
    """What is used of a confluent-kafka message that is no error; copying it would cost more than reading it."""

    def partition(self) -> int:
        """Its partition."""
        ...

    def offset(self) -> int:
        """Its offset there."""
        ...

    def key(self) -> bytes | None:
        """Its key."""
        ...

    def value(self) -> bytes | None:
        """Its value; None is a tombstone."""
        ...

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        """Its headers."""
        ...

    def timestamp(self) -> tuple[int, int]:
        """Kind of timestamp, and epoch milliseconds."""
        ...


class TopicReader:
    """A consumer over partitions of ``topic``. Used by one thread; `partitions` may be called from any.

    ``positions``: partition -> next offset, also across compacted gaps and transaction markers.
    """

    def __init__(self, properties: Mapping[str, str], topic: str, tuning: Mapping[str, str]) -> None:
        """Make the client; nothing is read before `begin`."""
        self.topic = topic
        self.positions: dict[int, int] = {}
        self._consumer = Consumer(
            {
                **tuning,
                **properties,
                "group.id": _GROUP_ID,
                "enable.auto.commit": "false",
                "enable.auto.offset.store": "false",
                "enable.partition.eof": "true",
                "auto.offset.reset": "error",
                # Everything behind an open transaction would otherwise be hidden until it ends.
                "isolation.level": "read_uncommitted",
            }
        )

    def partitions(self) -> int:
        """How many partitions the topic has; 0 if it does not exist.

        Raises:
            AccessDeniedError: it may not be described.
            ClusterError: no answer.
        """
        try:
            topic = self._consumer.list_topics(self.topic, timeout=ANSWER_TIMEOUT_S).topics[self.topic]
        except KafkaException as error:
            raise_cluster_error(error, f"looking for topic {self.topic}")
        if topic.error is not None and topic.error.code() not in _ABSENT:
            raise_cluster_error(topic.error, f"looking for topic {self.topic}")
        return 0 if topic.error else len(topic.partitions)

    def begin(self, offsets: Mapping[int, int]) -> None:
        """Also read these partitions, each from its offset (or `BEGINNING`)."""
        if not offsets:
            return
        self.positions |= {partition: max(offset, 0) for partition, offset in offsets.items()}
        self._consumer.incremental_assign([TopicPartition(self.topic, *each) for each in offsets.items()])

    def end(self, partitions: Iterable[int]) -> None:
        """Read these partitions no longer."""
        ended = [partition for partition in partitions if self.positions.pop(partition, None) is not None]
        if ended:
            self._consumer.incremental_unassign([TopicPartition(self.topic, partition) for partition in ended])

    def read(self, most: int, timeout: float) -> list[TopicRecord]:
        """Up to ``most`` records; fewer, or none, after ``timeout`` seconds.

        Raises:
            AccessDeniedError: the topic may not be read.
            ClusterError: the topic was deleted or cut under us, or the client cannot go on: start over.
        """
        # consume() would wait out its timeout for a full batch; poll() returns with the first record.
        first = self._consumer.poll(timeout) if timeout else None
        if timeout and first is None:
            return []
        records: list[TopicRecord] = []
        for message in ([] if first is None else [first]) + self._consumer.consume(most, 0):
            error = message.error()
            record = cast("TopicRecord", message)
            if error is None:
                self.positions[record.partition()] = record.offset() + 1
                records.append(record)
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
                self.positions[record.partition()] = record.offset()
            elif error.code() in _START_OVER or error.fatal():
                raise_cluster_error(error, f"reading {self.topic}")
        return records

    def close(self) -> None:
        """Leave."""
        self._consumer.close()

    def __enter__(self) -> Self:
        """Closed at the end of the block."""
        return self

    def __exit__(self, *_exc: object) -> None:
        """Leave."""
        self.close()
