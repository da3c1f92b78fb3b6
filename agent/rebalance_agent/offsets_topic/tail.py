"""Tails ``__consumer_offsets``: the coordinator's own log, read from its end at once and backfilled beside that.

One thread reads two clients: the *tail* from the end offsets on, and the *backfill* from the beginning up to these same
offsets. What a group's record says is decoded for the tail at once, for the backfill only for the last record of each
key. Partitions that appear later, and a topic that did not exist at first, are all created: read from the beginning. Where
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
"""How often it is reported_at up to where everything has been observed: what a snapshot lags behind, at least."""

_log = logging.getLogger(__name__)


class OffsetsTail:
    """`GroupRecord` and `EpochRecord` observations of the groups that are shown, in offset order per group.

    ``caught_up`` is set while all that is owned is tailed, and known from before. ``reached``: partition -> the offset
    before which all was observed, as of a second ago; without those of which what was before is still read.
    """

    def __init__(
        self,
        context: CollectorContext,
        denied: Callable[[str], None],
        topic: str = OFFSETS_TOPIC,
        on_records: Callable[[Sequence[TopicRecord], Mapping[int, int]], None] | None = None,
        ownership: Ownership | None = None,
        snapshots: Snapshots | None = None,
        on_resumed: Callable[[int], None] = lambda _since_ms: None,
        on_late: Callable[[], None] = lambda: None,
    ) -> None:
        """``denied`` is reported_at why the topic may not be read; ``on_records`` all that the tail reads, and up to where.

        Without ``ownership`` all partitions are its own; without ``snapshots`` each start is a full backfill.
        ``resumed`` is reported_at when the oldest snapshot was written that it goes on from; ``late`` when `late` begins.
        """
        self._context = context
        self._denied = denied
        self._records = GroupRecords(context)
        self._topic = topic
        self._ownership = ownership or FullOwnership()
        self._snapshots = snapshots
        self._rebase = SnapshotRebase(snapshots, BackfillReader(context, topic, self._records)) if snapshots else None
        self._on_resumed = on_resumed
        self._on_late = on_late
        self._late_reported = False
        self._unknown_since = context.clock.monotonic()
        self._tail: TopicReader | None = None
        self._partitions = 0
        self._initial_count: int | None = None
        self._ever_owned: frozenset[int] = frozenset()
        self._emitter = ObservationEmitter(context, self._records, on_records)
        self._backfill = BackfillReader(context, topic, self._records)
        self.caught_up = threading.Event()
        self.reached: Mapping[int, int] = {}
        self.worker = Worker(OFFSETS_PART, self._follow, context.health, denied=self._deny)

    @property
    def late(self) -> bool:
        """Whether it has been for longer than `HEAD_START_S` that not all is known from records, or it never will."""
        return not self.caught_up.is_set() and self._context.clock.monotonic() - self._unknown_since >= HEAD_START_S

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
        if tail is self._tail and self.caught_up.is_set():
            self._context.health.ready(OFFSETS_PART)

    def _follow(self, stop: threading.Event) -> None:
        self._emitter.begin()
        self._backfill = BackfillReader(self._context, self._topic, self._records)
        with TopicReader(self._context.properties, self._topic, TAIL_TUNING) as tail:
            try:
                self._await_topic(tail, stop)
                self._tail = tail
                reported_at = float("-inf")
                while not stop.is_set():
                    self._own(tail)
                    self._read(tail)
                    self._update_readiness(tail)
                    if self._context.clock.monotonic() - reported_at >= REACHED_EVERY_S:
                        reported_at = self._context.clock.monotonic()
                        self._report_reached(tail)
                        if self._rebase:
                            self._rebase.look(self.reached)
                if self._snapshots:
                    self._report_reached(tail)  # of all this comes the last snapshot
            except Exception:
                if self._snapshots:
                    self._snapshots.drop(tail.positions)
                raise
            finally:
                self._tail = None
                self._backfill.close()
                if self._rebase:
                    self._rebase.close()
                self._forget()

    def _forget(self) -> None:
        self.caught_up.clear()
        self.reached = {}
        self._unknown_since, self._late_reported = self._context.clock.monotonic(), False

    def _await_topic(self, tail: TopicReader, stop: threading.Event) -> None:
        """Brokers create the topic for the first group: until then there is nothing to see, and nothing wrong."""
        while not (count := tail.partitions()) and not stop.is_set():
            self._initial_count, self._partitions, self._ever_owned = 0, 0, frozenset()
            self._ownership.on_partition_count(0)
            self._ready()
            stop.wait(ABSENT_WAIT_S)
        self._partitions = count
        if self._initial_count is None:
            self._initial_count = count

    # Partitions come and go

    def _own(self, tail: TopicReader) -> None:
        count = self._partitions
        self._ownership.on_partition_count(count)
        owned = self._ownership.partitions()
        if owned is None or owned == tail.positions.keys():
            return
        lost, gained = tail.positions.keys() - owned, owned - tail.positions.keys()
        tail.end(lost)
        self._backfill.drop(lost)
        self._emitter.replay.drop(lost)
        if self._snapshots:
            self._snapshots.drop(lost)
        if self._rebase:
            self._rebase.drop(lost)
        self._context.meters.owned(len(owned))
        _log.info("speaks for the groups of %d of %d partitions of %s", len(owned), count, self._topic)
        self._context.inbox.put(PartitionsOwned(self._context.clock.now_ms(), owned, count))
        if gained:
            self._begin(tail, gained)

    def _begin(self, tail: TopicReader, gained: frozenset[int]) -> None:
        # Those that came to be under our eyes are read as created, whoever had them meanwhile.
        created = {number for number in gained if number >= (self._initial_count or 0)} - self._ever_owned
        ends = self._context.cluster.end_offsets(self._topic, gained - created)
        snapshots = self._load(ends)
        backfill = {number: end for number, end in ends.items() if number not in snapshots}
        if snapshots:
            self._on_resumed(min(snapshot.written_ms for snapshot in snapshots.values()))
        for number, snapshot in snapshots.items():
            self._emitter.emit_past(snapshot.records, replayed=True)
            self._emitter.replay.begin(number, snapshot.position, ends[number])
        for number in gained - {number for number, end in backfill.items() if end > 0}:
            self._complete(number, (), snapshots.get(number))
        starts = {number: snapshot.position for number, snapshot in snapshots.items()}
        tail.begin(dict.fromkeys(created, BEGINNING) | backfill | starts)
        self._backfill.expect(backfill)
        self._ever_owned |= gained

    def _load(self, ends: Mapping[int, int]) -> dict[int, Snapshot]:
        if self._snapshots is None:
            return {}
        starts = self._context.cluster.start_offsets(self._topic, ends)
        return self._snapshots.load({number: (starts[number], end) for number, end in ends.items()})

    def _complete(self, partition: int, base: Iterable[TopicRecord], snapshot: Snapshot | None) -> None:
        if self._snapshots:
            self._snapshots.begin(partition, base, snapshot)
        now_ms = self._context.clock.now_ms()
        self._context.inbox.put(Backfilled(now_ms, frozenset((partition,)), anew=snapshot is None))

    # Records

    def _read(self, tail: TopicReader) -> None:
        backfilling = bool(self._backfill.pending)
        records = tail.read(BATCH_MAX, 0 if backfilling else TAIL_WAIT_S)
        found = self._records.of_groups(records)
        for message, key in found:
            if backfilling:
                self._backfill.seen_live(message.partition(), key)
            if self._snapshots:
                self._snapshots.see(message)
        self._emitter.emit_live(records, [message for message, _ in found], tail.positions)
        for partition, base in self._backfill.read().items():
            self._emitter.emit_past(base)
            self._complete(partition, base, None)
        if self._rebase:
            self._rebase.read()

    # What others are reported_at

    def _update_readiness(self, tail: TopicReader) -> None:
        self._emitter.replay.finish(tail.positions)
        if self._ownership.partitions() is None:
            return
        if self._backfill.pending or self._emitter.replay:
            if self.caught_up.is_set():
                self._forget()
            self._context.health.unready(OFFSETS_PART, "reading what the topic held before")
            if self.late and not self._late_reported:
                self._late_reported = True
                self._on_late()
        elif not self.caught_up.is_set():
            self._ready()

    def _report_reached(self, tail: TopicReader) -> None:
        pending = self._backfill.pending
        positions = {number: position for number, position in tail.positions.items() if number not in pending}
        if self._snapshots:
            self._snapshots.reached(positions)
        self._context.inbox.offer(TailReached(self._context.clock.now_ms(), positions))
        self.reached = positions

    def _ready(self) -> None:
        self.caught_up.set()
        self._ownership.topic_denied(yes=False)
        self.worker.working()
        self._context.health.ready(OFFSETS_PART)

    def _deny(self, reason: str) -> None:
        self._ownership.topic_denied(yes=True)
        self._unknown_since = float("-inf")
        self._on_late()
        self._denied(reason)
