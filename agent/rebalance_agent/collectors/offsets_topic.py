"""Tails ``__consumer_offsets``: the coordinator's own log, read from its end at once and backfilled beside that.

One thread reads two clients: the *tail* from the end offsets on, and the *backfill* from the beginning up to these same
offsets. What a group's record says is decoded for the tail at once, for the backfill only for the last record of each
key. Partitions that appear later, and a topic that did not exist at first, are all news: read from the beginning.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping

from rebalance_agent.collectors.backfill import Backfill
from rebalance_agent.collectors.context import Context
from rebalance_agent.collectors.group_records import GroupRecords
from rebalance_agent.collectors.topic_reader import BEGINNING, TopicReader, TopicRecord
from rebalance_agent.collectors.worker import Worker
from rebalance_agent.errors import ClusterError
from rebalance_agent.rebalances.observations import Backfilled

__all__ = ["BACKFILL_TUNING", "OFFSETS_PART", "OFFSETS_TOPIC", "TAIL_TUNING", "OffsetsTail"]

OFFSETS_TOPIC = "__consumer_offsets"

OFFSETS_PART = "offsets_topic"
"""Its name in readiness."""

TAIL_TUNING = {
    # Brokers answer at 20 kB or after 25 ms: that is the most it adds to a record's delay, and on a busy topic it costs
    # a third of answering at once.
    "fetch.min.bytes": "20000",
    "fetch.wait.max.ms": "25",
    "fetch.queue.backoff.ms": "10",
    "queued.max.messages.kbytes": "16384",
}
BACKFILL_TUNING = {
    # Bounded in bytes, since a million queued messages cost 400 MB; librdkafka's default back-off of 1 s would make
    # a full queue wait for nothing.
    "fetch.wait.max.ms": "100",
    "fetch.queue.backoff.ms": "10",
    "queued.max.messages.kbytes": "49152",
}

BATCH_MAX = 5_000
"""Records per read: some milliseconds of work, so that tail and backfill take turns quickly."""

TAIL_WAIT_S = 0.1
BACKFILL_WAIT_S = 0.01
ABSENT_WAIT_S = 0.5


class OffsetsTail:
    """`GroupRecord` and `EpochRecord` observations of the groups that are shown, in offset order per group.

    ``exact`` is set while the tail runs and the backfill is complete.
    """

    def __init__(self, context: Context, denied: Callable[[str], None], topic: str = OFFSETS_TOPIC) -> None:
        """``denied`` is told why when the topic may not be read."""
        self._context = context
        self._records = GroupRecords(context)
        self._topic = topic
        self._tail: TopicReader | None = None
        self._partitions = 0
        self._absent = False
        self.exact = threading.Event()
        self.worker = Worker(OFFSETS_PART, self._follow, context.health, denied=denied)

    def on_topics(self, partitions: Mapping[str, int]) -> None:
        """Partition counts were read: the topic may have grown. Called from any thread."""
        self._partitions = partitions.get(self._topic, 0)

    def check(self) -> None:
        """Compare positions with the topic's end; called regularly, since a silent tail looks like a quiet topic."""
        tail = self._tail
        if tail is None:
            return
        try:
            ends = self._context.cluster.end_offsets(self._topic, list(tail.positions))
        except ClusterError as error:
            self._context.health.unready(OFFSETS_PART, str(error))
            return
        lag = sum(max(0, end - tail.positions.get(partition, end)) for partition, end in ends.items())
        self._context.meters.tail_lag(lag)
        if tail is self._tail and self.exact.is_set():
            self._context.health.ready(OFFSETS_PART)

    def _follow(self, stop: threading.Event) -> None:
        with TopicReader(self._context.properties, self._topic, TAIL_TUNING) as tail:
            try:
                ends = self._starting_offsets(tail, stop)
                tail.begin(ends)
                self._absent = False
                self._tail = tail
                backfill = Backfill[TopicRecord](ends)
                self._backfilled(ends.keys() - backfill.pending)
                if not backfill.done:
                    self._read_both(tail, backfill, stop)
                self._ready()
                while not stop.is_set():
                    self._read_tail(tail, TAIL_WAIT_S)
            finally:
                self._tail = None
                self.exact.clear()

    def _starting_offsets(self, tail: TopicReader, stop: threading.Event) -> dict[int, int]:
        count = tail.partitions()
        if count and not self._absent:
            return self._context.cluster.end_offsets(self._topic, range(count))
        # Brokers create the topic for the first group: until then there is nothing to see, and nothing wrong.
        self._absent = True
        while not count and not stop.is_set():
            self._ready()
            stop.wait(ABSENT_WAIT_S)
            count = tail.partitions()
        return dict.fromkeys(range(count), BEGINNING)

    def _read_both(self, tail: TopicReader, backfill: Backfill[TopicRecord], stop: threading.Event) -> None:
        self._context.health.unready(OFFSETS_PART, "reading what the topic held before")
        with TopicReader(self._context.properties, self._topic, BACKFILL_TUNING) as reader:
            reader.begin(dict.fromkeys(backfill.pending, BEGINNING))
            while not (backfill.done or stop.is_set()):
                for message, key in self._read_tail(tail, 0):
                    backfill.seen_live(message.partition(), key)
                for message, key in self._records.of_groups(reader.read(BATCH_MAX, BACKFILL_WAIT_S)):
                    backfill.add(message.partition(), message.offset(), key, message)
                pending = backfill.pending
                for partition in pending:
                    self._emit(backfill.reached(partition, reader.positions[partition]), live=False)
                self._backfilled(pending - backfill.pending)

    def _backfilled(self, partitions: Iterable[int]) -> None:
        if whole := frozenset(partitions):
            self._context.inbox.put(Backfilled(self._context.clock.now_ms(), whole))

    def _read_tail(self, tail: TopicReader, timeout: float) -> list[tuple[TopicRecord, bytes]]:
        if self._partitions > len(tail.positions):
            grown = range(len(tail.positions), self._partitions)
            tail.begin(dict.fromkeys(grown, BEGINNING))
            self._backfilled(grown)
        found = list(self._records.of_groups(tail.read(BATCH_MAX, timeout)))
        self._emit((message for message, _ in found), live=True)
        return found

    def _emit(self, messages: Iterable[TopicRecord], *, live: bool) -> None:
        for message in messages:
            if (record := self._records.decode(message, live=live)) is not None:
                self._context.inbox.put(record)

    def _ready(self) -> None:
        self.exact.set()
        self.worker.working()
        self._context.health.ready(OFFSETS_PART)
