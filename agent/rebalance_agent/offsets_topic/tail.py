"""Tails ``__consumer_offsets``: the coordinator's own log, read from its end at once and backfilled beside that.

One thread reads two clients: the *tail* from the end offsets on, and the *backfill* from the beginning up to these same
offsets. What a group's record says is decoded for the tail at once, for the backfill only for the last record of each
key. Partitions that appear later, and a topic that did not exist at first, are all news: read from the beginning. Where
there is a snapshot of a partition, the tail reads on from where that ends, and no backfill is needed.

Partitions come and go with the ownership of them, at any time and each by itself.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.cluster.topic_reader import BEGINNING, QUEUE_TUNING, TopicReader, TopicRecord
from rebalance_agent.cluster.worker import Worker
from rebalance_agent.errors import ClusterError
from rebalance_agent.groupprotocol.coordinator_partition import OFFSETS_TOPIC
from rebalance_agent.offsets_topic.backfill_reader import BackfillReader
from rebalance_agent.offsets_topic.emit import ObservationEmitter
from rebalance_agent.offsets_topic.group_records import GroupRecords
from rebalance_agent.offsets_topic.ownership import FullOwnership, Ownership
from rebalance_agent.offsets_topic.snapshots.reader import Snapshot, Snapshots
from rebalance_agent.offsets_topic.snapshots.rebase import SnapshotRebase
from rebalance_agent.tracking.observations import Backfilled, PartitionsOwned, TailReached

__all__ = ["OFFSETS_PART", "TAIL_TUNING", "OffsetsTail"]

OFFSETS_PART = "offsets_topic"
"""Its name in readiness."""

TAIL_TUNING = {
    **QUEUE_TUNING,
    # Brokers answer at 100 kB or after 50 ms: that is the most it adds to a record's delay, and an answer costs as much
    # as many records.
    "fetch.min.bytes": "100000",
    "fetch.wait.max.ms": "50",
}

BATCH_MAX = 5_000
"""Records per read: some milliseconds of work, so that tail and backfill take turns quickly."""

TAIL_WAIT_S = 0.25
"""For a record, on a quiet topic: how late it may be noticed that partitions came or went, or that this is to end."""

ABSENT_WAIT_S = 0.5

HEAD_START_S = 2.0
"""How long the records alone may take to tell of all groups, before others ask for a first picture: in that time a
million are read, and more is seldom there. To ask of each group costs as much again, and shows less."""

REACHED_EVERY_S = 1.0
"""How often it is told up to where everything has been observed: what a snapshot lags behind, at least."""

_log = logging.getLogger(__name__)


class OffsetsTail:
    """`GroupRecord` and `EpochRecord` observations of the groups that are shown, in offset order per group.

    ``exact`` is set while all that is owned is tailed, and known from before. ``reached``: partition -> the offset
    before which all was observed, as of a second ago; without those of which what was before is still read.
    """

    def __init__(
        self,
        context: CollectorContext,
        denied: Callable[[str], None],
        topic: str = OFFSETS_TOPIC,
        hear: Callable[[Sequence[TopicRecord], Mapping[int, int]], None] | None = None,
        ownership: Ownership | None = None,
        snapshots: Snapshots | None = None,
        resumed: Callable[[int], None] = lambda _since_ms: None,
        late: Callable[[], None] = lambda: None,
    ) -> None:
        """``denied`` is told why the topic may not be read; ``hear`` all that the tail reads, and up to where.

        Without ``ownership`` all partitions are its own; without ``snapshots`` each start is a full backfill.
        ``resumed`` is told when the oldest snapshot was written that it goes on from; ``late`` when `late` begins.
        """
        self._context = context
        self._denied = denied
        self._records = GroupRecords(context)
        self._topic = topic
        self._ownership = ownership or FullOwnership()
        self._snapshots = snapshots
        self._bases = SnapshotRebase(snapshots, BackfillReader(context, topic, self._records)) if snapshots else None
        self._resumed = resumed
        self._tell_late = late
        self._told_late = False
        self._unknown_since = context.clock.monotonic()
        self._tail: TopicReader | None = None
        self._partitions = 0
        self._old_count: int | None = None
        self._taken: frozenset[int] = frozenset()
        self._telling = ObservationEmitter(context, self._records, hear)
        self._old = BackfillReader(context, topic, self._records)
        self.exact = threading.Event()
        self.reached: Mapping[int, int] = {}
        self.worker = Worker(OFFSETS_PART, self._follow, context.health, denied=self._deny)

    @property
    def late(self) -> bool:
        """Whether it has been for longer than `HEAD_START_S` that not all is known from records, or it never will."""
        return not self.exact.is_set() and self._context.clock.monotonic() - self._unknown_since >= HEAD_START_S

    def on_topics(self, partitions: Mapping[str, int]) -> None:
        """Partition counts were read: the topic may have grown. Called from any thread."""
        self._partitions = max(self._partitions, partitions.get(self._topic, 0))

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
        self._telling.begin()
        self._old = BackfillReader(self._context, self._topic, self._records)
        with TopicReader(self._context.properties, self._topic, TAIL_TUNING) as tail:
            try:
                self._await_topic(tail, stop)
                self._tail = tail
                told = float("-inf")
                while not stop.is_set():
                    self._own(tail)
                    self._read(tail)
                    self._judge(tail)
                    if self._context.clock.monotonic() - told >= REACHED_EVERY_S:
                        told = self._context.clock.monotonic()
                        self._tell_reached(tail)
                        if self._bases:
                            self._bases.look(self.reached)
                if self._snapshots:
                    self._tell_reached(tail)  # of all this comes the last snapshot
            except Exception:
                if self._snapshots:
                    self._snapshots.drop(tail.positions)
                raise
            finally:
                self._tail = None
                self._old.close()
                if self._bases:
                    self._bases.close()
                self._forget()

    def _forget(self) -> None:
        self.exact.clear()
        self.reached = {}
        self._unknown_since, self._told_late = self._context.clock.monotonic(), False

    def _await_topic(self, tail: TopicReader, stop: threading.Event) -> None:
        """Brokers create the topic for the first group: until then there is nothing to see, and nothing wrong."""
        while not (count := tail.partitions()) and not stop.is_set():
            self._old_count, self._partitions, self._taken = 0, 0, frozenset()
            self._ownership.counted(0)
            self._ready()
            stop.wait(ABSENT_WAIT_S)
        self._partitions = count
        if self._old_count is None:
            self._old_count = count

    # Partitions come and go

    def _own(self, tail: TopicReader) -> None:
        count = self._partitions
        self._ownership.counted(count)
        owned = self._ownership.partitions()
        if owned is None or owned == tail.positions.keys():
            return
        lost, gained = tail.positions.keys() - owned, owned - tail.positions.keys()
        tail.end(lost)
        self._old.drop(lost)
        self._telling.replay.drop(lost)
        if self._snapshots:
            self._snapshots.drop(lost)
        if self._bases:
            self._bases.drop(lost)
        self._context.meters.owned(len(owned))
        _log.info("speaks for the groups of %d of %d partitions of %s", len(owned), count, self._topic)
        self._context.inbox.put(PartitionsOwned(self._context.clock.now_ms(), owned, count))
        if gained:
            self._begin(tail, gained)

    def _begin(self, tail: TopicReader, gained: frozenset[int]) -> None:
        # Those that came to be under our eyes are read as news, whoever had them meanwhile.
        news = {number for number in gained if number >= (self._old_count or 0)} - self._taken
        ends = self._context.cluster.end_offsets(self._topic, gained - news)
        snapshots = self._load(ends)
        backfill = {number: end for number, end in ends.items() if number not in snapshots}
        if snapshots:
            self._resumed(min(snapshot.written_ms for snapshot in snapshots.values()))
        for number, snapshot in snapshots.items():
            self._telling.old(snapshot.records, replayed=True)
            self._telling.replay.begin(number, snapshot.position, ends[number])
        for number in gained - {number for number, end in backfill.items() if end > 0}:
            self._whole(number, (), snapshots.get(number))
        starts = {number: snapshot.position for number, snapshot in snapshots.items()}
        tail.begin(dict.fromkeys(news, BEGINNING) | backfill | starts)
        self._old.expect(backfill)
        self._taken |= gained

    def _load(self, ends: Mapping[int, int]) -> dict[int, Snapshot]:
        if self._snapshots is None:
            return {}
        starts = self._context.cluster.start_offsets(self._topic, ends)
        return self._snapshots.load({number: (starts[number], end) for number, end in ends.items()})

    def _whole(self, partition: int, base: Iterable[TopicRecord], snapshot: Snapshot | None) -> None:
        if self._snapshots:
            self._snapshots.begin(partition, base, snapshot)
        now_ms = self._context.clock.now_ms()
        self._context.inbox.put(Backfilled(now_ms, frozenset((partition,)), anew=snapshot is None))

    # Records

    def _read(self, tail: TopicReader) -> None:
        reading_old = bool(self._old.pending)
        records = tail.read(BATCH_MAX, 0 if reading_old else TAIL_WAIT_S)
        found = self._records.of_groups(records)
        for message, key in found:
            if reading_old:
                self._old.seen_live(message.partition(), key)
            if self._snapshots:
                self._snapshots.see(message)
        self._telling.live(records, [message for message, _ in found], tail.positions)
        for partition, base in self._old.read().items():
            self._telling.old(base)
            self._whole(partition, base, None)
        if self._bases:
            self._bases.read()

    # What others are told

    def _judge(self, tail: TopicReader) -> None:
        self._telling.replay.finish(tail.positions)
        if self._ownership.partitions() is None:
            return
        if self._old.pending or self._telling.replay:
            if self.exact.is_set():
                self._forget()
            self._context.health.unready(OFFSETS_PART, "reading what the topic held before")
            if self.late and not self._told_late:
                self._told_late = True
                self._tell_late()
        elif not self.exact.is_set():
            self._ready()

    def _tell_reached(self, tail: TopicReader) -> None:
        pending = self._old.pending
        positions = {number: position for number, position in tail.positions.items() if number not in pending}
        if self._snapshots:
            self._snapshots.reached(positions)
        self._context.inbox.offer(TailReached(self._context.clock.now_ms(), positions))
        self.reached = positions

    def _ready(self) -> None:
        self.exact.set()
        self._ownership.alone(yes=False)
        self.worker.working()
        self._context.health.ready(OFFSETS_PART)

    def _deny(self, reason: str) -> None:
        self._ownership.alone(yes=True)
        self._unknown_since = float("-inf")
        self._tell_late()
        self._denied(reason)
