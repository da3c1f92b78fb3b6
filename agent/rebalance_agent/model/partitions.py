"""Partitions by topic, and the compact text form ``0-4,7`` of partition numbers.

With ranges, a generation of 2,000 members fits into one message and stays readable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from rebalance_agent.errors import DecodeError

__all__ = [
    "CLAIMS_MAX",
    "PARTITION_MAX",
    "RANGE_TEXT_MAX",
    "TopicPartitions",
    "beyond",
    "claimed_partitions",
    "count_partitions",
    "existing",
    "existing_partitions",
    "from_ranges",
    "pairs",
    "pairs_of",
    "partitions_read",
    "range_spans",
    "shared_set",
    "to_ranges",
    "together",
    "topic_partitions",
]

TopicPartitions = Mapping[str, tuple[int, ...]]
"""Topic -> partition numbers in ascending order. Topics without partitions are left out."""

PARTITION_MAX = 1_000_000
"""Upper bound of partition numbers (exclusive), above any Kafka topic's: bounds the memory that a range can claim."""

CLAIMS_MAX = 100_000
"""Maximum number of partitions that the members of one group may claim together: up to three seconds of work. A record
has room for 250,000."""

RANGE_TEXT_MAX = 8_000_000
"""Maximum number of characters of one text of ranges: a million single numbers. A longer text is rejected before it is
split."""

_SHORT_TEXT_MAX = 32
_SHORT_TEXTS_MAX = 4_096
"""Parsed texts in the cache. Each has at most `_SHORT_TEXT_MAX` characters; events of a group repeat the same few."""

_TOPICS_MAX = 128
_PAIRS_MAX = 1_000
"""Maximum number of topics, and of partitions of each, whose pairs are shared (`pairs_of`): about 20 MB."""

_SHARED_SET_MAX = 128
"""Maximum number of partitions of a set that is shared (`shared_set`): 4 MB for all sets."""


def topic_partitions(pairs: Iterable[tuple[str, int]]) -> dict[str, tuple[int, ...]]:
    """Group (topic, partition) pairs by topic; topics and partitions are sorted, duplicates removed."""
    by_topic: dict[str, set[int]] = {}
    for topic, partition in pairs:
        by_topic.setdefault(topic, set()).add(partition)
    return {topic: tuple(sorted(by_topic[topic])) for topic in sorted(by_topic)}


def pairs(partitions: Mapping[str, Sequence[int]]) -> set[tuple[str, int]]:
    """Return the partitions as a set of (topic, partition)."""
    return {pair for topic, numbers in partitions.items() for pair in pairs_of(topic, numbers)}


def beyond(partitions: TopicPartitions, others: TopicPartitions) -> TopicPartitions:
    """Return the ``partitions`` that are not among the ``others``. A topic with equal numbers costs one comparison."""
    found: dict[str, tuple[int, ...]] = {}
    for topic, numbers in partitions.items():
        if (other := others.get(topic)) is None:
            found[topic] = numbers
        elif other != numbers and (left := set(numbers).difference(other)):
            found[topic] = tuple(sorted(left))
    return found


def together(partitions: TopicPartitions, others: TopicPartitions) -> TopicPartitions:
    """Return the partitions that are among the ``partitions`` or the ``others``, by topic in order."""
    both = {topic: {*partitions.get(topic, ()), *numbers} for topic, numbers in others.items()}
    return {
        topic: tuple(sorted(both[topic])) if topic in both else partitions[topic]
        for topic in sorted({*partitions, *both})
    }


def pairs_of(topic: str, numbers: Sequence[int]) -> Iterable[tuple[str, int]]:
    """Return (topic, partition) for each of the ``numbers``, in their order; for most topics always the same objects.

    Thousands of groups keep such pairs for minutes, each of its last generations; a pair takes 56 bytes.
    """
    if len(numbers) == 1:  # thousands of topics with one partition would replace all others
        return ((topic, numbers[0]),)
    known = _pairs_of_topics.get(topic)
    if known is None:
        if len(_pairs_of_topics) >= _TOPICS_MAX:
            _pairs_of_topics.clear()
        known = _pairs_of_topics[topic] = _Pairs(topic)
    return map(known.__getitem__, numbers)


class _Pairs(dict[int, tuple[str, int]]):
    """The pairs of one topic by partition number; they are created when they are first needed. Thread-safe."""

    def __init__(self, topic: str) -> None:
        super().__init__()
        self._topic = topic

    def __missing__(self, number: int) -> tuple[str, int]:
        pair = (self._topic, number)
        return self.setdefault(number, pair) if len(self) < _PAIRS_MAX else pair


_pairs_of_topics: dict[str, _Pairs] = {}


