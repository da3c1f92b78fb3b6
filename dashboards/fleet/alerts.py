"""Firing alerts on the Fleet board."""

from __future__ import annotations

from dashboards.fleet.queries import TO_GROUP, TO_MEMBER
from dashboards.parts.departed import departed
from dashboards.parts.panel import Column, Look, Panel
from dashboards.parts.query import GROUP, Query

__all__ = ["ALERTS", "DEPARTED"]

_LABELS = "cluster, consumergroup, alertname, severity"
_OF_GROUPS = 'alertname=~"KafkaGroup.+", severity!="info", cluster=~"$cluster", consumergroup=~"$consumergroup"'
_OF_AGENTS = 'alertname=~"RebalanceAgent.+", cluster=~"$cluster"'

ALERTS = Panel(
    23,
    "Firing alerts",
    "Which alerts of this project are firing, and for how long has their condition been true? Critical alerts come "
    "first; alerts of severity info are not shown. Clicking a group opens its board; docs/alerts.md has the first "
    "action for each alert. The table is empty unless this Prometheus evaluates the rules.",
    (
        Query(
            f"time() - max by ({_LABELS}) (ALERTS_FOR_STATE{{{_OF_GROUPS}}} or ALERTS_FOR_STATE{{{_OF_AGENTS}}}) "
            f'and on ({_LABELS}) (ALERTS{{alertstate="firing", {_OF_GROUPS}}} '
            f'or ALERTS{{alertstate="firing", {_OF_AGENTS}}})',
            rows=True,
        ),
    ),
    Look.TABLE,
    width=12,
    empty="no alerts are firing, or this Prometheus does not evaluate the rules",
    sort_up=("Severity",),
    sort_by=("For",),
    columns=(
        Column("cluster", "Cluster", width=75),
        Column("consumergroup", "Group", link=TO_GROUP),
        Column("alertname", "Alert", width=225),
        Column("severity", "Severity", width=78),
        Column("Value", "For", "s", 0, width=76),
    ),
)
DEPARTED = departed(
    27,
    GROUP,
    TO_MEMBER,
    Column("cluster", "Cluster", width=75),
    Column("consumergroup", "Group", link=TO_GROUP),
    width=12,
)
