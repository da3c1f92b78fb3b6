"""Reads snapshots of the offsets topic back, and decides whether they can be used."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from rebalance_agent.cluster.collector_context import CollectorContext, SnapshotProblem
from rebalance_agent.cluster.read_to_end import records_before
from rebalance_agent.cluster.topic_reader import TopicReader
from rebalance_agent.errors import AccessDeniedError, ClusterError, InvalidInputError
from rebalance_agent.groupprotocol.coordinator_partition import OFFSETS_TOPIC
from rebalance_agent.offsets_topic.snapshots.codec import SnapshotAssembly, StoredRecord

__all__ = [
    "SNAPSHOT_BYTES_MAX",
    "UNREADABLE_MAX_S",
    "Snapshot",
    "SnapshotReader",
]

SNAPSHOT_BYTES_MAX = 512 * 1024 * 1024
"""Maximum number of bytes of all snapshots read at once: ten thousand groups of twenty members need a tenth of this."""

LOAD_MAX_S = 30.0
"""Longest time (seconds) for reading snapshots: a gigabyte takes ten. After that the offsets topic itself is read."""

UNREADABLE_MAX_S = 60.0
"""Seconds for which unanswered reads are retried: without the snapshot, events since then would be missed."""

TOMBSTONES_KEPT_MS = 86_400_000
"""Brokers' default of ``delete.retention.ms``, used if the topic's own setting cannot be read. Older tombstones may be
compacted away, and a key that an older snapshot holds would stay forever."""

_TOMBSTONES_SETTING = "delete.retention.ms"

TUNING = {"fetch.wait.max.ms": "50", "fetch.queue.backoff.ms": "10", "queued.max.messages.kbytes": "16384"}

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The last group record of each key of a partition before ``position``, by offset; see `snapshots.codec`."""

    position: int
    written_ms: int
    series: int
    records: tuple[StoredRecord, ...]


class SnapshotReader:
    """Loads snapshots from ``topic``. If a snapshot cannot be used, the offsets topic itself is read.

    ``kept``: partition -> keys of all records in ``topic``, including those of unusable snapshots.
    """

    def __init__(self, context: CollectorContext, topic: str, owner: bytes) -> None:
        """Read snapshots of ``owner`` (an observer's group id) in ``topic``."""
        self.kept: dict[int, frozenset[bytes]] = {}
        self._context = context
        self._topic = topic
        self._owner = owner
        self._unreadable_since: float | None = None

    def load(self, bounds: Mapping[int, tuple[int, int]], made_from: str) -> dict[int, Snapshot]:
        """Return the usable snapshots by partition (see `SnapshotStore`), without snapshots with another ``made_from``.

        Raises: ClusterError: brokers do not answer, but have not been silent for `UNREADABLE_MAX_S` yet.
        """
        # Other partitions, which may still wait to begin, keep their keys.
        self.kept = {partition: keys for partition, keys in self.kept.items() if partition not in bounds}
        assembly = self._readable(bounds)
        if assembly is None:
            return {}
        self.kept |= {partition: assembly.keys(partition) for partition in bounds}
        snapshots = {}
        oldest_ms = self._context.clock.now_ms() - self._tombstones_kept_ms()
        for partition, (start, end) in bounds.items():
            try:
                marker = assembly.marker(partition)
                if marker is None:
                    continue
                if marker.made_from != made_from:
                    self._ignored("foreign", partition, f"it was made from {marker.made_from}, not from {made_from}")
                elif not start <= marker.position <= end:
                    reason = f"it ends before offset {marker.position}, and the topic has offsets {start} to {end}"
                    self._ignored("out_of_range", partition, reason)
                elif marker.position < end and marker.written_ms < oldest_ms:
                    reason = f"it is older than {_TOMBSTONES_SETTING}: tombstones since then may be missing"
                    self._ignored("out_of_range", partition, reason)
                else:
                    records = tuple(assembly.records(partition, marker))
                    snapshots[partition] = Snapshot(marker.position, marker.written_ms, marker.series, records)
            except InvalidInputError as error:
                self._ignored("malformed", partition, str(error))
        return snapshots

    def _tombstones_kept_ms(self) -> int:
        """Return how long the offsets topic keeps tombstones (ms)."""
        try:
            return int(self._context.cluster.topic_setting(OFFSETS_TOPIC, _TOMBSTONES_SETTING) or TOMBSTONES_KEPT_MS)
        except (ClusterError, ValueError) as error:
            _log.debug("%s of %s is unknown: %s", _TOMBSTONES_SETTING, OFFSETS_TOPIC, error)
            return TOMBSTONES_KEPT_MS

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
                # Brokers that stop sending make `records_before` raise.
                if assembly.size_bytes > SNAPSHOT_BYTES_MAX or (batch and clock.monotonic() > until):
                    read_mib = assembly.size_bytes >> 20
                    self._ignored("too_large", None, f"reading stopped after {read_mib} MiB, before its end")
                    return None
            return assembly

    def _ignored(self, problem: SnapshotProblem, partition: int | None, reason: str) -> None:
        self._context.meters.snapshot_problem(problem)
        where = self._topic if partition is None else f"{self._topic}, offsets partition {partition}"
        _log.warning("snapshot ignored (%s): %s; the offsets topic is read instead", where, reason)