def shared_set(partitions: frozenset[tuple[str, int]]) -> frozenset[tuple[str, int]]:
    """Return an equal set; for a small set, always the same object: a group often gets the same partitions again."""
    return _shared_set(partitions) if len(partitions) <= _SHARED_SET_MAX else partitions


@lru_cache(500)
def _shared_set(partitions: frozenset[tuple[str, int]]) -> frozenset[tuple[str, int]]:
    return partitions


def existing(numbers: Sequence[int]) -> tuple[int, ...]:
    """Return the ascending ``numbers`` that partitions can have: those from 0 to `PARTITION_MAX` - 1.

    Members write these numbers, and a claim to an impossible partition is not ownership. Such a number could be written
    as a range, but not read back.
    """
    if numbers and (numbers[0] < 0 or numbers[-1] >= PARTITION_MAX):
        return tuple(number for number in numbers if 0 <= number < PARTITION_MAX)
    return tuple(numbers)


def existing_partitions(by_topic: Mapping[str, Sequence[int]]) -> dict[str, tuple[int, ...]]:
    """Return the `existing` numbers of each topic's ascending numbers, without topics that have none."""
    return {topic: some for topic, numbers in by_topic.items() if (some := existing(numbers))}


def partitions_read(
    tasks: Mapping[str, Iterable[int]], topics_of: Callable[[str], Iterable[str]], count_of: Callable[[str], int]
) -> TopicPartitions:
    """Return the partitions that tasks read: of each topic of a subtopology, the partition with the task's number.

    ``tasks``: subtopology -> numbers. ``topics_of``: the topics of a subtopology. ``count_of``: the number of a topic's
    partitions; 0 if it is not known: then the topic has a partition for each task. A number beyond the counts of all
    topics of a subtopology belongs to topics that have grown since they were counted.
    """
    numbers: dict[str, set[int]] = {}
    for subtopology, task_numbers in tasks.items():
        counts = {topic: count_of(topic) for topic in topics_of(subtopology)}
        if len(counts) == 1:  # the topic has all numbers
            numbers.setdefault(next(iter(counts)), set()).update(task_numbers)
            continue
        count_max = max(counts.values(), default=0)
        for topic, count in counts.items():
            numbers.setdefault(topic, set()).update(
                number for number in task_numbers if number < count or number >= count_max or not count
            )
    return {topic: tuple(sorted(numbers[topic])) for topic in sorted(numbers) if numbers[topic]}


def count_partitions(partitions: Mapping[str, Sequence[int]]) -> int:
    """Return the number of partitions over all topics."""
    return sum(map(len, partitions.values()))


def to_ranges(numbers: Iterable[int]) -> str:
    """Write ascending partition numbers as ``0-4,7``; no numbers give an empty string."""
    parts: list[str] = []
    first = last = -1
    for number in numbers:
        if first >= 0 and number == last + 1:
            last = number
            continue
        if first >= 0:
            parts.append(f"{first}-{last}" if last > first else str(first))
        first = last = number
    if first >= 0:
        parts.append(f"{first}-{last}" if last > first else str(first))
    return ",".join(parts)


def claimed_partitions(text: str) -> int:
    """Return how many partitions a text of ranges contains, without expanding them.

    Raises: DecodeError: see `from_ranges`.
    """
    return sum(last - first + 1 for first, last in range_spans(text))


def from_ranges(text: str) -> tuple[int, ...]:
    """Read the partition numbers that `to_ranges` wrote.

    Raises:
        DecodeError: the text is not ascending ranges of partition numbers below `PARTITION_MAX`.
    """
    return tuple(number for first, last in range_spans(text) for number in range(first, last + 1))


def range_spans(text: str) -> Iterable[tuple[int, int]]:
    """Return the ranges of a text as (first, last), both included.

    Raises: DecodeError: see `from_ranges`; it is raised while the ranges are read.
    """
    return _short_spans(text) if len(text) <= _SHORT_TEXT_MAX else _read_spans(text)


@lru_cache(_SHORT_TEXTS_MAX)
def _short_spans(text: str) -> tuple[tuple[int, int], ...]:
    return tuple(_read_spans(text))


def _read_spans(text: str) -> Iterator[tuple[int, int]]:
    if len(text) > RANGE_TEXT_MAX:
        raise DecodeError(f"partition ranges of {len(text)} characters are more than {RANGE_TEXT_MAX}")
    previous = -1
    for part in text.split(",") if text else ():
        first_text, dash, last_text = part.partition("-")
        try:
            first = _number(first_text)
            last = _number(last_text) if dash else first
        except ValueError:
            raise DecodeError(f"{part[:40]!r} is not a partition range such as 0-4 or 7") from None
        if not previous < first <= last < PARTITION_MAX:
            raise DecodeError(f"{part[:40]!r} is out of order or beyond partition {PARTITION_MAX}")
        yield first, last
        previous = last


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(PARTITION_MAX))):
        raise ValueError(text)
    return int(text)
