"""Computes the table of groups as plain values, for the live table and for plain text. Pure."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rebalance_agent.api.query import GroupQuery
from rebalance_agent.api.shapes import GroupList, GroupSummary
from rebalance_agent.model.group import SETTLED, GroupState
from rebalance_agent.tracking.patterns.group_stalls import Limit
from rebalance_agent.ui.sentences.empty_text import empty_text, gaps_text, urgency
from rebalance_agent.ui.sentences.group_stall import stall_limit
from rebalance_agent.ui.sentences.storms import is_storm, rebalances_lately
from rebalance_agent.ui.words import UNKNOWN, duration, printable, shortened, stall_text, table_text

__all__ = [
    "COLUMNS",
    "STATE_COLOURS",
    "TableColumn",
    "WatchRow",
    "empty_lines",
    "group_rows",
    "groups_text",
    "matching",
    "text_without_rebalance",
    "urgent_lines",
]


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column: its heading, the API's name for sorting by it, and whether it is aligned to the right."""

    title: str
    sort: str
    right: bool = False


COLUMNS = (
    TableColumn("group", "group"),
    TableColumn("state", "state"),
    TableColumn("running", "running", right=True),
    TableColumn("last stall", "stall", right=True),
    TableColumn("rebalances", "rebalances", right=True),
    TableColumn("last trigger", "trigger"),
    TableColumn("members", "members", right=True),
    TableColumn("partitions", "partitions", right=True),
    TableColumn("skew", "skew", right=True),
    TableColumn("gen", "generation", right=True),
    TableColumn("type", "type"),
)
"""Rebalances and stalls come first: on a terminal of 80 columns the last columns are off the screen."""

EMPTY_LINES_MAX = 3
"""Maximum number of groups without members that get a line above the table; the table itself has all of them, as its
first rows. The same limit applies to lines about groups with gaps in their assignment."""

_STATE = 1
"""Index of the column of states."""

STATE_COLOURS: Mapping[GroupState, str] = {
    GroupState.STABLE: "green",
    GroupState.PREPARING_REBALANCE: "red",
    GroupState.COMPLETING_REBALANCE: "orange",
    GroupState.ASSIGNING: "red",
    GroupState.RECONCILING: "orange",
    GroupState.NOT_READY: "purple",
    GroupState.EMPTY: "yellow",
}
"""Colours of states here and on the boards, with Grafana's names; those of settled states are also terminal colours.

Red and orange: members wait. Yellow: no member consumes, which is a warning for a group that had members.
"""

_STATES = {str(state): STATE_COLOURS[state] for state in SETTLED}
"""Style of a settled state. Rows of other states have the style of a running rebalance."""


@dataclass(frozen=True, slots=True)
class WatchRow:
    """One group: ``cells`` under `COLUMNS`, safe to print; ``running``: whether it is rebalancing now.

    ``empty``: a sentence about a group that recently lost all its members; otherwise empty. ``gaps``: a sentence about
    partitions without an owner and broken co-partitioning; otherwise empty. ``stall``: the highest limit that a stall
    of the group has reached. ``storm``: whether the group rebalances repeatedly.
    """

    group: str
    cells: tuple[str, ...]
    running: bool
    empty: str = ""
    stall: Limit | None = None
    storm: bool = False
    gaps: str = ""

    @property
    def styles(self) -> tuple[str, ...]:
        """Return the style of each cell on a terminal, with the names of `rich`."""
        if self.empty or self.stall is Limit.CRITICAL:
            return ("bold red",) * len(self.cells)
        if self.running or self.storm:
            return ("bold yellow",) * len(self.cells)
        return tuple(_STATES.get(cell, "") if index == _STATE else "" for index, cell in enumerate(self.cells))


