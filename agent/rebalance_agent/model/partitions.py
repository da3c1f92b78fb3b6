"""Sets of partitions by topic, and their compact text form ``0-4,7``.

Ranges keep a generation of 2,000 members small enough for one message, and readable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from rebalance_agent.errors import DecodeError

__all__ = [
    "PARTITION_MAX",
    "RANGE_TEXT_MAX",
    "TopicPartitions",
    "claimed_partitions",
    "count_partitions",
    "existing",
    "from_ranges",
    "pairs",
    "to_ranges",
    "topic_partitions",
]

TopicPartitions = Mapping[str, tuple[int, ...]]
"""Topic -> partition numbers in ascending order. A topic without partitions is left out."""

PARTITION_MAX = 1_000_000
"""More partitions than any Kafka topic has: a range beyond it is an attack or a mistake, not an assignment."""

_RANGE_MAX = 2 * len(str(PARTITION_MAX)) + 1  # characters of one range; a longer one is none

RANGE_TEXT_MAX = 8_000_000
"""Characters of one range text: a million single numbers. Longer text is refused before it is split."""

_SHORT_TEXT_MAX = 32
_SHORT_TEXTS_MAX = 4_096
"""So many texts of so few characters are kept as read: a group's events say the same few again and again."""


def topic_partitions(pairs: Iterable[tuple[str, int]]) -> dict[str, tuple[int, ...]]:
    """Group (topic, partition) pairs by topic; topics and partitions come out sorted, duplicates once."""
    by_topic: dict[str, set[int]] = {}
    for topic, partition in pairs:
        by_topic.setdefault(topic, set()).add(partition)
    return {topic: tuple(sorted(by_topic[topic])) for topic in sorted(by_topic)}


def pairs(partitions: TopicPartitions) -> set[tuple[str, int]]:
    """The same partitions as a set of (topic, partition)."""
    return {(topic, number) for topic, numbers in partitions.items() for number in numbers}


def existing(numbers: Sequence[int]) -> tuple[int, ...]:
    """Of ascending ``numbers`` those that a partition can have: whoever claims others owns nothing by it.

    What holds others could be written as ranges, and read back by nobody.
    """
    if numbers and (numbers[0] < 0 or numbers[-1] >= PARTITION_MAX):
        return tuple(number for number in numbers if 0 <= number < PARTITION_MAX)
    return tuple(numbers)


def count_partitions(partitions: TopicPartitions) -> int:
    """How many partitions there are over all topics."""
    return sum(map(len, partitions.values()))


def to_ranges(numbers: Iterable[int]) -> str:
    """Write ascending partition numbers as ``0-4,7``; nothing is the empty text."""
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
    """How many partitions a text of ranges speaks of, without writing them out.

    Raises:
        DecodeError: as `from_ranges`.
    """
    return sum(last - first + 1 for first, last in _spans(text))


def from_ranges(text: str) -> tuple[int, ...]:
    """Read what `to_ranges` wrote.

    Raises:
        DecodeError: the text is not ascending ranges of partition numbers below `PARTITION_MAX`.
    """
    return tuple(number for first, last in _spans(text) for number in range(first, last + 1))


def _spans(text: str) -> Iterable[tuple[int, int]]:
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
