"""Partition numbers that stay ranges in memory, for partitions that members and sidecars claim.

A claim such as ``0-99999`` has seven characters. As numbers it would take 4 MB, so a few posts could fill the memory of
a process that keeps them. As ranges it takes as many bytes as its text.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import overload

from rebalance_agent.model.partitions import range_spans, to_ranges

__all__ = [
    "PartitionRanges",
    "ReportedPartitions",
    "among",
    "as_ranges",
    "joined_spans",
    "ranges_text",
]


class PartitionRanges(Sequence[int]):
    """Ascending partition numbers, kept as the text of their ranges (``text``: ``0-4,7``). Immutable.

    It equals every sequence of the same numbers.
    """

    __slots__ = ("_count", "text")

    def __init__(self, text: str) -> None:
        """Keep ``text``, which `to_ranges` wrote.

        Raises:
            DecodeError: the text is not ascending ranges of partition numbers.
        """
        self.text = text
        self._count = sum(last - first + 1 for first, last in range_spans(text))

    @classmethod
    def of(cls, numbers: Iterable[int]) -> PartitionRanges:
        """Return ascending ``numbers`` as ranges."""
        return numbers if isinstance(numbers, PartitionRanges) else cls(to_ranges(numbers))

    @classmethod
    def of_spans(cls, spans: Iterable[tuple[int, int]]) -> PartitionRanges:
        """Return ascending ranges (first, last), which may touch each other but do not overlap."""
        joined = joined_spans(spans)
        return cls(",".join(str(first) if first == last else f"{first}-{last}" for first, last in joined))

    @property
    def spans(self) -> Iterable[tuple[int, int]]:
        """The ranges as (first, last), both included, in ascending order."""
        return range_spans(self.text)

    def spans_up_to(self, number: int) -> Iterable[tuple[int, int]]:
        """Return the ranges that begin at ``number`` at most, at no cost for the others."""
        starts_max = number + 1
        return (
            span for span in range_spans(",".join(self.text.split(",", starts_max)[:starts_max])) if span[0] <= number
        )

    def __len__(self) -> int:
        """Return the number of partition numbers, not of ranges."""
        return self._count

    def __iter__(self) -> Iterator[int]:
        """Yield the numbers in ascending order."""
        for first, last in self.spans:
            yield from range(first, last + 1)

    def __contains__(self, number: object) -> bool:
        """Whether ``number`` is in one of the ranges."""
        return isinstance(number, int) and any(first <= number <= last for first, last in self.spans)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[int, ...]: ...
    def __getitem__(self, index: int | slice) -> int | tuple[int, ...]:
        """Return the number at ``index``, or those of a slice."""
        return tuple(self)[index]

    def __eq__(self, other: object) -> bool:
        """Whether ``other`` is a sequence of the same numbers."""
        if isinstance(other, PartitionRanges):
            return self.text == other.text or _merged(self) == _merged(other)
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(int.__eq__, self, other))

    def __hash__(self) -> int:
        """Return the hash of the tuple with the same numbers."""
        return hash(tuple(self))

    def __repr__(self) -> str:
        """Return the ranges, as in events."""
        return f"PartitionRanges({self.text!r})"


ReportedPartitions = Mapping[str, Sequence[int]]
"""Topic -> ascending partition numbers that a member claims; decoded ones stay `PartitionRanges`."""


def ranges_text(numbers: Sequence[int]) -> str:
    """Return ascending numbers as the text of their ranges."""
    return numbers.text if isinstance(numbers, PartitionRanges) else to_ranges(numbers)


def as_ranges(partitions: ReportedPartitions) -> dict[str, PartitionRanges]:
    """Return the partitions as ranges by topic; topics without partitions are left out."""
    return {topic: PartitionRanges.of(numbers) for topic, numbers in partitions.items() if numbers}


def among(partitions: ReportedPartitions, wanted: Mapping[str, Sequence[int]]) -> set[tuple[str, int]]:
    """Return as (topic, partition) those ``partitions`` that are in ``wanted``, which has ascending numbers by topic.

    The cost grows with ``wanted`` and with the ranges of its topics. Other claims have no cost, since their numbers are
    never created.
    """
    topics = partitions.keys() & wanted.keys()
    return {(topic, number) for topic in topics for number in _common(partitions[topic], wanted[topic])}


def _common(numbers: Sequence[int], wanted: Sequence[int]) -> Iterator[int]:
    if not isinstance(numbers, PartitionRanges):
        yield from set(numbers).intersection(wanted)
        return
    start = 0
    for first, last in numbers.spans_up_to(wanted[-1] if wanted else -1):
        start = bisect_left(wanted, first, start)
        end = bisect_right(wanted, last, start)
        yield from wanted[start:end]
        start = end


def _merged(ranges: PartitionRanges) -> str:
    """Return the text of the ranges in which ranges that touch each other are one."""
    return PartitionRanges.of_spans(ranges.spans).text


def joined_spans(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Join ascending ranges (first, last) that touch each other."""
    before: tuple[int, int] | None = None
    for first, last in spans:
        if before and before[1] == first - 1:
            before = before[0], last
            continue
        if before:
            yield before
        before = first, last
    if before:
        yield before
