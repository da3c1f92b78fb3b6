"""Formats the result of ``assign`` as a table for people and as rows for CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rebalance_agent.cli.output_flag import summary_text
from rebalance_agent.model.partition_ranges import ranges_text
from rebalance_agent.ui.words import printable, table_text

__all__ = ["CSV_COLUMNS", "MEANINGS", "assign_table", "csv_rows"]

CSV_COLUMNS = ("member", "topic", "partition", "part")
"""Columns of CSV; ``part`` is the key of the result under which the partition is listed."""

_PARTS = ("assignment", "revoking", "standbys")
"""Keys of a result whose values contain partitions: member -> topic -> partition numbers."""


MEANINGS = {
    "skew_ratio": "highest load of a member divided by the load that the strategy promises; 1 is best",
    "imbalance": "most partitions that a member has above its target; 0 is best",
    "spread": "highest minus lowest number of partitions of a member",
    "max_mean_ratio": "highest load of a member divided by the mean load",
    "moved": "partitions that change their owner",
    "moved_min": "fewest moves that the same balance needs",
    "unassigned": "partitions without an owner",
    "topic_spread": "number of the topic's owners divided by the possible number; 1 is best",
    "copartition_breaks": "partition numbers of co-partitioned topics that are on different members",
    "rack_misses": "partitions whose owner's rack has no replica, though another subscriber's rack has one",
    "missing_standbys": "standby copies that no member could get",
}
"""Field of `AssignmentQuality` -> its meaning, in the order of the table."""


def assign_table(result: Mapping[str, Any]) -> str:
    """Return a line with ranges of partitions for each member and topic, then the quality with the meaning of each row.

    Values that do not apply are left out.
    """
    parts = [part for part in _PARTS if part in result]
    keys = {(member, topic): None for part in parts for member, topic, _ in _entries(result, part)}
    idle = [(member, "") for member in result["assignment"] if all(member != owner for owner, _ in keys)]
    rows = [
        [member, topic, *(ranges_text(result[part].get(member, {}).get(topic, ())) for part in parts)]
        for member, topic in sorted([*keys, *idle])
    ]
    others = {name: value for name, value in result.items() if value and name not in (*_PARTS, "quality")}
    tables = [
        table_text(["MEMBER", "TOPIC", *map(str.upper, parts)], rows),
        table_text(["QUALITY", "VALUE", "MEANING"], list(_quality(result["quality"])), right=[1]),
        summary_text(others, "table") if others else "",
    ]
    return "\n\n".join(filter(None, tables))


def _quality(quality: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for name, meaning in MEANINGS.items():
        value = quality[name]
        if isinstance(value, Mapping):
            yield from ((printable(f"{name}.{key}"), _number(each), meaning) for key, each in value.items())
        elif value is not None:
            yield name, _number(value), meaning


def _number(value: float) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


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
