"""Formats decoded records for ``decode --output``, each as soon as it is read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rebalance_agent.cli.output_flag import as_text, csv_lines
from rebalance_agent.ui.words import moment, printable

__all__ = ["CSV_COLUMNS", "record_texts"]

CSV_COLUMNS = (
    "record_timestamp",
    "record_partition",
    "record_offset",
    "kind",
    "group",
    "generation",
    "epoch",
    "assignment_epoch",
    "member_epoch",
    "member_id",
    "members",
    "protocol",
    "state",
    "topic",
    "partition",
    "offset",
    "tombstone",
    "error",
)
"""Columns of CSV; ``members`` is the number of members. JSON and YAML have all fields."""

_FIRST = ("record_timestamp", "kind", "group")
"""Fields that have a column in a line of the table; the other fields follow as ``name=value``."""

_TIME_WIDTH = 27  # 2026-11-21 14:02:11.352 UTC
_KIND_WIDTH = 41  # the longest kind


def record_texts(records: Iterable[Mapping[str, Any]], form: str) -> Iterator[str]:
    """Yield the lines or documents to print, in the chosen form, for objects of `record_json`."""
    if form == "csv":
        yield from csv_lines(CSV_COLUMNS, map(_counted, records))
        return
    for record in records:
        if form == "json":
            yield json.dumps(record, separators=(",", ":"))
        elif form == "yaml":
            yield f"---\n{as_text(record, form)}"
        else:
            yield _table_line(_counted(record))


def _counted(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record with the number of members in place of the members."""
    return {**record, "members": len(record["members"])} if "members" in record else dict(record)


def _table_line(record: Mapping[str, Any]) -> str:
    at_ms, *names = (record.get(name, "") for name in _FIRST)
    at, (kind, group) = moment(at_ms) if isinstance(at_ms, int) else "", (printable(str(name)) for name in names)
    others = [
        f"{name}={printable(str(record[name]))}"
        for name in CSV_COLUMNS
        if name not in _FIRST and record.get(name) not in (None, "")
    ]
    return f"{at:{_TIME_WIDTH}}  {kind:{_KIND_WIDTH}}  {group}  {' '.join(others)}".rstrip()
