"""Links to groups, which both halves of the page have."""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_agent.pipeline.report.report_rows import GroupKey, ReportData
from rebalance_agent.ui.words import escaped, shortened

__all__ = ["group_link", "group_name"]


def group_link(report: ReportData, key: GroupKey, anchors: Mapping[GroupKey, str]) -> str:
    """A group's name, leading to its pictures where it has any."""
    shown = escaped(group_name(report, key))
    return f'<a href="#{anchors[key]}">{shown}</a>' if key in anchors else f"<span>{shown}</span>"


def group_name(report: ReportData, key: GroupKey) -> str:
    """A group's name, with its cluster where there are several."""
    clusters = {each.cluster_id for each in report.groups}
    return shortened(key[1]) if len(clusters) < 2 else f"{shortened(key[1])} @ {shortened(key[0], 24)}"  # noqa: PLR2004 - several
