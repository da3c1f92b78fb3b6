"""Records of groups that have used their share of work: they wait, and the oldest ones are dropped. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from rebalance_agent.cluster.topic_reader import TopicRecord

__all__ = ["ALL_BYTES_MAX", "GROUP_BYTES_MAX", "GROUP_RECORDS_MAX", "SetAside", "WaitingRecord"]

GROUP_RECORDS_MAX = 100
"""Records of one group that wait. The last one has the group's state, so the older ones are dropped first."""

GROUP_BYTES_MAX = 4 * 2**20
"""Bytes of the waiting records of one group: four or more, since brokers take records of 1 MiB by default."""

ALL_BYTES_MAX = 32 * 2**20
"""Bytes of all waiting records."""

LOST_MAX = 10_000
"""Groups of which it is remembered that all waiting records were dropped."""


class WaitingRecord(NamedTuple):
    """A record that waits since ``seen_ms`` (epoch ms), and how it is to be emitted (as in `GroupRecord`).

    ``skipped``: how many records of its group were dropped right before it.
    """

    message: TopicRecord
    seen_ms: int
    replayed: bool
    gap_offset: int
    skipped: int = 0

    @property
    def size_bytes(self) -> int:
        """The bytes of key and value."""
        return len(self.message) + len(self.message.key() or b"")


@dataclass(slots=True)
class _Queue:
    records: deque[WaitingRecord] = field(default_factory=deque)
    size_bytes: int = 0


class SetAside:
    """The waiting records by the key of their group, in the order in which they were read."""

    def __init__(self) -> None:
        """Start without records."""
        self._queues: dict[bytes, _Queue] = {}
        self._lost: dict[bytes, int] = {}
        self._size_bytes = 0

    def __bool__(self) -> bool:
        """Whether any record waits."""
        return bool(self._queues)

    def __contains__(self, key: bytes) -> bool:
        """Whether records of the group wait."""
        return key in self._queues

    def groups(self) -> list[bytes]:
        """Return the keys of the groups whose records wait."""
        return list(self._queues)

    def next_bytes(self, key: bytes) -> int:
        """Return the bytes of the value of the oldest waiting record of a group."""
        return len(self._queues[key].records[0].message)

    def put(self, key: bytes, record: WaitingRecord) -> int:
        """Let a record wait; return how many older ones were dropped for it, of this group or of another."""
        queue = self._queues.setdefault(key, _Queue())
        queue.records.append(record._replace(skipped=self._lost.pop(key, 0)))
        queue.size_bytes += record.size_bytes
        self._size_bytes += record.size_bytes
        dropped = 0
        while len(queue.records) > 1 and (len(queue.records) > GROUP_RECORDS_MAX or queue.size_bytes > GROUP_BYTES_MAX):
            self._drop_oldest(key)
            dropped += 1
        while self._size_bytes > ALL_BYTES_MAX:
            self._drop_oldest(max(self._queues, key=lambda other: self._queues[other].size_bytes))
            dropped += 1
        return dropped

    def pop(self, key: bytes) -> WaitingRecord:
        """Remove and return the oldest waiting record of a group."""
        queue = self._queues[key]
        record = queue.records.popleft()
        queue.size_bytes -= record.size_bytes
        self._size_bytes -= record.size_bytes
        if not queue.records:
            del self._queues[key]
        return record

    def drop(self, partitions: Iterable[int]) -> None:
        """Drop the records of these partitions of the offsets topic, which are no longer read."""
        dropped = set(partitions)
        for key in [key for key, queue in self._queues.items() if queue.records[0].message.partition() in dropped]:
            self._size_bytes -= self._queues.pop(key).size_bytes

    def held_back(self, positions: Mapping[int, int]) -> dict[int, int]:
        """Return ``positions`` (partition -> next offset), none of them after a record that waits."""
        held = dict(positions)
        for queue in self._queues.values():
            message = queue.records[0].message
            if message.partition() in held:
                held[message.partition()] = min(held[message.partition()], message.offset())
        return held

    def _drop_oldest(self, key: bytes) -> None:
        """Drop the group's oldest record; its next one says how many are missing."""
        dropped = self.pop(key)
        skipped = dropped.skipped + 1
        if queue := self._queues.get(key):
            queue.records[0] = queue.records[0]._replace(skipped=queue.records[0].skipped + skipped)
        else:
            self._lost[key] = skipped
            if len(self._lost) > LOST_MAX:
                del self._lost[next(iter(self._lost))]
