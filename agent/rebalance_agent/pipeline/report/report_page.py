"""Renders the report as one HTML page that loads nothing else."""

from __future__ import annotations

from rebalance_agent.pipeline.report.all_groups import group_table
from rebalance_agent.pipeline.report.fleet_part import fleet_section, tiles
from rebalance_agent.pipeline.report.group_part import group_section
from rebalance_agent.pipeline.report.report_rows import DETAILS_MAX, GROUPS_MAX, ReportData
from rebalance_agent.pipeline.report.self_contained import self_contained
from rebalance_agent.ui.svg.assets import asset
from rebalance_agent.ui.words import escaped, minute, shortened

__all__ = ["page"]

_CLUSTERS_SHOWN = 3


def page(report: ReportData) -> str:
    """Return the report as HTML.

    The page does not load any other file, and only its own script can run.

    Raises:
        ValueError: the report has more than `GROUPS_MAX` groups.
    """
    style = f"{asset('look.css')}\n{asset('report.css', __package__)}"
    script = f"{asset('tips.js')}\n{asset('report.js', __package__)}"
    if len(report.groups) > GROUPS_MAX:
        raise ValueError(f"a report must have at most {GROUPS_MAX} groups, not {len(report.groups)}")
    details = [detail for detail in report.details[:DETAILS_MAX] if detail.key in report.by_key]
    anchors = {detail.key: f"group-{number}" for number, detail in enumerate(details, 1)}
    groups = "".join(
        group_section(report, report.by_key[detail.key], detail, anchors[detail.key], shown=index == 0)
        for index, detail in enumerate(details)
    )
    where = ", ".join(shortened(cluster_id, 40) for cluster_id in report.clusters[:_CLUSTERS_SHOWN])
    where += " …" if len(report.clusters) > _CLUSTERS_SHOWN else ""
    made = f", made {minute(report.made_at)}" if report.made_at else ""
    shown = f"{minute(report.since)} to {minute(report.until)} UTC · cluster {where or 'unknown'}{made}"
    header = (
        '<a class="skip" href="#groups">Skip to the table of all groups</a>'
        f"<header><h1>What rebalances cost</h1><p>{escaped(shown)}</p>"
        '<nav><a href="#fleet">The fleet</a><a href="#groups">All groups</a>'
        '<a href="#details">The worst groups</a></nav></header>'
    )
    main = (
        f"<main>{tiles(report)}{fleet_section(report)}{group_table(report, anchors)}"
        f'<section id="details"><h2>The worst groups</h2>{groups or "<p>There is no group.</p>"}</section></main>'
    )
    return self_contained("What rebalances cost", f"{header}{main}", style=style, script=script)
