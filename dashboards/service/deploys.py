"""The panels on rebalances during and outside deploys, on the Service board."""

from __future__ import annotations

from dashboards.fleet.queries import COMPLETED, lately
from dashboards.parts import colours
from dashboards.parts.panel import Look, Panel
from dashboards.parts.query import GROUP, Query, gauge

__all__ = ["DEPLOYS"]

_DEPLOYED = f"{gauge('kafka_rebalance_rollout_in_progress', GROUP)} == 1"

DEPLOYS = Panel(
    25,
    "Rebalances in and outside deploys",
    "Do deploys cause the rebalances? **in a deploy**: rebalances while members of the group were being replaced one "
    "by one without failures, or up to 15 minutes after that. **other**: all other rebalances, including the first "
    "rebalances of a deploy, before the deploy is detected. Each bar counts the rebalances that ended since the "
    "previous bar.",
    (
        Query(f"sum({lately(COMPLETED)} and on (cluster, consumergroup) ({_DEPLOYED})) > 0", "in a deploy"),
        Query(f"sum({lately(COMPLETED)} unless on (cluster, consumergroup) ({_DEPLOYED})) > 0", "other"),
    ),
    Look.COUNTS,
    width=12,
    empty="no rebalances in this time range",
    colours=colours.DEPLOYS,
)
