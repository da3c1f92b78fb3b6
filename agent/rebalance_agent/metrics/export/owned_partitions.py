"""Stores which consumer of a group owns which partitions, as bits, at a cost proportional to the size of an event.

The partitions of a topic are split into chunks of `CHUNK` numbers. In each chunk, a consumer's partitions are the bits
of one integer, so one operation moves all partitions of a chunk from one owner to another, isolated or not.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from rebalance_agent.model.partition_ranges import PartitionRanges, ReportedPartitions, as_ranges, joined_spans

__all__ = ["CHUNK", "CHUNK_BYTES", "TOPIC_BYTES", "ConsumerKey", "OwnedPartitions"]

CHUNK = 512
"""Partition numbers in a chunk.

An event reads all owners in its chunks. So the bound is also the maximum number of these owners: 30 µs of work.
"""

TOPIC_BYTES = 500
"""Bytes that a topic of a consumer takes in addition to its name and chunks."""

CHUNK_BYTES = 700
"""Bytes that a chunk takes for each of its owners: the entries of both indexes, and the bits."""


class ConsumerKey(NamedTuple):
    """One consumer: a client id in a group in one process."""

    process: str
    group: str
    client_id: str


class OwnedPartitions:
    """The partitions of all consumers. A partition has at most one owner in each group.

    ``size_bytes``: the memory of the topics and chunks.
    """

    def __init__(self) -> None:
        """Start without partitions."""
        self.size_bytes = 0
        self._bits: dict[tuple[str, str, int], dict[ConsumerKey, int]] = {}
        self._chunks: dict[ConsumerKey, dict[str, set[int]]] = {}
        self._counts: dict[ConsumerKey, int] = {}

    def count(self, consumer: ConsumerKey) -> int:
        """Return the number of the consumer's partitions."""
        return self._counts.get(consumer, 0)

    def first_ranges(self, consumer: ConsumerKey, most: int) -> dict[str, PartitionRanges]:
        """Return at most the first ``most`` ranges of the consumer, with topics in the order of their names."""
        owned = self._chunks.get(consumer, {})
        shown: dict[str, PartitionRanges] = {}
        for topic in sorted(owned):
            if most <= 0:
                break
            spans = list(islice(joined_spans(self._spans(consumer, topic)), most))
            shown[topic] = PartitionRanges.of_spans(spans)
            most -= len(spans)
        return shown

    def assign(self, consumer: ConsumerKey, partitions: ReportedPartitions) -> None:
        """Make the consumer the owner of the partitions, which the group's other consumers lose."""
        for topic, ranges in as_ranges(partitions).items():
            for chunk, bits in _chunks(ranges.spans):
                # A partition has one owner, and a consumer that was killed never reported that it gave it up.
                owners = self._bits.get((consumer.group, topic, chunk), {})
                for owner, owned in [(owner, owned) for owner, owned in owners.items() if owned & bits]:
                    self._set(owner, topic, chunk, owned & ~bits)
                self._set(consumer, topic, chunk, owners.get(consumer, 0) | bits)

    def revoke(self, consumer: ConsumerKey, partitions: ReportedPartitions) -> None:
        """Remove the partitions from the consumer; those that it does not own are ignored."""
        for topic, ranges in as_ranges(partitions).items():
            for chunk, bits in _chunks(ranges.spans) if topic in self._chunks.get(consumer, ()) else ():
                if owned := self._bits.get((consumer.group, topic, chunk), {}).get(consumer, 0):
                    self._set(consumer, topic, chunk, owned & ~bits)

    def release(self, consumer: ConsumerKey) -> None:
        """Remove all partitions of the consumer."""
        for topic, chunks in tuple(self._chunks.get(consumer, {}).items()):
            for chunk in tuple(chunks):
                self._set(consumer, topic, chunk, 0)

    def _spans(self, consumer: ConsumerKey, topic: str) -> Iterator[tuple[int, int]]:
        for chunk in sorted(self._chunks[consumer][topic]):
            yield from _spans(chunk, self._bits[consumer.group, topic, chunk][consumer])

    def _set(self, consumer: ConsumerKey, topic: str, chunk: int, bits: int) -> None:
        """Replace the consumer's partitions of a chunk."""
        key = consumer.group, topic, chunk
        before = self._bits.get(key, {}).get(consumer, 0)
        self._counts[consumer] = self.count(consumer) + bits.bit_count() - before.bit_count()
        if bits:
            self._bits.setdefault(key, {})[consumer] = bits
            if not before:
                self._add(consumer, topic, chunk)
        elif before:
            del self._bits[key][consumer]
            if not self._bits[key]:
                del self._bits[key]
            self._remove(consumer, topic, chunk)

    def _add(self, consumer: ConsumerKey, topic: str, chunk: int) -> None:
        topics = self._chunks.setdefault(consumer, {})
        if topic not in topics:
            topics[topic] = set()
            self.size_bytes += TOPIC_BYTES + sys.getsizeof(topic)
        topics[topic].add(chunk)
        self.size_bytes += CHUNK_BYTES

    def _remove(self, consumer: ConsumerKey, topic: str, chunk: int) -> None:
        topics = self._chunks[consumer]
        topics[topic].remove(chunk)
        self.size_bytes -= CHUNK_BYTES
        if not topics[topic]:
            del topics[topic]
            self.size_bytes -= TOPIC_BYTES + sys.getsizeof(topic)
        if not topics:
            del self._chunks[consumer], self._counts[consumer]


def _chunks(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Return ascending ranges as the bits of chunks: (number of the chunk, bits that are not 0)."""
    chunk, start, end, bits = -1, -1, -1, 0  # ``start`` and ``end``: the chunk's first number, and the next chunk's
    for span_first, last in spans:
        first = span_first
        while True:
            if first >= end:
                if bits:
                    yield chunk, bits
                chunk, bits = first // CHUNK, 0
                start = chunk * CHUNK
                end = start + CHUNK
            if last < end:
                bits |= (2 << last - first) - 1 << first - start
                break
            bits |= (1 << end - first) - 1 << first - start
            first = end
    if bits:
        yield chunk, bits


def _spans(chunk: int, bits: int) -> Iterator[tuple[int, int]]:
    first = chunk * CHUNK
    while bits:
        zeros = (bits & -bits).bit_length() - 1
        first, bits = first + zeros, bits >> zeros
        ones = (~bits & bits + 1).bit_length() - 1
        yield first, first + ones - 1
        first, bits = first + ones, bits >> ones
