"""The table of groups as plain values: the live view and the plain text are drawn from the same rows. Pure."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass

from rebalance_agent.api.query import GroupQuery
from rebalance_agent.api.shapes import GroupList, GroupSummary
from rebalance_agent.ui.words import UNKNOWN, duration, printable, stall_text

__all__ = ["COLUMNS", "TableColumn", "WatchRow", "group_rows", "matching", "table_text"]


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A heading, and the API's name for the order by it; numbers stand to the right."""

    title: str
    sort: str
    right: bool = False


COLUMNS = (
    TableColumn("group", "group"),
    TableColumn("state", "state"),
    TableColumn("type", "type"),
    TableColumn("gen", "generation", right=True),
    TableColumn("members", "members", right=True),
    TableColumn("partitions", "partitions", right=True),
    TableColumn("skew", "skew", right=True),
    TableColumn("running", "running", right=True),
    TableColumn("last stall", "stall", right=True),
    TableColumn("rebalances", "rebalances", right=True),
    TableColumn("last trigger", "trigger"),
)


@dataclass(frozen=True, slots=True)
class WatchRow:
    """One group: ``cells`` under `COLUMNS`, safe to print; ``running``: it rebalances now."""

    group: str
    cells: tuple[str, ...]
    running: bool


def group_rows(groups: GroupList, sort: str = "group") -> list[WatchRow]:
    """Rows in order of ``sort`` (one of the API's, ``-`` in front turns it around); what rebalances now is on top."""
    ordered = GroupQuery(sort=sort).ordered(list(groups.groups))
    ordered.sort(key=lambda each: each.running is None)
    return [_row(each, groups.now_ms) for each in ordered]


def matching(rows: Sequence[WatchRow], wanted: str) -> list[WatchRow]:
    """Rows whose group's name has ``wanted`` in it, or matches it where it is a shell pattern; letters of any case."""
    if not wanted:
        return list(rows)
    pattern = wanted if re.search(r"[*?\[]", wanted) else f"*{wanted}*"
    matches = re.compile(fnmatch.translate(pattern), re.IGNORECASE).match
    return [row for row in rows if matches(row.group)]


def table_text(rows: Sequence[WatchRow]) -> str:
    """The table in columns, headings first."""
    lines = [tuple(column.title.upper() for column in COLUMNS), *(row.cells for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column.right else cell.ljust(width)
            for column, cell, width in zip(COLUMNS, line, widths, strict=True)
        ).rstrip()
        for line in lines
    )


def _row(each: GroupSummary, now_ms: int) -> WatchRow:
    last = each.last
    cells = (
        printable(each.group),
        each.state,
        each.group_type if each.source != "admin" else f"{each.group_type} (polled)",
        _number(each.generation),
        str(each.members),
        _number(each.partitions),
        UNKNOWN if each.skew_ratio is None else f"{each.skew_ratio:.2f}",
        duration(max(0, now_ms - each.running.started_ms) / 1000) if each.running else UNKNOWN,
        stall_text(last.stall) if last else UNKNOWN,
        str(each.rebalances),
        last.trigger if last else UNKNOWN,
    )
    return WatchRow(each.group, tuple(map(str, cells)), each.running is not None)


def _number(value: int | None) -> str:
    return UNKNOWN if value is None else str(value)
