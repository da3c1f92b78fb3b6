"""The Service board: its variables, rows, links and annotations."""

from __future__ import annotations

from dataclasses import replace

from dashboards.fleet.advice import SAVINGS, TOTAL_SAVINGS
from dashboards.fleet.alerts import ALERTS
from dashboards.fleet.lag import CATCHING_UP, LAG_AGES, LAGS, TOPIC_LAGS
from dashboards.fleet.rebalances import STALL, STANDING, TRIGGERS
from dashboards.parts.annotations import deploys
from dashboards.parts.board import (
    AGENT_UID,
    FLEET_UID,
    GROUP_UID,
    MEMBERS_UID,
    SERVICE_UID,
    Board,
    leads_to,
)
from dashboards.parts.grid import Row
from dashboards.parts.variables import ACROSS, cluster, groups_like, instance, job
from dashboards.service.deploys import DEPLOYS
from dashboards.service.objective import BURN, NUMBERS, WHICH

__all__ = ["SERVICE"]

SERVICE = Board(
    SERVICE_UID,
    "Kafka rebalances / Service",
    "The groups of one service, for its owner: objective, error budget, deploys, lag. Click a group to open its board.",
    (
        cluster("kafka_rebalance_group_info"),
        job("kafka_rebalance_group_info", "observers"),
        instance("kafka_rebalance_group_info"),
        groups_like(".+"),
        ACROSS,
    ),
    (
        Row(4, NUMBERS),
        Row(10, (WHICH,)),
        Row(8, (BURN, ALERTS), "Objective and alerts"),
        Row(8, (DEPLOYS, TRIGGERS), "Deploys and other causes"),
        Row(8, (STANDING, replace(STALL, width=12)), "Stalls"),
        Row(8, (LAG_AGES, LAGS, CATCHING_UP, TOPIC_LAGS), "Lag"),
        Row(7, (TOTAL_SAVINGS, replace(SAVINGS, width=14)), "Recommended changes"),
    ),
    (
        leads_to(FLEET_UID, "Fleet", "job", "across"),
        leads_to(GROUP_UID, "Group", "job", "across"),
        leads_to(MEMBERS_UID, "Members"),
        leads_to(AGENT_UID, "Agent"),
    ),
    (deploys(on=True),),
    since="now-24h",
    refresh="1m",
)