def group_rows(groups: GroupList, sort: str = "group") -> list[WatchRow]:
    """Return rows ordered by ``sort`` (an order of the API, reversed by a leading ``-``).

    First come groups that recently lost all their members. Then come groups whose stall has reached the
    critical limit, then those past the warning limit, then storms, then other rebalancing groups.
    """
    ordered = GroupQuery(sort=sort).ordered(list(groups.groups))

    def place(group: GroupSummary) -> tuple[int, int, bool, bool]:
        stall = (Limit.CRITICAL, Limit.WARNING, None).index(stall_limit(group, groups.now_ms))
        return -urgency(group, groups.now_ms), stall, not _storm(group, groups.now_ms), group.running is None

    return [_row(group, groups.now_ms) for group in sorted(ordered, key=place)]


def matching(rows: Sequence[WatchRow], text: str) -> list[WatchRow]:
    """Return rows whose group name contains ``text`` or matches the shell pattern ``text``; case is ignored."""
    if not text:
        return list(rows)
    pattern = text if re.search(r"[*?\[]", text) else f"*{text}*"
    matches = re.compile(fnmatch.translate(pattern), re.IGNORECASE).match
    return [row for row in rows if matches(row.group)]


def groups_text(rows: Sequence[WatchRow]) -> str:
    """Return the rows as aligned text with headings, below the lines of `urgent_lines`."""
    right = {index for index, column in enumerate(COLUMNS) if column.right}
    table = table_text([column.title.upper() for column in COLUMNS], [row.cells for row in rows], right)
    return "\n".join([*urgent_lines(rows), table])


def urgent_lines(rows: Sequence[WatchRow]) -> list[str]:
    """Return lines about groups that recently lost all their members, and about gaps in other groups' assignments."""
    gaps = [f"{row.cells[0]}: {row.gaps}" for row in rows if row.gaps]
    return [*empty_lines(rows), *_first(gaps, "with gaps in its assignment", "with gaps in their assignments")]


def empty_lines(rows: Sequence[WatchRow]) -> list[str]:
    """Return a line for each of the first `EMPTY_LINES_MAX` groups that recently lost all their members."""
    return _first([f"{row.cells[0]}: {row.empty}" for row in rows if row.empty], "is Empty", "are Empty")


def _first(lines: list[str], one: str, several: str) -> list[str]:
    """Return the first `EMPTY_LINES_MAX` lines, and a line with the number of further groups."""
    left_out = len(lines) - EMPTY_LINES_MAX
    more = f"and {left_out} more groups {several}" if left_out > 1 else f"and 1 more group {one}"
    return [*lines[:EMPTY_LINES_MAX], *([more] if left_out > 0 else [])]


def text_without_rebalance(group: GroupSummary, none: str) -> str:
    """Return the text for a group of which no rebalance has settled: ``none``, unless one has completed."""
    return none if group.unsettled_ms is None else "settling"


def _row(group: GroupSummary, now_ms: int) -> WatchRow:
    last, storm = group.last, _storm(group, now_ms)
    cells = (
        printable(shortened(group.group)),
        f"{group.state}, storm" if storm else group.state,
        duration(max(0, now_ms - group.running.started_ms) / 1000) if group.running else UNKNOWN,
        stall_text(last.stall) if last else text_without_rebalance(group, UNKNOWN),
        str(group.rebalances),
        last.trigger if last else text_without_rebalance(group, UNKNOWN),
        str(group.members),
        _number(group.partitions),
        UNKNOWN if group.skew_ratio is None else f"{group.skew_ratio:.2f}",
        _number(group.generation),
        group.group_type if group.source != "admin" else f"{group.group_type} (polled)",
    )
    empty = empty_text(group, now_ms) if urgency(group, now_ms) else ""
    stall = stall_limit(group, now_ms)
    running, gaps = group.running is not None, gaps_text(group)
    return WatchRow(group.group, tuple(map(str, cells)), running, empty, stall, storm, gaps)


def _storm(group: GroupSummary, now_ms: int) -> bool:
    return is_storm(group, rebalances_lately(group, now_ms))


def _number(value: int | None) -> str:
    return UNKNOWN if value is None else str(value)
