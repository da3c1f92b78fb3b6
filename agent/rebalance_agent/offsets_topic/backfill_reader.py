"""Runs the backfill. Its Kafka client exists only while there are records to read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.cluster.topic_reader import BEGINNING, QUEUE_TUNING, TopicReader, TopicRecord
from rebalance_agent.offsets_topic.backfill_merge import BackfillMerge
from rebalance_agent.offsets_topic.group_records import GroupRecords
from rebalance_agent.offsets_topic.progress import ReadingProgress

__all__ = ["BACKFILL_TUNING", "BackfillReader"]

BACKFILL_TUNING = {
    **QUEUE_TUNING,
    "fetch.wait.max.ms": "100",
}

BATCH_MAX = 2_000
"""Maximum number of records per read: about a millisecond of work, so that tail and backfill alternate quickly."""

BACKFILL_WAIT_S = 0.01
"""Seconds that one read waits for a record: short, since the tail waits during this time."""


class BackfillReader:
    """Reads the last record of each key before given end offsets. Used by one thread."""

    def __init__(self, context: CollectorContext, topic: str, records: GroupRecords) -> None:
        """Set the source; no records are read before `expect`."""
        self._context = context
        self._topic = topic
        self._records = records
        self._backfill = BackfillMerge[TopicRecord]()
        self._progress = ReadingProgress()
        self._reader: TopicReader | None = None

    @property
    def pending(self) -> frozenset[int]:
        """Partitions that are still being read."""
        return self._backfill.pending

    def expect(self, ends: Mapping[int, int]) -> None:
        """Also read these partitions from their beginning up to these end offsets."""
        self._backfill.expect(ends)
        if partitions := self._backfill.pending & ends.keys():
            if self._reader is None:
                self._reader = TopicReader(self._context.properties, self._topic, BACKFILL_TUNING)
                # Request the topic's metadata now; librdkafka itself would do so half a second after the assignment.
                self._reader.partitions()
            self._reader.end(partitions)  # a complete partition stays assigned while others are incomplete
            self._reader.begin(dict.fromkeys(partitions, BEGINNING))

    def drop(self, partitions: Iterable[int]) -> None:
        """Stop reading these partitions, and discard their records."""
        numbers = frozenset(partitions)
        self._backfill.drop(numbers)
        if self._reader:
            self._reader.end(numbers)
        self._close_if_done()

    def seen_live(self, partition: int, key: bytes) -> None:
        """Process a record of ``key`` that the tail read: drop the old record of this key."""
        self._backfill.seen_live(partition, key)

    def read(self) -> dict[int, list[TopicRecord]]:
        """Read one batch; return the partitions that are complete now, each with the last record of every key."""
        reader = self._reader
        if reader is None:
            return {}
        records = reader.read(BATCH_MAX, BACKFILL_WAIT_S)
        if not records:
            self._reopen_if_stuck(reader)
        for message, key in self._records.of_groups(records):
            self._backfill.add(message.partition(), message.offset(), key, message)
        complete = {}
        for partition in self._backfill.pending:
            last = self._backfill.reached(partition, reader.positions[partition])
            if partition not in self._backfill.pending:
                complete[partition] = last
        self._close_if_done()
        return complete

    def _reopen_if_stuck(self, reader: TopicReader) -> None:
        if stuck := self._progress.stuck(reader.positions, self._backfill.ends, self._context.clock.monotonic()):
            self._progress.reset()
            reader.reopen(stuck)

    def close(self) -> None:
        """Close the client, even if there are more records to read."""
        if self._reader:
            self._reader.close()
            self._reader = None

    def _close_if_done(self) -> None:
        if self._backfill.done:
            self.close()
