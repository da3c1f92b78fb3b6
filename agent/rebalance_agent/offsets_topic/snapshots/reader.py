"""Reads back what was snapshotted of the offsets topic, and decides whether it can be built on."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from rebalance_agent.cluster.collector_context import CollectorContext, SnapshotProblem
from rebalance_agent.cluster.read_to_end import records_before
from rebalance_agent.cluster.topic_reader import TopicReader, TopicRecord
from rebalance_agent.errors import AccessDeniedError, ClusterError, InvalidInputError
from rebalance_agent.offsets_topic.snapshots.codec import SnapshotAssembly, StoredRecord

__all__ = [
    "SNAPSHOT_BYTES_MAX",
    "UNREADABLE_MAX_S",
    "Snapshot",
    "SnapshotReader",
    "Snapshots",
]

SNAPSHOT_BYTES_MAX = 512 * 1024 * 1024
"""Of all partitions that are read at once: ten thousand groups of twenty members have a tenth of it."""

LOAD_MAX_S = 30.0
"""A gigabyte from a near broker takes ten seconds; whoever waits longer reads the offsets topic itself."""

UNREADABLE_MAX_S = 60.0
"""So long brokers that do not answer are asked again: what happened since a snapshot is told from it alone."""

TOMBSTONES_KEPT_MS = 86_400_000
"""Brokers' default of ``delete.retention.ms``. What was deleted longer ago may have left no sign after compaction, and
what a snapshot holds of it would stay for ever."""

TUNING = {"fetch.wait.max.ms": "50", "fetch.queue.backoff.ms": "10", "queued.max.messages.kbytes": "16384"}

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A partition's group records before ``position``, the last of each key, in their order; see `snapshot_codec`."""

    position: int
    written_ms: int
    series: int
    records: tuple[StoredRecord, ...]


class Snapshots(Protocol):
    """What the tail needs of a store of snapshots. Called from one thread."""

    def load(self, bounds: Mapping[int, tuple[int, int]]) -> dict[int, Snapshot]:
        """The snapshots that can be built on; ``bounds``: partition -> first offset, and the one after the last.

        Raises:
            ClusterError: brokers do not answer: ask again.
        """
        ...

    def begin(self, partition: int, base: Iterable[TopicRecord], snapshot: Snapshot | None) -> None:
        """The partition is known as a whole: by ``snapshot``, else ``base`` is the last old record of each key."""
        ...

    def see(self, record: TopicRecord) -> None:
        """The tail read a record of a group."""
        ...

    def reached(self, positions: Mapping[int, int]) -> None:
        """The tail has read these partitions, which are known as a whole, up to before these offsets."""
        ...

    def missing(self, partitions: Collection[int]) -> frozenset[int]:
        """Which of these must `begin` again, as of all that was read so far: they are seen from now on."""
        ...

    def drop(self, partitions: Collection[int]) -> None:
        """These partitions are somebody else's now."""
        ...


class SnapshotReader:
    """Loads snapshots from ``topic``. Where one is of no use, the offsets topic itself is read.

    ``kept``: the keys of all that was found, by partition, also of snapshots that are of no use.
    """

    def __init__(self, context: CollectorContext, topic: str, owner: bytes) -> None:
        """``owner``: whose snapshots."""
        self.kept: dict[int, frozenset[bytes]] = {}
        self._context = context
        self._topic = topic
        self._owner = owner
        self._unreadable_since: float | None = None

    def load(self, bounds: Mapping[int, tuple[int, int]], made_from: str) -> dict[int, Snapshot]:
        """See `Snapshots`; ``made_from``: what a snapshot must have been made from to be of use here.

        Raises:
            ClusterError: brokers do not answer, and have not for `UNREADABLE_MAX_S` yet.
        """
        # Of other partitions, which may still wait to begin, it stays.
        self.kept = {partition: keys for partition, keys in self.kept.items() if partition not in bounds}
        assembly = self._readable(bounds)
        if assembly is None:
            return {}
        self.kept |= {partition: assembly.keys(partition) for partition in bounds}
        found = {}
        for partition, (start, end) in bounds.items():
            try:
                marker = assembly.marker(partition)
                if marker is None:
                    continue
                if marker.made_from != made_from:
                    self._ignored("foreign", partition, f"it was made from {marker.made_from}, this is {made_from}")
                elif not start <= marker.position <= end:
                    reason = f"it covers what is before {marker.position}, the topic has {start} to {end}"
                    self._ignored("out_of_range", partition, reason)
                elif marker.position < end and self._context.clock.now_ms() - marker.written_ms > TOMBSTONES_KEPT_MS:
                    reason = "it is more than a day old: what was deleted since then may have left no tombstone"
                    self._ignored("out_of_range", partition, reason)
                else:
                    records = tuple(assembly.records(partition, marker))
                    found[partition] = Snapshot(marker.position, marker.written_ms, marker.series, records)
            except InvalidInputError as error:
                self._ignored("malformed", partition, str(error))
        return found

    def _readable(self, partitions: Collection[int]) -> SnapshotAssembly | None:
        try:
            assembly = self._read(partitions)
        except ClusterError as error:
            now = self._context.clock.monotonic()
            self._unreadable_since = now if self._unreadable_since is None else self._unreadable_since
            if not isinstance(error, AccessDeniedError) and now - self._unreadable_since < UNREADABLE_MAX_S:
                raise
            self._ignored("unreadable", None, str(error))
            assembly = None
        self._unreadable_since = None
        return assembly

    def _read(self, partitions: Collection[int]) -> SnapshotAssembly | None:
        clock = self._context.clock
        with TopicReader(self._context.properties, self._topic, TUNING) as reader:
            count = reader.partitions()
            if not count:
                return None
            ends = self._context.cluster.end_offsets(self._topic, {number % count for number in partitions})
            assembly = SnapshotAssembly(self._owner, partitions)
            until = clock.monotonic() + LOAD_MAX_S
            for batch in records_before(ends, reader, clock):
                for record in batch:
                    assembly.add(record.key() or b"", record.value())
                # `records_before` tells of brokers that fell silent.
                if assembly.size_bytes > SNAPSHOT_BYTES_MAX or (batch and clock.monotonic() > until):
                    read_mib = assembly.size_bytes >> 20
                    self._ignored("too_large", None, f"{read_mib} MiB were read and not all of it")
                    return None
            return assembly

    def _ignored(self, problem: SnapshotProblem, partition: int | None, reason: str) -> None:
        self._context.meters.snapshot_problem(problem)
        where = self._topic if partition is None else f"{self._topic}, offsets partition {partition}"
        _log.warning("snapshot ignored (%s): %s; the offsets topic is read instead", where, reason)
