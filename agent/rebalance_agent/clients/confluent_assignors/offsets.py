"""What this consumer owns, and how far the application has come: offsets stored, and those committed."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException, Message, TopicPartition
from kafka.structs import OffsetAndMetadata
from kafka.structs import TopicPartition as Partition

__all__ = ["OffsetStore", "Offsets", "by_partition", "from_message", "listed"]

Offsets = dict[Partition, OffsetAndMetadata]
"""kafka-python's partition -> offset to commit, with metadata and leader epoch."""

_NO_EPOCH = -1


def listed(partitions: Iterable[Any]) -> list[TopicPartition]:
    """(topic, partition) pairs as confluent-kafka lists them, without offsets."""
    return [TopicPartition(each[0], each[1]) for each in sorted(partitions)]


def from_message(message: Message) -> Offsets:
    """The offset after ``message``.

    Raises:
        KafkaException: it is an error and no record.
    """
    if message.error() is not None:
        raise KafkaException(KafkaError(KafkaError._INVALID_ARG, "the message is an error"))  # noqa: SLF001 - its public name
    return {Partition(message.topic(), message.partition()): _after(message)}


def _after(message: Message) -> OffsetAndMetadata:
    epoch = message.leader_epoch()
    return OffsetAndMetadata((message.offset() or 0) + 1, "", _NO_EPOCH if epoch is None else epoch)


def by_partition(partitions: Iterable[TopicPartition]) -> Offsets:
    """confluent-kafka's list with offsets; those without one are left out, as librdkafka does."""
    return {
        Partition(each.topic, each.partition): OffsetAndMetadata(
            each.offset, each.metadata or "", _NO_EPOCH if each.leader_epoch is None else each.leader_epoch
        )
        for each in partitions
        if each.offset >= 0
    }


@dataclass(slots=True)
class _Owned:
    """One partition of this consumer's. ``latest`` is the record that was delivered, and with that stored, last."""

    latest: Message | None = None
    given: OffsetAndMetadata | None = None
    committed: int = OFFSET_INVALID

    @property
    def stored(self) -> OffsetAndMetadata | None:
        return self.given if self.latest is None else _after(self.latest)


class OffsetStore:
    """Thread-safe: the application writes, the committing thread reads."""

    def __init__(self) -> None:
        """Own nothing."""
        self._lock = threading.Lock()
        self._owned: dict[tuple[str, int], _Owned] = {}

    def own(self, partitions: Iterable[tuple[str, int]]) -> None:
        """Begin with ``partitions``, of which nothing is stored yet; those owned already stay as they are."""
        with self._lock:
            for each in partitions:
                self._owned.setdefault(each, _Owned())

    def disown(self, partitions: Iterable[tuple[str, int]]) -> Offsets:
        """End with ``partitions``; returns what is stored of them and not committed."""
        with self._lock:
            left = {each: self._owned.pop(each) for each in set(partitions) & self._owned.keys()}
        return _due(left)

    def positions(self, partitions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """The offset after the last record delivered, and with that stored, of those that have one."""
        with self._lock:
            return {
                each: owned.stored.offset
                for each in partitions
                if (owned := self._owned.get(each)) is not None and owned.stored is not None
            }

    @property
    def owned(self) -> frozenset[tuple[str, int]]:
        """What this consumer may deliver records of."""
        with self._lock:
            return frozenset(self._owned)

    def delivers(self, message: Message, *, store: bool) -> bool:
        """Whether the message may go to the application: what is of its partitions, and errors that are of none.

        ``store``: a record's offset is stored at once. Called for every record, so without the lock: only the thread
        that delivers owns and disowns.
        """
        topic = message.topic()
        if topic is None:
            return True
        owned = self._owned.get((topic, message.partition() or 0))
        if owned is None:
            return False
        if store and message.error() is None:
            owned.latest = message  # and no more than that, for every record
        return True

    def store(self, offsets: Offsets) -> None:
        """The application has come so far.

        Raises:
            KafkaException: a partition is not this consumer's (``_STATE``, as librdkafka says); nothing is stored then.
        """
        with self._lock:
            for partition in offsets:
                if partition not in self._owned:
                    text = f"{partition.topic} [{partition.partition}] is not assigned to this consumer"
                    raise KafkaException(KafkaError(KafkaError._STATE, text))  # noqa: SLF001
            for partition, offset in offsets.items():
                self._owned[partition].given = offset

    def committed(self, offsets: Offsets) -> None:
        """The group's coordinator has ``offsets``."""
        with self._lock:
            for partition, offset in offsets.items():
                if owned := self._owned.get(partition):
                    owned.committed = offset.offset

    def due(self) -> Offsets:
        """What is stored and not committed."""
        with self._lock:
            return _due(self._owned)


def _due(owned: dict[tuple[str, int], _Owned]) -> Offsets:
    return {
        Partition(*partition): stored
        for partition, each in owned.items()
        if (stored := each.stored) is not None and stored.offset != each.committed
    }
