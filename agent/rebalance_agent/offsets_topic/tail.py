"""Tails ``__consumer_offsets``, the coordinator's own log: reads it from its end, and backfills the rest in parallel.

One thread reads with two clients: the *tail* reads from the end offsets on, and the *backfill* from the beginning up to
these offsets. The tail decodes each record of a group at once, the backfill only the last record of each key.
Partitions that are created later, or together with the topic, are read by the tail from the beginning. A partition with
a snapshot is read by the tail from the snapshot's position on, and needs no backfill.

Ownership may add and remove single partitions at any time.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.cluster.topic_reader import BEGINNING, QUEUE_TUNING, TopicReader, TopicRecord
from rebalance_agent.cluster.worker import Worker
from rebalance_agent.errors import ClusterError
from rebalance_agent.groupprotocol.coordinator_partition import OFFSETS_TOPIC
from rebalance_agent.offsets_topic.backfill_reader import BackfillReader
from rebalance_agent.offsets_topic.emit import ObservationEmitter
from rebalance_agent.offsets_topic.group_records import GroupRecords
from rebalance_agent.offsets_topic.ownership import Ownership
from rebalance_agent.offsets_topic.progress import ReadingProgress
from rebalance_agent.offsets_topic.snapshots.reader import Snapshot
from rebalance_agent.offsets_topic.snapshots.rebase import SnapshotRebase
from rebalance_agent.offsets_topic.snapshots.store import SnapshotStore
from rebalance_agent.tracking.observations import Backfilled, PartitionsOwned, TailReached

__all__ = ["OFFSETS_PART", "TAIL_TUNING", "OffsetsTail"]

OFFSETS_PART = "offsets_topic"
"""The part's name in readiness."""

TAIL_TUNING = {
    **QUEUE_TUNING,
    # Brokers answer with 100 kB or after 50 ms: this delays a record by at most 50 ms, and saves requests, each of
    # which costs as much as many records.
    "fetch.min.bytes": "100000",
    "fetch.wait.max.ms": "50",
}

BATCH_MAX = 5_000
"""Maximum number of records per read: a few milliseconds of work, so that tail and backfill alternate quickly."""

TAIL_WAIT_S = 0.25
"""Seconds to wait for a record of a quiet topic, and the longest delay in noticing a stop or a change of ownership."""

ABSENT_WAIT_S = 0.5
"""Seconds between checks for a topic that does not exist yet."""

HEAD_START_S = 2.0
"""Seconds that reading all records may take before `OffsetsTail.late` requests DescribeGroups instead: the time for a
million records. Describing each group costs as much again and shows less."""

REACHED_EVERY_S = 1.0
"""Seconds between two `TailReached` observations: a snapshot lags behind the tail by at least this time."""

_log = logging.getLogger(__name__)


