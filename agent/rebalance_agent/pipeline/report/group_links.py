"""Renders the names of groups and the links to their charts, for both parts of the page."""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_agent.pipeline.report.report_rows import GroupKey, ReportData
from rebalance_agent.ui.words import escaped, shortened

__all__ = ["group_link", "group_name"]


def group_link(report: ReportData, key: GroupKey, anchors: Mapping[GroupKey, str]) -> str:
    """Return a group's name as HTML, linked to its charts if it has any."""
    shown = escaped(group_name(report, key))
    return f'<a href="#{anchors[key]}">{shown}</a>' if key in anchors else f"<span>{shown}</span>"


def group_name(report: ReportData, key: GroupKey) -> str:
    """Return a group's name, with its cluster id if the report has several clusters."""
    clusters = {each.cluster_id for each in report.groups}
    return shortened(key[1]) if len(clusters) < 2 else f"{shortened(key[1])} @ {shortened(key[0], 24)}"  # noqa: PLR2004 - several
