"""Records of groups that have used their share of work: they wait, and the oldest ones are dropped. Pure."""

from __future__ import annotations

import heapq
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from rebalance_agent.cluster.topic_reader import TopicRecord, record_bytes

__all__ = [
    "ALL_BYTES_MAX",
    "GROUP_BYTES_MAX",
    "KEY_RECORDS_MAX",
    "NEW_BYTES_MAX",
    "RECORD_BYTES",
    "SetAside",
    "WaitingRecord",
]

KEY_RECORDS_MAX = 400
"""Maximum number of waiting records with one key. The last one has the state, as in the compacted topic, so older ones
are dropped first. All records of a classic group have one key; other groups have several for each member."""

GROUP_BYTES_MAX = 4 * 2**20
"""Maximum number of bytes of the waiting records of one group: at least four records, since brokers accept records of 1
MiB by default."""

RECORD_BYTES = 400
"""Bytes of memory that a waiting record takes besides its key and value: about 7,000 small records of a group can
wait."""

ALL_BYTES_MAX = 10 * 2**20
"""Maximum number of bytes of all waiting records of groups that are not new."""

NEW_BYTES_MAX = 6 * 2**20
"""Maximum number of bytes of all waiting records of new groups. Any number of groups can be created, so other groups
lose no records for them."""

LAST_WEIGHT = 1 / 8
"""Weight of a group's last waiting record in the order in which groups lose records. It has the state of a classic
group, so a large group should not lose it while smaller groups have several records."""

STALE_MAX = 1_000
"""Number of outdated entries above which the order of the groups by size is rebuilt."""

LOST_MAX = 10_000
"""Maximum number of groups for which it is recorded that all their waiting records were dropped."""


class WaitingRecord(NamedTuple):
    """A record that has been waiting since ``seen_ms`` (epoch ms), and how to emit it (as in `GroupRecord`).

    ``skipped``: how many records of its group were dropped right before it.
    """

    message: TopicRecord
    seen_ms: int
    replayed: bool
    gap_offset: int
    skipped: int = 0

    @property
    def size_bytes(self) -> int:
        """The bytes of key and value, and of the objects that hold them."""
        return RECORD_BYTES + record_bytes(self.message)

    @property
    def key(self) -> bytes:
        """The record's key."""
        return self.message.key() or b""


@dataclass(slots=True)
class _Queue:
    """The waiting records of one group by their number, in order; ``numbers``: the numbers of each key, in order.

    ``skipped``: how many records were dropped right before a record, by its number.
    """

    room: _Room
    records: OrderedDict[int, WaitingRecord] = field(default_factory=OrderedDict)
    skipped: dict[int, int] = field(default_factory=dict)
    numbers: dict[bytes, deque[int]] = field(default_factory=dict)
    size_bytes: int = 0

    @property
    def first(self) -> WaitingRecord:
        """The record that was read first."""
        return next(iter(self.records.values()))

    @property
    def weight(self) -> float:
        """The bytes by which groups lose records: those of older records, and `LAST_WEIGHT` of the last one."""
        last = self.records[next(reversed(self.records))].size_bytes
        return self.size_bytes - (1 - LAST_WEIGHT) * last


class _Room:
    """Groups that share a bound of bytes. ``order``: (negative weight, group), a heap with outdated entries."""

    def __init__(self) -> None:
        self.size_bytes = 0
        self.order: list[tuple[float, bytes]] = []


