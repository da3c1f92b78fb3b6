"""Counts records that are consumed again after a rebalance: those between the committed offset and the position.

Offsets are counted, not records, so gaps that compaction and transactions leave in a partition are included.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping

__all__ = ["FROM_START", "LEFT_MAX", "PARTITIONS_MAX", "ConsumerProgress", "Offsets", "Partition", "Positions"]

Partition = tuple[str, int]
"""Topic and partition number. A client's ``TopicPartition`` is accepted if it is such a tuple."""

Offsets = Mapping[Partition, int]
"""Partition -> offset."""

Positions = Callable[[Collection[Partition]], Offsets]
"""Returns the client's positions (offset after the last delivered record) without asking a broker."""

FROM_START = ("earliest", "smallest")
"""Values of ``auto_offset_reset`` with which a group without offsets reads from the start; the second is deprecated."""

PARTITIONS_MAX = 100_000
"""Maximum number of partitions tracked: more than any consumer can own. Further ones are not counted."""

LEFT_MAX = 10_000
"""Maximum number of partitions kept after they were given up, in case they are assigned again. The oldest are
dropped first."""


class ConsumerProgress:
    """Positions and committed offsets of one consumer. Thread-safe; a client's adapter calls it.

    When a partition is given up, ``position - resume`` records are consumed again. ``resume`` is the offset at which
    the next owner starts: the last committed offset, or the first offset read if none was committed. If a
    partition is assigned again and starts below the offset counted so far, the difference is added.
    """

    def __init__(self, positions: Positions) -> None:
        """``positions`` is called when partitions are given up."""
        self._positions = positions
        self._lock = threading.RLock()  # reentrant: a signal handler may close the consumer while it is held
        self._owned: set[Partition] = set()
        self._resume: dict[Partition, int | None] = {}
        self._last: dict[Partition, int] = {}
        self._left: dict[Partition, int] = {}
        self._again = 0

    def assigned(self, partitions: Iterable[Partition]) -> None:
        """Start tracking ``partitions``, whose start offset is not known yet."""
        with self._lock:
            for partition in partitions:
                self._forget(partition)
                if len(self._owned) < PARTITIONS_MAX:
                    self._owned.add(partition)

    def fetched(self, asked: Iterable[Partition], committed: Offsets, *, from_start: bool) -> None:
        """Record the group's committed offsets of the partitions ``asked`` for.

        A partition without one is read ``from_start`` (``auto.offset.reset=earliest``) or from its end.
        """
        with self._lock:
            for partition in asked:
                if partition in committed:
                    self._starts(partition, committed[partition])
                elif not from_start and partition in self._owned:
                    self._resume.setdefault(partition, None)

    def read(self, partition: Partition, offset: int) -> None:
        """Record that the record at ``offset`` was delivered. Only the first call per partition takes the lock."""
        if partition not in self._resume:
            with self._lock:
                self._starts(partition, offset)

    def committed(self, offsets: Offsets) -> None:
        """Record offsets that the coordinator has accepted."""
        with self._lock:
            for partition, offset in offsets.items():
                if partition in self._owned:
                    self._resume[partition] = offset

    def save_positions(self, partitions: Collection[Partition]) -> None:
        """Read and keep the positions of ``partitions``, before the client drops them."""
        if not partitions:
            return
        positions = self._positions(partitions)
        with self._lock:
            self._last |= {partition: offset for partition, offset in positions.items() if partition in self._owned}

    def given_up(self, partitions: Collection[Partition]) -> int:
        """Stop tracking ``partitions``; return how many records will be consumed again, including those of `take`."""
        self.save_positions(partitions)
        with self._lock:
            for partition in partitions:
                resume, position = self._resume.get(partition), self._last.get(partition)
                self._forget(partition)
                if position is None:
                    continue
                if resume is not None:
                    self._again += max(0, position - resume)
                self._left.pop(partition, None)
                self._left[partition] = position if resume is None else min(position, resume)
            while len(self._left) > LEFT_MAX:
                del self._left[next(iter(self._left))]
        return self.take()

    def take(self) -> int:
        """Return, and reset, the number of records known to be consumed again since the last call."""
        with self._lock:
            again, self._again = self._again, 0
        return again

    def _starts(self, partition: Partition, offset: int) -> None:
        if partition in self._resume or partition not in self._owned:
            return
        self._resume[partition] = offset
        left = self._left.pop(partition, None)
        if left is not None:
            self._again += max(0, left - offset)

    def _forget(self, partition: Partition) -> None:
        self._owned.discard(partition)
        self._resume.pop(partition, None)
        self._last.pop(partition, None)