@dataclass(eq=False)
class OffsetsTail:
    """Puts `GroupRecord` and `EpochRecord` observations of shown groups, in offset order for each group.

    ``caught_up`` is set while all owned partitions are tailed, and their old records have been read. ``reached``:
    partition -> the offset before which all records were observed, up to a second old; without partitions whose old
    records are still being read. ``was_read``: whether any record was read since the start.

    ``denied`` is called with the reason when reading is denied; ``on_records`` with all records that the tail reads and
    its next offsets; ``on_resumed`` with the time (epoch ms) of the oldest loaded snapshot; ``on_late`` when `late`
    becomes true. Without ``ownership``, the tail reads all partitions; without ``snapshots``, each start is a backfill.
    """

    context: CollectorContext
    denied: Callable[[str], None]
    on_records: Callable[[Sequence[TopicRecord], Mapping[int, int]], None] | None = None
    ownership: Ownership = field(default_factory=Ownership)
    snapshots: SnapshotStore | None = None
    on_resumed: Callable[[int], None] = lambda _since_ms: None
    on_late: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        """Prepare the readers; ``worker`` starts reading."""
        self._records = GroupRecords(self.context)
        self._rebase: SnapshotRebase | None = None
        if self.snapshots:
            self._rebase = SnapshotRebase(self.snapshots, BackfillReader(self.context, OFFSETS_TOPIC, self._records))
        self._late_reported = False
        self._unknown_since = self.context.clock.monotonic()
        self._tail: TopicReader | None = None
        self._partitions = 0
        self._initial_count: int | None = None
        self._ever_owned: frozenset[int] = frozenset()
        self._progress = ReadingProgress()
        self._stuck: list[int] = []
        self._emitter = ObservationEmitter(self.context, self._records, self.on_records)
        self._backfill = BackfillReader(self.context, OFFSETS_TOPIC, self._records)
        self.caught_up = threading.Event()
        self.was_read = False
        self.reached: Mapping[int, int] = {}
        self.worker = Worker(OFFSETS_PART, self._follow, self.context.health, denied=self._deny)

    @property
    def late(self) -> bool:
        """Whether `caught_up` has been unset for longer than `HEAD_START_S`, or reading is denied."""
        return not self.caught_up.is_set() and self.context.clock.monotonic() - self._unknown_since >= HEAD_START_S

    def on_topics(self, partitions: Mapping[str, int]) -> None:
        """Store the partition counts of all topics, since this one may have grown. Called from any thread."""
        self._partitions = max(self._partitions, partitions.get(OFFSETS_TOPIC, 0))
        self._records.topic_sizes = partitions

    def check(self) -> None:
        """Compare positions with the topic's end, since a stuck tail looks like a quiet topic.

        Call it regularly.
        """
        tail = self._tail
        if tail is None:
            return
        try:
            ends = self.context.cluster.end_offsets(OFFSETS_TOPIC, list(tail.positions))
        except ClusterError as error:
            self._progress.reset()
            self.context.health.unready(OFFSETS_PART, str(error))
            return
        if stuck := self._progress.stuck(tail.positions, ends, self.context.clock.monotonic()):
            self._progress.reset()
            self._stuck = stuck
        self.context.meters.tail_lag(sum(max(0, end - tail.positions.get(number, end)) for number, end in ends.items()))
        if tail is self._tail and self.caught_up.is_set():
            self.context.health.ready(OFFSETS_PART)

    def _follow(self, stop: threading.Event) -> None:
        self._emitter.begin()
        self._backfill = BackfillReader(self.context, OFFSETS_TOPIC, self._records)
        with TopicReader(self.context.properties, OFFSETS_TOPIC, TAIL_TUNING) as tail:
            try:
                self._await_topic(tail, stop)
                self._tail = tail
                self.context.meters.owned(0, changed=False)  # a replica may stay without partitions
                reported_at = float("-inf")
                while not stop.is_set():
                    if stuck := self._stuck:
                        self._stuck = []
                        tail.reopen(stuck)
                    self._own(tail)
                    self._read(tail)
                    self._update_readiness(tail)
                    if self.context.clock.monotonic() - reported_at >= REACHED_EVERY_S:
                        reported_at = self.context.clock.monotonic()
                        self._report_reached(tail)
                        if self._rebase:
                            self._rebase.look(self.reached)
                if self.snapshots:
                    self._report_reached(tail)  # for the last snapshot
            except Exception:
                if self.snapshots:
                    self.snapshots.drop(tail.positions)
                raise
            finally:
                self._tail = None
                self._backfill.close()
                if self._rebase:
                    self._rebase.close()
                self._forget()

    def _forget(self) -> None:
        self.caught_up.clear()
        self._stuck = []
        self.reached = {}
        self._unknown_since, self._late_reported = self.context.clock.monotonic(), False

    def _await_topic(self, tail: TopicReader, stop: threading.Event) -> None:
        """Wait until brokers create the topic, with the first group; until then the tail is ready."""
        while not (count := tail.partitions()) and not stop.is_set():
            self._initial_count, self._partitions, self._ever_owned = 0, 0, frozenset()
            self.ownership.on_partition_count(0)
            self._ready()
            stop.wait(ABSENT_WAIT_S)
        self._partitions = count
        if self._initial_count is None:
            self._initial_count = count

    # Changes of ownership

    def _own(self, tail: TopicReader) -> None:
        count = self._partitions
        self.ownership.on_partition_count(count)
        owned = self.ownership.partitions()
        if owned is None or owned == tail.positions.keys():
            return
        lost, gained = tail.positions.keys() - owned, owned - tail.positions.keys()
        tail.end(lost)
        self._backfill.drop(lost)
        self._emitter.drop(lost)
        if self.snapshots:
            self.snapshots.drop(lost)
        if self._rebase:
            self._rebase.drop(lost)
        self.context.meters.owned(len(owned), changed=True)
        _log.info("reporting groups from %d of %d partitions of %s", len(owned), count, OFFSETS_TOPIC)
        self.context.inbox.put(PartitionsOwned(self.context.clock.now_ms(), owned, count))
        if gained:
            self._begin(tail, gained)

    def _begin(self, tail: TopicReader, gained: frozenset[int]) -> None:
        # Partitions created since the start are read from the beginning, even if another observer owned them before.
        created = {number for number in gained if number >= (self._initial_count or 0)} - self._ever_owned
        ends = self.context.cluster.end_offsets(OFFSETS_TOPIC, gained - created)
        snapshots = self._load(ends)
        backfill = {number: end for number, end in ends.items() if number not in snapshots}
        if snapshots:
            self.on_resumed(min(snapshot.written_ms for snapshot in snapshots.values()))
        for number, snapshot in snapshots.items():
            self._emitter.emit_past(snapshot.records, replayed=True)
            self._emitter.replay.begin(number, snapshot.position, ends[number])
        for number in gained - {number for number, end in backfill.items() if end > 0}:
            self._complete(number, (), snapshots.get(number))
        starts = {number: snapshot.position for number, snapshot in snapshots.items()}
        begins = dict.fromkeys(created, BEGINNING) | backfill | starts
        self._emitter.gaps.begin(begins)
        tail.begin(begins)
        self._backfill.expect(backfill)
        self._ever_owned |= gained

    def _load(self, ends: Mapping[int, int]) -> dict[int, Snapshot]:
        if self.snapshots is None:
            return {}
        starts = self.context.cluster.start_offsets(OFFSETS_TOPIC, ends)
        return self.snapshots.load({number: (starts[number], end) for number, end in ends.items()})

    def _complete(self, partition: int, base: Iterable[TopicRecord], snapshot: Snapshot | None) -> None:
        if self.snapshots:
            self.snapshots.begin(partition, base, snapshot)
        now_ms = self.context.clock.now_ms()
        self.context.inbox.put(Backfilled(now_ms, frozenset((partition,)), anew=snapshot is None))

    # Records

    def _read(self, tail: TopicReader) -> None:
        backfilling = bool(self._backfill.pending)
        records = tail.read(BATCH_MAX, 0 if backfilling else self._emitter.share.release_s or TAIL_WAIT_S)
        self.was_read = self.was_read or bool(records)
        of_groups = self._records.of_groups(records)
        for message, key in of_groups:
            if backfilling:
                self._backfill.seen_live(message.partition(), key)
            if self.snapshots:
                self.snapshots.see(message)
        self._emitter.share.release()
        self._emitter.emit_live(records, [message for message, _ in of_groups], tail.positions)
        for partition, base in self._backfill.read().items():
            self.was_read = True
            self._emitter.emit_past(base)
            self._complete(partition, base, None)
        if self._rebase:
            self._rebase.read()

    # Readiness and progress

    def _update_readiness(self, tail: TopicReader) -> None:
        self._emitter.replay.finish(tail.positions)
        if self.ownership.partitions() is None:
            return
        if self._backfill.pending or self._emitter.replay:
            if self.caught_up.is_set():
                self._forget()
            self.context.health.busy(OFFSETS_PART, "reading existing records")
            if self.late and not self._late_reported:
                self._late_reported = True
                self.on_late()
        elif not self.caught_up.is_set():
            self._ready()

    def _report_reached(self, tail: TopicReader) -> None:
        pending = self._backfill.pending
        read = {number: position for number, position in tail.positions.items() if number not in pending}
        positions = self._emitter.share.held_back(read)
        if self.snapshots:
            self.snapshots.reached(positions)
        self.context.inbox.offer(TailReached(self.context.clock.now_ms(), positions))
        self.reached = positions

    def _ready(self) -> None:
        self.caught_up.set()
        self.ownership.topic_denied(yes=False)
        self.worker.working()
        self.context.health.ready(OFFSETS_PART)

    def _deny(self, reason: str) -> None:
        self.ownership.topic_denied(yes=True)
        self._unknown_since = float("-inf")
        self.on_late()
        self.denied(reason)
