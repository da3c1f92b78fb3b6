"""Stores which consumer of a group owns which partitions, as ranges, at a cost proportional to the size of an event.

Two indexes have the same ranges: by group and topic, to find the former owners of partitions that a consumer gets, and
by consumer, to find the partitions that it gives up. So no event reads ranges that it does not change.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from rebalance_agent.model.partition_ranges import PartitionRanges, ReportedPartitions, as_ranges

__all__ = ["RANGE_BYTES", "TOPIC_BYTES", "TOPIC_RANGES_MAX", "ConsumerKey", "OwnedPartitions", "OwnedRanges"]

TOPIC_RANGES_MAX = 32_768
"""Maximum number of ranges of one topic in one group: a topic of as many partitions needs no more, whatever its owners.

It bounds the time to insert or remove a range, which moves the ranges behind it: some microseconds. Beyond the limit,
partitions have no owner.
"""

TOPIC_BYTES = 1_500
"""Bytes that a topic of a consumer takes in addition to its name and ranges: the entries of both indexes."""

RANGE_BYTES = 40
"""Bytes of one range in both indexes, with the space that arrays reserve."""

_Owner = TypeVar("_Owner")


class ConsumerKey(NamedTuple):
    """One consumer: a client id in a group in one process."""

    process: str
    group: str
    client_id: str


class OwnedRanges(Generic[_Owner]):
    """The ranges of one topic with their owners, in ascending order. Ranges do not overlap."""

    __slots__ = ("_firsts", "_lasts", "_owners")

    def __init__(self) -> None:
        """Start without ranges."""
        self._firsts = array("i")
        self._lasts = array("i")
        self._owners: list[_Owner] = []

    def __len__(self) -> int:
        """Return the number of ranges, not of partitions."""
        return len(self._owners)

    def __getitem__(self, part: slice) -> list[tuple[int, int, _Owner]]:
        """Return the ranges at these positions as (first, last, owner)."""
        return list(zip(self._firsts[part], self._lasts[part], self._owners[part], strict=True))

    def within(self, first: int, last: int) -> list[tuple[int, int, _Owner]]:
        """Return those of the partitions from ``first`` to ``last`` that have an owner."""
        part = self._overlapping(first, last)
        found = self[part] if part.start < part.stop else []
        if found and found[0][0] < first:
            found[0] = (first, *found[0][1:])
        if found and found[-1][1] > last:
            found[-1] = (found[-1][0], last, found[-1][2])
        return found

    def take(self, first: int, last: int) -> list[tuple[int, int, _Owner]]:
        """Remove the partitions from ``first`` to ``last``, and return those that had an owner.

        With `TOPIC_RANGES_MAX` ranges, no range is split: the whole ranges that overlap are removed.
        """
        part = self._overlapping(first, last)
        if part.start == part.stop:
            return []
        ranges = self[part]
        if len(self) >= TOPIC_RANGES_MAX:
            self._replace(part, ())
            return ranges
        taken, rest = self.within(first, last), []
        if ranges[0][0] < first:
            rest.append((ranges[0][0], first - 1, ranges[0][2]))
        if ranges[-1][1] > last:
            rest.append((last + 1, *ranges[-1][1:]))
        self._replace(part, rest)
        return taken

    def give(self, first: int, last: int, owner: _Owner) -> None:
        """Add the partitions from ``first`` to ``last``, none of which has an owner; adjacent ranges are merged."""
        at = bisect_left(self._firsts, first)
        before = at > 0 and self._lasts[at - 1] == first - 1 and self._owners[at - 1] == owner
        after = at < len(self) and self._firsts[at] == last + 1 and self._owners[at] == owner
        if before and after:
            self._lasts[at - 1] = self._lasts[at]
            self._replace(slice(at, at + 1), ())
        elif before:
            self._lasts[at - 1] = last
        elif after:
            self._firsts[at] = first
        else:
            self._firsts.insert(at, first)
            self._lasts.insert(at, last)
            self._owners.insert(at, owner)

    def _overlapping(self, first: int, last: int) -> slice:
        start = bisect_left(self._lasts, first)
        ends = start == len(self) or self._firsts[start] > last
        return slice(start, start if ends else bisect_right(self._firsts, last, start))

    def _replace(self, part: slice, ranges: Sequence[tuple[int, int, _Owner]]) -> None:
        self._firsts[part] = array("i", [first for first, _, _ in ranges])
        self._lasts[part] = array("i", [last for _, last, _ in ranges])
        self._owners[part] = [owner for _, _, owner in ranges]


class OwnedPartitions:
    """The partitions of all consumers. A partition has at most one owner in each group.

    ``size_bytes``: the memory of the ranges and topics.
    """

    def __init__(self) -> None:
        """Start without partitions."""
        self.size_bytes = 0
        self._by_topic: dict[tuple[str, str], OwnedRanges[ConsumerKey]] = {}
        self._by_consumer: dict[ConsumerKey, dict[str, OwnedRanges[None]]] = {}
        self._counts: dict[ConsumerKey, int] = {}

    def count(self, consumer: ConsumerKey) -> int:
        """Return the number of the consumer's partitions."""
        return self._counts.get(consumer, 0)

    def first_ranges(self, consumer: ConsumerKey, most: int) -> dict[str, PartitionRanges]:
        """Return at most the first ``most`` ranges of the consumer, with topics in the order of their names."""
        owned = self._by_consumer.get(consumer, {})
        shown: dict[str, PartitionRanges] = {}
        for topic in sorted(owned):
            if most <= 0:
                break
            ranges = owned[topic][:most]
            shown[topic] = PartitionRanges.of_spans((first, last) for first, last, _ in ranges)
            most -= len(ranges)
        return shown

    def assign(self, consumer: ConsumerKey, partitions: ReportedPartitions) -> None:
        """Make the consumer the owner of the partitions, which the group's other consumers lose."""
        for topic, ranges in as_ranges(partitions).items():
            for first, last in ranges.spans:
                # A partition has one owner, and a consumer that was killed never reported that it gave it up.
                self._take(consumer.group, topic, first, last)
                self._give(consumer, topic, first, last)

    def revoke(self, consumer: ConsumerKey, partitions: ReportedPartitions) -> None:
        """Remove the partitions from the consumer; those that it does not own are ignored."""
        owned = self._by_consumer.get(consumer, {})
        for topic, ranges in as_ranges(partitions).items():
            for first, last in ranges.spans:
                for start, end, _ in owned[topic].within(first, last) if topic in owned else ():
                    self._take(consumer.group, topic, start, end)

    def release(self, consumer: ConsumerKey) -> None:
        """Remove all partitions of the consumer."""
        for topic, ranges in tuple(self._by_consumer.get(consumer, {}).items()):
            for first, last, _ in reversed(ranges[:]):  # from the end, since ranges behind a removed one are moved
                self._take(consumer.group, topic, first, last)

    def _take(self, group: str, topic: str, first: int, last: int) -> None:
        ranges = self._by_topic.get((group, topic))
        if ranges is None:
            return
        before = len(ranges)
        taken = ranges.take(first, last)
        if not taken:
            return
        for start, end, owner in taken:
            topics = self._by_consumer[owner]
            topics[topic].take(start, end)
            self._counts[owner] -= end - start + 1
            if not topics[topic]:
                del topics[topic]
                self.size_bytes -= TOPIC_BYTES + sys.getsizeof(topic)
            if not topics:
                del self._by_consumer[owner], self._counts[owner]
        self.size_bytes += RANGE_BYTES * (len(ranges) - before)
        if not ranges:
            del self._by_topic[group, topic]

    def _give(self, consumer: ConsumerKey, topic: str, first: int, last: int) -> None:
        ranges = self._by_topic.get((consumer.group, topic))
        if ranges is None:
            ranges = self._by_topic[consumer.group, topic] = OwnedRanges()
        before = len(ranges)
        if before >= TOPIC_RANGES_MAX:
            return
        ranges.give(first, last, consumer)
        topics = self._by_consumer.setdefault(consumer, {})
        if topic not in topics:
            topics[topic] = OwnedRanges()
            self.size_bytes += TOPIC_BYTES + sys.getsizeof(topic)
        topics[topic].give(first, last, None)
        self._counts[consumer] = self.count(consumer) + last - first + 1
        self.size_bytes += RANGE_BYTES * (len(ranges) - before)
