"""Formats the result of ``assign`` as a table for people and as rows for CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rebalance_agent.cli.output_flag import summary_text
from rebalance_agent.model.partition_ranges import ranges_text
from rebalance_agent.ui.words import table_text

__all__ = ["CSV_COLUMNS", "assign_table", "csv_rows"]

CSV_COLUMNS = ("member", "topic", "partition", "part")
"""Columns of CSV; ``part`` is the key of the result under which the partition is listed."""

_PARTS = ("assignment", "revoking", "standbys")
"""Keys of a result whose values contain partitions: member -> topic -> partition numbers."""


def assign_table(result: Mapping[str, Any]) -> str:
    """Return a line with ranges of partitions for each member and topic, and then the quality."""
    parts = [part for part in _PARTS if part in result]
    keys = {(member, topic): None for part in parts for member, topic, _ in _entries(result, part)}
    idle = [(member, "") for member in result["assignment"] if all(member != owner for owner, _ in keys)]
    rows = [
        [member, topic, *(ranges_text(result[part].get(member, {}).get(topic, ())) for part in parts)]
        for member, topic in sorted([*keys, *idle])
    ]
    others = {name: value for name, value in result.items() if name not in _PARTS}
    return f"{table_text(['MEMBER', 'TOPIC', *map(str.upper, parts)], rows)}\n\n{summary_text(others, 'table')}"


def csv_rows(result: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """Yield a row for each partition that a member gets, has to revoke, or keeps a copy of."""
    for part in _PARTS:
        for member, topic, numbers in _entries(result, part):
            for number in numbers:
                yield dict(zip(CSV_COLUMNS, (member, topic, number, part), strict=True))


def _entries(result: Mapping[str, Any], part: str) -> Iterator[tuple[str, str, Sequence[int]]]:
    for member, topics in sorted(result.get(part, {}).items()):
        for topic, numbers in sorted(topics.items()):
            if numbers:
                yield member, topic, numbers
