"""The backfill with its client, which lives only while there is something to read back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.cluster.topic_reader import BEGINNING, QUEUE_TUNING, TopicReader, TopicRecord
from rebalance_agent.offsets_topic.backfill_merge import BackfillMerge
from rebalance_agent.offsets_topic.group_records import GroupRecords

__all__ = ["BACKFILL_TUNING", "BackfillReader"]

BACKFILL_TUNING = {
    **QUEUE_TUNING,
    "fetch.wait.max.ms": "100",
}

BATCH_MAX = 2_000
"""Records per read: a millisecond of work, so that tail and backfill take turns quickly."""

BACKFILL_WAIT_S = 0.01


class BackfillReader:
    """The last record of each key before recorded ends. Used by one thread."""

    def __init__(self, context: CollectorContext, topic: str, records: GroupRecords) -> None:
        """Nothing is read before `expect`."""
        self._context = context
        self._topic = topic
        self._records = records
        self._backfill = BackfillMerge[TopicRecord]()
        self._reader: TopicReader | None = None

    @property
    def pending(self) -> frozenset[int]:
        """Partitions that are still being read."""
        return self._backfill.pending

    def expect(self, ends: Mapping[int, int]) -> None:
        """Read these partitions from their beginnings up to these ends."""
        self._backfill.expect(ends)
        if partitions := self._backfill.pending & ends.keys():
            if self._reader is None:
                self._reader = TopicReader(self._context.properties, self._topic, BACKFILL_TUNING)
                # librdkafka looks for a topic that it does not know yet half a second after partitions are assigned.
                self._reader.partitions()
            self._reader.end(partitions)  # one that is complete is read on while others are not
            self._reader.begin(dict.fromkeys(partitions, BEGINNING))

    def drop(self, partitions: Iterable[int]) -> None:
        """These partitions are partitions no longer."""
        numbers = frozenset(partitions)
        self._backfill.drop(numbers)
        if self._reader:
            self._reader.end(numbers)
        self._close_if_done()

    def seen_live(self, partition: int, key: bytes) -> None:
        """The tail saw a record of ``key``: what is read here is older."""
        self._backfill.seen_live(partition, key)

    def read(self) -> dict[int, list[TopicRecord]]:
        """Read on; the partitions that are complete with that, each with the last record of every key."""
        reader = self._reader
        if reader is None:
            return {}
        for message, key in self._records.of_groups(reader.read(BATCH_MAX, BACKFILL_WAIT_S)):
            self._backfill.add(message.partition(), message.offset(), key, message)
        complete = {}
        for partition in self._backfill.pending:
            last = self._backfill.reached(partition, reader.positions[partition])
            if partition not in self._backfill.pending:
                complete[partition] = last
        self._close_if_done()
        return complete

    def close(self) -> None:
        """Leave, whatever is still to be read."""
        if self._reader:
            self._reader.close()
            self._reader = None

    def _close_if_done(self) -> None:
        if self._backfill.done:
            self.close()
