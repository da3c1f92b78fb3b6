"""A consumer of all partitions of one topic with manual assignment: it neither joins a group nor commits offsets."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterable, Mapping
from typing import Protocol, Self, cast

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from rebalance_agent.cluster.admin_client import ANSWER_TIMEOUT_S, raise_cluster_error
from rebalance_agent.cluster.tokens.token_login import with_token_callback
from rebalance_agent.model.partitions import to_ranges

__all__ = ["BEGINNING", "QUEUE_TUNING", "TopicReader", "TopicRecord", "leader_epoch_of", "record_bytes"]

BEGINNING: int = OFFSET_BEGINNING
"""The special offset for a partition's first offset."""


QUEUE_TUNING = {
    # Records of commits have about 60 bytes, and librdkafka needs 400 more for each queued record: with a limit only in
    # bytes, its queue would take a quarter of a gigabyte. So it is limited in records, and fetches are small.
    "queued.min.messages": "20000",
    "queued.max.messages.kbytes": "16384",
    "fetch.max.bytes": "4000000",
    # The default of 1 s would delay the next fetch after the queue was full.
    "fetch.queue.backoff.ms": "10",
}
"""librdkafka settings that bound its queue to about 30 MB without slowing it down."""

CLOSE_S = 5.0
"""Seconds to wait for a client that closes: it usually takes milliseconds."""

_GROUP_ID = "rebalance-agent"
"""librdkafka requires a group id even if no group is joined."""

_log = logging.getLogger(__name__)

_ABSENT = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC)  # noqa: SLF001 - librdkafka's own spelling
_START_OVER = (
    *_ABSENT,
    KafkaError._AUTO_OFFSET_RESET,  # noqa: SLF001
    KafkaError.OFFSET_OUT_OF_RANGE,
    KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
)


class TopicRecord(Protocol):
    """The methods of a confluent-kafka message without an error; copying messages would cost more than reading them."""

    def __len__(self) -> int:
        """The length of the value in bytes."""
        ...

    def partition(self) -> int:
        """Return the partition."""
        ...

    def offset(self) -> int:
        """Return the offset in the partition."""
        ...

    def key(self) -> bytes | None:
        """Return the key."""
        ...

    def value(self) -> bytes | None:
        """Return the value; None for a tombstone."""
        ...

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        """Return the headers."""
        ...

    def timestamp(self) -> tuple[int, int]:
        """Return the timestamp's type, and epoch milliseconds."""
        ...

    def leader_epoch(self) -> int | None:
        """Return the epoch of the leader that wrote the record; None if unknown."""
        ...


def leader_epoch_of(record: TopicRecord) -> int:
    """Return the epoch of the leader that wrote a record; -1 if unknown, as in Kafka's protocol."""
    epoch = record.leader_epoch()
    return -1 if epoch is None else epoch


def record_bytes(record: TopicRecord) -> int:
    """Return the bytes of a record's key and value."""
    return len(record.key() or b"") + len(record)


