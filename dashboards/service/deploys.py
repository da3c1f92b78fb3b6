"""Rebalances of deploys, and the others, on the board Service."""

from __future__ import annotations

from dashboards.fleet.queries import COMPLETED, lately
from dashboards.parts import colours
from dashboards.parts.panel import Look, Panel
from dashboards.parts.query import GROUP, Query, gauge

__all__ = ["DEPLOYS"]

_DEPLOYED = f"{gauge('kafka_rebalance_rollout_in_progress', GROUP)} == 1"

DEPLOYS = Panel(
    25,
    "Rebalances in deploys, and others",
    "Do deploys cause the rebalances? in a deploy: rebalances of groups whose members were being replaced one by one, "
    "or had been within 15 minutes before, while nothing failed; otherwise: all others. Each bar counts the rebalances "
    "that ended since the previous bar. The first ones of a deploy, before it is recognised, are among the others.",
    (
        Query(f"sum({lately(COMPLETED)} and on (cluster, consumergroup) ({_DEPLOYED})) > 0", "in a deploy"),
        Query(f"sum({lately(COMPLETED)} unless on (cluster, consumergroup) ({_DEPLOYED})) > 0", "otherwise"),
    ),
    Look.COUNTS,
    width=12,
    empty="no rebalance in this time",
    colours=colours.DEPLOYS,
)
