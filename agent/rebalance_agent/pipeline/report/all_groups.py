"""Renders the table of all groups, and the groups' names and recommendations for both parts of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from rebalance_agent.pipeline.report.charts import spark
from rebalance_agent.pipeline.report.report_rows import GroupKey, GroupRow, ReportData
from rebalance_agent.ui.svg.pieces import trigger_name
from rebalance_agent.ui.words import DASH, TIMES, count, escaped, percent, rounded_duration, shortened

__all__ = ["group_name", "group_table", "recommended_words"]

_HEADS = (
    ("group", "text", "its id"),
    ("type", "text", "group type and assignor"),
    ("members", "number", "at its last generation"),
    ("rebalances", "number", "in the whole period"),
    ("stall", "number", f"partitions {TIMES} time without a consumer (lower bound)"),
    ("over time", "", "stall in each period"),
    ("availability", "number", "share of partition-time with a working consumer"),
    ("stall p95", "number", "of the longest stall of a partition in each rebalance (lower bound)"),
    ("skew", "number", "worst ratio of a member's load to the load that the strategy guarantees; 1 is best"),
    ("mostly", "text", "the most frequent trigger"),
    ("would save", "number", "stall that the recommendation would save"),
    ("with", "text", "the recommendation"),
)
"""For each column its heading, how it is sorted ("" if it cannot be sorted), and its tooltip."""


def group_table(report: ReportData, anchors: Mapping[GroupKey, str]) -> str:
    """Render a table that users can sort and filter: one row for each group, the most expensive groups first."""
    heads = "".join(
        f'<th scope="col" title="{escaped(title)}">'
        + (f'<button type="button" data-sort="{kind}">{escaped(words)}</button>' if kind else escaped(words))
        + "</th>"
        for words, kind, title in _HEADS
    )
    body = "".join(_line(report, row, anchors) for row in report.groups)
    left = (report.groups_in_all or len(report.groups)) - len(report.groups)
    more = f"<p>{left:,} groups with less stall are not shown.</p>" if left > 0 else ""
    return (
        '<section id="groups"><h2>All groups</h2>'
        '<p><label for="wanted">Show only groups with </label><input id="wanted" type="search" autocomplete="off">'
        ' <span id="found" role="status"></span></p>'
        f'<div class="scroll"><table id="all-groups" class="sortable"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>{more}</section>"
    )


class _Clusters(Protocol):
    """A report of some clusters' groups."""

    @property
    def clusters(self) -> Sequence[str]: ...


def group_name(report: _Clusters, key: GroupKey) -> str:
    """Return a group's name, with the group's cluster id if the report has several clusters."""
    return f"{shortened(key[1])} @ {shortened(key[0], 24)}" if len(report.clusters) > 1 else shortened(key[1])


def recommended_words(row: GroupRow) -> str:
    """Return the recommended strategy and ``static members``, whichever apply, as short text."""
    chosen = [shortened(row.recommended, 40)] if row.recommended else []
    return " + ".join([*chosen, "static members"] if row.static_membership else chosen) or DASH


def _line(report: ReportData, row: GroupRow, anchors: Mapping[GroupKey, str]) -> str:
    kind = f"{row.group_type} · {shortened(row.assignor, 40)}" if row.assignor else row.group_type
    cells: tuple[tuple[str, float | None], ...] = (
        (escaped(kind), None),
        (count(row.members), row.members),
        (count(row.rebalances), row.rebalances),
        (rounded_duration(row.stalled_partition_seconds), row.stalled_partition_seconds),
        (spark(row.costs), None),
        (percent(row.availability, 2), -1 if row.availability is None else row.availability),
        (rounded_duration(row.stall_p95), row.stall_p95 or -1),
        (DASH if row.skew_max is None else f"{row.skew_max:.2f}", row.skew_max or -1),
        (escaped(trigger_name(row.trigger).partition(" (")[0]) if row.trigger else DASH, None),
        (rounded_duration(row.saved_partition_seconds or 0), row.saved_partition_seconds or 0),
        (escaped(recommended_words(row)), None),
    )
    rest = "".join(
        f"<td>{shown}</td>" if value is None else f'<td data-v="{value:.6g}">{shown}</td>' for shown, value in cells
    )
    name = escaped(group_name(report, row.key))
    link = f'<a href="#{anchors[row.key]}">{name}</a>' if row.key in anchors else f"<span>{name}</span>"
    return f'<tr><th scope="row">{link}</th>{rest}</tr>'
