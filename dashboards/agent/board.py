"""The Agent board: its variables, rows, links and annotations."""

from __future__ import annotations

from dashboards.agent.events import EVENTS, REFUSED, UNREAD
from dashboards.agent.gateways import CONNECTIONS, COST, DELAY, FRAMES, SEATS, VACANT
from dashboards.agent.health import BUILDS, DEGRADED, READY, SHARE
from dashboards.agent.kafka import BYTES, LAG, POLLS, PROBLEMS, READ, SNAPSHOTS
from dashboards.agent.numbers import NUMBERS
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
from dashboards.parts.query import ROLE
from dashboards.parts.variables import cluster, instance, job

__all__ = ["AGENT"]

AGENT = Board(
    AGENT_UID,
    "Kafka rebalances / Agent",
    "State of the agents: observers, sidecars and gateways.",
    (
        cluster("rebalance_agent_build_info"),
        job("rebalance_agent_build_info", "agents"),
        instance("rebalance_agent_build_info"),
    ),
    (
        Row(4, NUMBERS),
        Row(12, (READY, BUILDS), "Parts, modes, limits"),
        Row(9, (DEGRADED, SHARE)),
        Row(9, (LAG, POLLS, READ), "Kafka"),
        Row(9, (BYTES, SNAPSHOTS, PROBLEMS)),
        Row(9, (EVENTS, UNREAD, REFUSED), "Events, skipped data, rejected requests"),
        Row(9, (CONNECTIONS, DELAY, FRAMES), "Gateways"),
        Row(9, (SEATS, COST, VACANT)),
    ),
    (
        leads_to(FLEET_UID, "Fleet"),
        leads_to(SERVICE_UID, "Service"),
        leads_to(GROUP_UID, "Group"),
        leads_to(MEMBERS_UID, "Members"),
    ),
    (
        Annotation(
            "Takeovers and reconnects",
            f"sum by (instance) (increase(rebalance_agent_ownership_changes_total{{{ROLE}}}[$__rate_interval])) > 0 "
            f"or sum by (instance) (increase(rebalance_agent_reconnects_total{{{ROLE}}}[$__rate_interval])) > 0",
            "Takeover or reconnect",
            "{{instance}}",
            "purple",
            on=True,
            moments=False,
        ),
    ),
)
