"""Owned partitions with their stored and committed offsets, and offsets in the types of both clients."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException, Message, TopicPartition
from kafka.structs import OffsetAndMetadata
from kafka.structs import TopicPartition as Partition

__all__ = ["OffsetStore", "Offsets", "as_partitions", "by_partition", "from_message", "given_offsets", "listed"]

Offsets = dict[Partition, OffsetAndMetadata]
"""kafka-python's partition -> offset to commit, with metadata and leader epoch."""

_NO_EPOCH = -1


def listed(partitions: Iterable[Any]) -> list[TopicPartition]:
    """Return (topic, partition) pairs as a sorted list of confluent-kafka's type, without offsets."""
    return [TopicPartition(topic, number) for topic, number in sorted(partitions)]


def from_message(message: Message) -> Offsets:
    """Return the partition of ``message`` -> the offset after it.

    Raises:
        KafkaException: ``message`` is an error, not a record.
    """
    if message.error() is not None:
        raise KafkaException(KafkaError(KafkaError._INVALID_ARG, "the message is an error"))  # noqa: SLF001 - its public name
    return {Partition(message.topic(), message.partition()): _after(message)}


def _after(message: Message) -> OffsetAndMetadata:
    epoch = message.leader_epoch()
    return OffsetAndMetadata((message.offset() or 0) + 1, "", _NO_EPOCH if epoch is None else epoch)


def by_partition(partitions: Iterable[TopicPartition]) -> Offsets:
    """Offsets of confluent-kafka's list. Partitions without one are left out, as in librdkafka."""
    return {
        Partition(partition.topic, partition.partition): OffsetAndMetadata(
            partition.offset,
            partition.metadata or "",
            _NO_EPOCH if partition.leader_epoch is None else partition.leader_epoch,
        )
        for partition in partitions
        if partition.offset >= 0
    }


def given_offsets(message: Message | None, offsets: list[TopicPartition] | None) -> Offsets | None:
    """Offsets of the arguments of confluent-kafka's methods; None if neither is given.

    Raises:
        ValueError: both are given.
    """
    if message is not None and offsets is not None:
        raise ValueError("message and offsets are mutually exclusive")
    if message is not None:
        return from_message(message)
    return None if offsets is None else by_partition(offsets)


def as_partitions(offsets: Offsets) -> list[TopicPartition]:
    """Return ``offsets`` as a list of confluent-kafka's type."""
    return [
        TopicPartition(partition.topic, partition.partition, offset.offset) for partition, offset in offsets.items()
    ]


@dataclass(slots=True)
class _Owned:
    """Offsets of one partition: the last record delivered and stored, the last offset stored explicitly."""

    latest: Message | None = None
    given: OffsetAndMetadata | None = None
    committed: int = OFFSET_INVALID

    @property
    def stored(self) -> OffsetAndMetadata | None:
        return self.given if self.latest is None else _after(self.latest)


class OffsetStore:
    """The owned partitions. Thread-safe: the application's thread writes, the committing thread reads."""

    def __init__(self) -> None:
        """Start without partitions."""
        self._lock = threading.Lock()
        self._owned: dict[tuple[str, int], _Owned] = {}

    def own(self, partitions: Iterable[tuple[str, int]]) -> None:
        """Add ``partitions`` without offsets; those owned already keep theirs."""
        with self._lock:
            for partition in partitions:
                self._owned.setdefault(partition, _Owned())

    def disown(self, partitions: Iterable[tuple[str, int]]) -> Offsets:
        """Remove ``partitions``; return their offsets that are stored but not committed."""
        with self._lock:
            removed = {partition: self._owned.pop(partition) for partition in set(partitions) & self._owned.keys()}
        return _due(removed)

    def positions(self, partitions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """Return partition -> stored offset, for those that have one."""
        with self._lock:
            return {
                partition: owned.stored.offset
                for partition in partitions
                if (owned := self._owned.get(partition)) is not None and owned.stored is not None
            }

    @property
    def owned(self) -> frozenset[tuple[str, int]]:
        """The owned partitions."""
        with self._lock:
            return frozenset(self._owned)

    def delivers(self, message: Message, *, store: bool) -> bool:
        """Whether ``message`` may be delivered: it is of an owned partition, or an error without a partition.

        ``store``: store a record's offset at once. Called for every record, so without the lock: partitions are added
        and removed only by the thread that delivers.
        """
        topic = message.topic()
        if topic is None:
            return True
        owned = self._owned.get((topic, message.partition() or 0))
        if owned is None:
            return False
        if store and message.error() is None:
            owned.latest = message  # the offset is computed when it is needed
        return True

    def store(self, offsets: Offsets) -> None:
        """Store ``offsets`` for the next commit.

        Raises:
            KafkaException: a partition is not owned (``_STATE``, as in librdkafka); nothing is stored then.
        """
        with self._lock:
            for partition in offsets:
                if partition not in self._owned:
                    text = f"{partition.topic} [{partition.partition}] is not assigned to this consumer"
                    raise KafkaException(KafkaError(KafkaError._STATE, text))  # noqa: SLF001
            for partition, offset in offsets.items():
                self._owned[partition].given = offset

    def committed(self, offsets: Offsets) -> None:
        """Record that ``offsets`` are committed."""
        with self._lock:
            for partition, offset in offsets.items():
                if owned := self._owned.get(partition):
                    owned.committed = offset.offset

    def due(self) -> Offsets:
        """Offsets that are stored but not committed."""
        with self._lock:
            return _due(self._owned)


def _due(owned: dict[tuple[str, int], _Owned]) -> Offsets:
    return {
        Partition(*partition): stored
        for partition, offsets in owned.items()
        if (stored := offsets.stored) is not None and stored.offset != offsets.committed
    }
