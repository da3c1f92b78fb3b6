"""How far a consumer has come, and from where others go on: what is consumed once more when partitions change hands.

Offsets are counted, not records: the gaps that compaction and transactions leave in a partition count with them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping

__all__ = ["LEFT_MAX", "PARTITIONS_MAX", "ConsumerProgress", "Offsets", "Partition", "Positions"]

Partition = tuple[str, int]
"""Topic and number; every client's ``TopicPartition`` that is such a tuple will do."""

Offsets = Mapping[Partition, int]

Positions = Callable[[Collection[Partition]], Offsets]
"""Asks the client, without any broker, for the offset after the last record that the application got of each."""

PARTITIONS_MAX = 100_000
"""Partitions followed: more than any consumer can own. Others are not counted."""

LEFT_MAX = 10_000
"""Partitions given up that are remembered, should they come back; the longest ago are forgotten first."""


class ConsumerProgress:
    """One consumer's. Thread-safe; adapters tell it what their client learns anyhow.

    ``position - resume`` is consumed again when a partition goes, where ``resume`` is what its next owner begins with:
    the last offset that was committed, or as long as nothing is, the first that was read. A partition that comes back
    and begins below what was counted so far is counted for the difference.
    """

    def __init__(self, positions: Positions) -> None:
        """Ask for ``positions`` when partitions go."""
        self._positions = positions
        self._lock = threading.RLock()  # reentrant: a signal handler may close the consumer in here
        self._owned: set[Partition] = set()
        self._resume: dict[Partition, int | None] = {}
        self._last: dict[Partition, int] = {}
        self._left: dict[Partition, int] = {}
        self._again = 0

    def assigned(self, partitions: Iterable[Partition]) -> None:
        """These were assigned; where reading begins is not known yet."""
        with self._lock:
            for each in partitions:
                self._forget(each)
                if len(self._owned) < PARTITIONS_MAX:
                    self._owned.add(each)

    def fetched(self, asked: Iterable[Partition], committed: Offsets, *, from_start: bool) -> None:
        """The group's offsets were asked for. Where it has none, the next owner begins ``from_start`` or at the end."""
        with self._lock:
            for each in asked:
                if each in committed:
                    self._starts(each, committed[each])
                elif not from_start and each in self._owned:
                    self._resume.setdefault(each, None)

    def read(self, partition: Partition, offset: int) -> None:
        """A record was delivered. Cheap for all but the first of a partition: call it as often as you like."""
        if partition not in self._resume:
            with self._lock:
                self._starts(partition, offset)

    def committed(self, offsets: Offsets) -> None:
        """The coordinator has taken these."""
        with self._lock:
            for each, offset in offsets.items():
                if each in self._owned:
                    self._resume[each] = offset

    def save_positions(self, partitions: Collection[Partition]) -> None:
        """Note the positions before the client forgets them."""
        if not partitions:
            return
        seen = self._positions(partitions)
        with self._lock:
            self._last |= {each: offset for each, offset in seen.items() if each in self._owned}

    def given_up(self, partitions: Collection[Partition]) -> int:
        """These went; how many records will be, or were since the last call, consumed once more."""
        self.save_positions(partitions)
        with self._lock:
            for each in partitions:
                resume, position = self._resume.get(each), self._last.get(each)
                self._forget(each)
                if position is None:
                    continue
                if resume is not None:
                    self._again += max(0, position - resume)
                self._left.pop(each, None)
                self._left[each] = position if resume is None else min(position, resume)
            while len(self._left) > LEFT_MAX:
                del self._left[next(iter(self._left))]
        return self.take()

    def take(self) -> int:
        """How many records were consumed once more since the last call, as far as is known already."""
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