class TopicReader:
    """Reads assigned partitions of ``topic``. Only one thread may use it; any thread may call `partitions`.

    ``positions``: assigned partition -> next offset, also past compacted offsets and transaction markers.
    """

    def __init__(self, properties: Mapping[str, str], topic: str, tuning: Mapping[str, str]) -> None:
        """Create the client; nothing is read before `begin`.

        Raises:
            ClusterError: the login has no token.
        """
        self.topic = topic
        self.positions: dict[int, int] = {}
        # librdkafka refuses a ``fetch.max.bytes`` below ``message.max.bytes``, which is set for our producers.
        unfit = {"fetch.max.bytes"} if "message.max.bytes" in properties else set()
        self._config = {
            **{name: value for name, value in tuning.items() if name not in unfit},
            **with_token_callback(properties),
            "group.id": _GROUP_ID,
            "enable.auto.commit": "false",
            "enable.auto.offset.store": "false",
            "enable.partition.eof": "true",
            "auto.offset.reset": "error",
            # Otherwise records after an open transaction are hidden until it ends.
            "isolation.level": "read_uncommitted",
        }
        self._consumer = self._new_consumer()

    def partitions(self) -> int:
        """Return the topic's number of partitions; 0 if it does not exist.

        Raises: AccessDeniedError: this principal may not describe the topic. ClusterError: no broker answers.
        """
        try:
            topic = self._consumer.list_topics(self.topic, timeout=ANSWER_TIMEOUT_S).topics[self.topic]
        except KafkaException as error:
            raise_cluster_error(error, f"looking for topic {self.topic}")
        if topic.error is not None and topic.error.code() not in _ABSENT:
            raise_cluster_error(topic.error, f"looking for topic {self.topic}")
        return 0 if topic.error else len(topic.partitions)

    def begin(self, offsets: Mapping[int, int]) -> None:
        """Add these partitions to the assignment, each from its offset (or `BEGINNING`)."""
        if not offsets:
            return
        self.positions |= {partition: max(offset, 0) for partition, offset in offsets.items()}
        self._consumer.incremental_assign([TopicPartition(self.topic, *start) for start in offsets.items()])

    def reopen(self, stuck: Collection[int]) -> None:
        """Replace the client, and continue at `positions`: it stopped reading ``stuck`` without an error."""
        _log.warning("partitions %s of %s: reading stopped, and will start again", to_ranges(stuck), self.topic)
        new = self._new_consumer()
        self._close()
        self._consumer = new
        starts = [TopicPartition(self.topic, number, offset or BEGINNING) for number, offset in self.positions.items()]
        self._consumer.incremental_assign(starts)

    def _new_consumer(self) -> Consumer:
        try:
            return Consumer(self._config)
        except KafkaException as error:  # a client waits only 10 s for its first token
            raise_cluster_error(error, f"reading topic {self.topic}")

    def end(self, partitions: Iterable[int]) -> None:
        """Remove these partitions from the assignment."""
        ended = [partition for partition in partitions if self.positions.pop(partition, None) is not None]
        if ended:
            self._consumer.incremental_unassign([TopicPartition(self.topic, partition) for partition in ended])

    def read(self, records_max: int, timeout: float) -> list[TopicRecord]:
        """Return the next records, about ``records_max`` at most; none after ``timeout`` seconds without any.

        Raises:
            AccessDeniedError: the topic may not be read.
            ClusterError: the topic was deleted or truncated, or the client failed: start over.
        """
        # consume() would wait its whole timeout for a full batch; poll() returns with the first record.
        first = self._consumer.poll(timeout) if timeout else None
        if timeout and first is None:
            return []
        batch = ([] if first is None else [first]) + self._consumer.consume(records_max, 0)
        # End-of-partition events come many times a second.
        if errors := [(message, error) for message in batch if (error := message.error()) is not None]:
            for message, error in errors:
                self._on_error(cast("TopicRecord", message), error)
            batch = [message for message in batch if message.error() is None]
        records = cast("list[TopicRecord]", batch)
        # A dict keeps the last record of each partition. This is cheap, which matters for a million records at a start.
        for partition, record in {record.partition(): record for record in records}.items():
            self.positions[partition] = max(self.positions.get(partition, 0), record.offset() + 1)
        return records

    def _on_error(self, message: TopicRecord, error: KafkaError) -> None:
        """Process an event that arrives instead of a record: the end of a partition, or an error."""
        if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
            self.positions[message.partition()] = message.offset()
        elif error.code() in _START_OVER or error.fatal():
            raise_cluster_error(error, f"reading {self.topic}")

    def close(self) -> None:
        """Close the consumer; wait up to `CLOSE_S` for it."""
        self._close().join(CLOSE_S)

    def _close(self) -> threading.Thread:
        # close() may never return for a client that stopped reading, so run it in a thread.
        closing = threading.Thread(target=self._consumer.close, name="close", daemon=True)
        closing.start()
        return closing

    def __enter__(self) -> Self:
        """Return the reader, which is closed at the end of the block."""
        return self

    def __exit__(self, *_exc: object) -> None:
        """Close the consumer."""
        self.close()
