"""The Fleet board: its variables, rows, links and annotations."""

from __future__ import annotations

from dashboards.fleet.advice import SAVINGS
from dashboards.fleet.alerts import ALERTS, DEPARTED
from dashboards.fleet.assignments import MEMBERS, MOVES, SKEWS
from dashboards.fleet.groups import RUN, WHICH
from dashboards.fleet.lag import CATCHING_UP, EMPTY, LAGS, TOPIC_LAGS
from dashboards.fleet.numbers import NUMBERS
from dashboards.fleet.rebalances import AGES, FAILED, PHASES, STALL, STANDING, STORMS, TRIGGERS
from dashboards.parts.annotations import deploys
from dashboards.parts.board import (
    AGENT_UID,
    FLEET_UID,
    GROUP_UID,
    MEMBERS_UID,
    SERVICE_UID,
    Annotation,
    Board,
    leads_to,
)
from dashboards.parts.grid import Row
from dashboards.parts.query import GROUP, gauge
from dashboards.parts.variables import ACROSS, cluster, instance, job, some_groups

__all__ = ["FLEET"]

FLEET = Board(
    FLEET_UID,
    "Kafka rebalances / Fleet",
    "Which consumer groups have the highest rebalance costs, and why. Clicking a group opens its board.",
    (
        cluster("kafka_rebalance_group_info"),
        job("kafka_rebalance_group_info", "observers"),
        instance("kafka_rebalance_group_info"),
        some_groups("kafka_rebalance_group_info"),
        ACROSS,
    ),
    (
        Row(4, NUMBERS),
        Row(10, (WHICH,)),
        Row(8, (ALERTS, DEPARTED), "Alerts, and members that cause rebalances"),
        Row(8, (STANDING, TRIGGERS), "Stalls and their causes"),
        Row(9, (STALL, AGES, STORMS)),
        Row(9, (PHASES, MOVES, FAILED)),
        Row(8, (SKEWS, MEMBERS, RUN), "Assignments and members"),
        Row(8, (EMPTY, LAGS, CATCHING_UP, TOPIC_LAGS), "Groups without members, and lag"),
        Row(6, (SAVINGS,), "Recommended changes"),
    ),
    (
        leads_to(GROUP_UID, "Group", "job", "across"),
        leads_to(SERVICE_UID, "Service", "job", "across"),
        leads_to(MEMBERS_UID, "Members"),
        leads_to(AGENT_UID, "Agent"),
    ),
    (
        Annotation(
            "Rebalances",
            f"{gauge('kafka_rebalance_last_completed_timestamp_seconds', GROUP)} * 1000",
            "Rebalance",
            "{{consumergroup}}",
            "blue",
            on=False,  # hidden initially: marks of all groups would cover the panels
        ),
        deploys(on=False),
    ),
)