class SetAside:
    """The waiting records by group (its bytes), in the order in which they were read."""

    def __init__(self) -> None:
        """Start without records."""
        self._queues: dict[bytes, _Queue] = {}
        self._lost: dict[bytes, int] = {}
        self._room, self._room_of_new = _Room(), _Room()
        self._next = 0

    def __bool__(self) -> bool:
        """Whether any record waits."""
        return bool(self._queues)

    def __contains__(self, group: bytes) -> bool:
        """Whether records of the group wait."""
        return group in self._queues

    def groups(self) -> list[bytes]:
        """Return the groups whose records wait."""
        return list(self._queues)

    def firsts(self) -> Iterator[WaitingRecord]:
        """Yield the oldest waiting record of each group."""
        return (queue.first for queue in self._queues.values())

    def next_bytes(self, group: bytes) -> int:
        """Return the bytes of the value of the oldest waiting record of a group."""
        return len(self._queues[group].first.message)

    def put(self, group: bytes, record: WaitingRecord, *, new: bool = False) -> list[WaitingRecord]:
        """Let a record wait; return the older records, of this or another group, that were dropped for it.

        ``new``: only records of other new groups are dropped for the group.
        """
        room, bytes_max = (self._room_of_new, NEW_BYTES_MAX) if new else (self._room, ALL_BYTES_MAX)
        queue = self._queues.setdefault(group, _Queue(room))
        self._move(queue, room)
        number, self._next = self._next, self._next + 1
        queue.records[number] = record
        if lost := self._lost.pop(group, 0):
            queue.skipped[number] = lost
        numbers, size = queue.numbers.setdefault(record.key, deque()), record.size_bytes
        numbers.append(number)
        queue.size_bytes += size
        room.size_bytes += size
        self._grown(group, queue)
        dropped = []
        if len(numbers) > KEY_RECORDS_MAX:
            dropped.append(self._drop(group, numbers[0], numbers[1]))
        while len(queue.records) > 1 and queue.size_bytes > GROUP_BYTES_MAX:
            dropped.append(self._drop_oldest(group))
        while room.size_bytes > bytes_max:
            dropped.append(self._drop_oldest(self._largest(room)))
        return dropped

    def _move(self, queue: _Queue, room: _Room) -> None:
        queue.room.size_bytes -= queue.size_bytes
        queue.room = room
        room.size_bytes += queue.size_bytes

    def _grown(self, group: bytes, queue: _Queue) -> None:
        room = queue.room
        heapq.heappush(room.order, (-queue.weight, group))
        if len(room.order) > len(self._queues) + STALE_MAX:
            room.order = [(-other.weight, name) for name, other in self._queues.items() if other.room is room]
            heapq.heapify(room.order)

    def _largest(self, room: _Room) -> bytes:
        """Return the group of ``room`` with the largest backlog. A group whose order changed is inserted again."""
        while True:
            negative, group = room.order[0]
            queue = self._queues.get(group)
            weight = queue.weight if queue and queue.room is room else 0.0
            if weight == -negative:
                return group
            if 0 < weight < -negative:
                heapq.heapreplace(room.order, (-weight, group))
            else:
                heapq.heappop(room.order)

    def pop(self, group: bytes) -> WaitingRecord:
        """Remove and return the oldest waiting record of a group."""
        queue = self._queues[group]
        number = next(iter(queue.records))
        record, skipped = self._remove(group, queue, number)
        return record._replace(skipped=skipped) if skipped else record

    def pop_through(self, group: bytes, matches: Callable[[WaitingRecord], bool]) -> WaitingRecord | None:
        """Remove a group's records up to the last one that ``matches``, and return it; None if no record matches."""
        record = None
        if queue := self._queues.get(group):
            last = next((number for number in reversed(queue.records) if matches(queue.records[number])), -1)
            while (number := next(iter(queue.records), last + 1)) <= last:
                record, _ = self._remove(group, queue, number)
        return record

    def lose(self, group: bytes, number: int) -> None:
        """Add these missing records of a group to ``skipped`` of its next record, now or later."""
        if queue := self._queues.get(group):
            first = next(iter(queue.records))
            queue.skipped[first] = queue.skipped.get(first, 0) + number
            return
        self._lost[group] = self._lost.get(group, 0) + number
        if len(self._lost) > LOST_MAX:
            del self._lost[next(iter(self._lost))]

    def take_lost(self, group: bytes) -> int:
        """Return and drop how many records are missing before the next record of a group without waiting records."""
        return self._lost.pop(group, 0)

    def drop(self, partitions: Iterable[int]) -> None:
        """Drop the records of these partitions of the offsets topic, which are no longer read."""
        dropped = set(partitions)
        for group in [group for group, queue in self._queues.items() if queue.first.message.partition() in dropped]:
            queue = self._queues.pop(group)
            queue.room.size_bytes -= queue.size_bytes

    def drop_key(self, group: bytes, key: bytes) -> int:
        """Drop the waiting records of a group with this key, and add them to those that are lost; return their number.

        Records that were dropped before, right before one of these, are lost, too.
        """
        queue, number, lost = self._queues.get(group), 0, 0
        while queue and (numbers := queue.numbers.get(key)):
            number, lost = number + 1, lost + 1 + self._remove(group, queue, numbers[0])[1]
        if lost:
            self.lose(group, lost)
        return number

    def held_back(self, positions: Mapping[int, int]) -> dict[int, int]:
        """Return ``positions`` (partition -> next offset), lowered to the first waiting record of each partition."""
        held = dict(positions)
        for queue in self._queues.values():
            message = queue.first.message
            if message.partition() in held:
                held[message.partition()] = min(held[message.partition()], message.offset())
        return held

    def _remove(self, group: bytes, queue: _Queue, number: int) -> tuple[WaitingRecord, int]:
        """Remove the first record of its key; return it and the number of records dropped right before it."""
        record = queue.records.pop(number)
        numbers = queue.numbers[record.key]
        numbers.popleft()
        if not numbers:
            del queue.numbers[record.key]
        size = record.size_bytes
        queue.size_bytes -= size
        queue.room.size_bytes -= size
        if not queue.records:
            del self._queues[group]
        return record, queue.skipped.pop(number, 0)

    def _drop(self, group: bytes, number: int, following: int) -> WaitingRecord:
        """Drop a record, and count it in ``skipped`` of the ``following`` record."""
        queue = self._queues[group]
        record, skipped = self._remove(group, queue, number)
        queue.skipped[following] = queue.skipped.get(following, 0) + skipped + 1
        return record

    def _drop_oldest(self, group: bytes) -> WaitingRecord:
        """Drop the group's oldest record, and count it in ``skipped`` of the next record, now or later."""
        records = self._queues[group].records
        if len(records) > 1:
            first, second = islice(records, 2)
            return self._drop(group, first, second)
        record = self.pop(group)
        self.lose(group, record.skipped + 1)
        return record
