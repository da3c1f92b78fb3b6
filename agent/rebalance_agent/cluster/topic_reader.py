"""All partitions of one topic, assigned by hand: no group is joined, nothing is committed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, Self, cast

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from rebalance_agent.cluster.admin_client import ANSWER_TIMEOUT_S, raise_cluster_error

__all__ = ["BEGINNING", "QUEUE_TUNING", "TopicReader", "TopicRecord"]

BEGINNING: int = OFFSET_BEGINNING

QUEUE_TUNING = {
    # Records of commits have some 60 bytes, and librdkafka takes 400 more for each that waits: a queue that is bounded
    # in bytes alone takes a quarter of a gigabyte. So few may wait, and a broker sends few at once.
    "queued.min.messages": "20000",
    "queued.max.messages.kbytes": "16384",
    "fetch.max.bytes": "4000000",
    # Its back-off of 1 s would make a full queue wait for nothing.
    "fetch.queue.backoff.ms": "10",
}
"""How much waits to be read: no more than some 30 MB, which costs no time."""

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

    def __len__(self) -> int:
        """Bytes of its value."""
        ...

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
        # librdkafka takes no consumer that fetches less at once than ``message.max.bytes``, which is for our producers.
        unfit = {"fetch.max.bytes"} if "message.max.bytes" in properties else set()
        self._consumer = Consumer(
            {
                **{name: value for name, value in tuning.items() if name not in unfit},
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

    def read(self, records_max: int, timeout: float) -> list[TopicRecord]:
        """Up to ``records_max`` records; fewer, or none, after ``timeout`` seconds.

        Raises:
            AccessDeniedError: the topic may not be read.
            ClusterError: the topic was deleted or cut under us, or the client cannot go on: start over.
        """
        # consume() would wait out its timeout for a full batch; poll() returns with the first record.
        first = self._consumer.poll(timeout) if timeout else None
        if timeout and first is None:
            return []
        batch = ([] if first is None else [first]) + self._consumer.consume(records_max, 0)
        # A tail comes to the end of each partition many times a second.
        if errors := [(message, error) for message in batch if (error := message.error()) is not None]:
            for message, error in errors:
                self._on_error(cast("TopicRecord", message), error)
            batch = [message for message in batch if message.error() is None]
        records = cast("list[TopicRecord]", batch)
        # The last of each partition counts: a dict keeps that, and a million records pass here at a start.
        for partition, record in {record.partition(): record for record in records}.items():
            self.positions[partition] = max(self.positions.get(partition, 0), record.offset() + 1)
        return records

    def _on_error(self, message: TopicRecord, error: KafkaError) -> None:
        """What comes in place of a record: that a partition ended here, or that something is wrong."""
        if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
            self.positions[message.partition()] = message.offset()
        elif error.code() in _START_OVER or error.fatal():
            raise_cluster_error(error, f"reading {self.topic}")

    def close(self) -> None:
        """Leave."""
        self._consumer.close()

    def __enter__(self) -> Self:
        """Closed at the end of the block."""
        return self

    def __exit__(self, *_exc: object) -> None:
        """Leave."""
        self.close()
