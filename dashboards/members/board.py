"""The Members board: its variables, rows, links and annotations."""

from __future__ import annotations

from dashboards.members.clients import COMMITS, IDLE, LIBRARIES, POLLS, REBALANCES
from dashboards.members.each import AGAIN, COUNTS, EACH, GENERATION, PARTITIONS
from dashboards.members.leaders import ASSIGN, ERRORS, SKEW
from dashboards.members.numbers import NUMBERS
from dashboards.members.share_groups import ACKNOWLEDGED, DELIVERED
from dashboards.members.waits import CALLBACKS, CALLS, PHASES, STALLS
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
from dashboards.parts.variables import cluster, instance, job, some_groups, some_members

__all__ = ["MEMBERS"]

MEMBERS = Board(
    MEMBERS_UID,
    "Kafka rebalances / Members",
    "What consumers report through sidecars and gateways: callbacks, stalls, steps of a rebalance, records read twice.",
    (
        cluster("kafka_rebalance_member_generation"),
        job("kafka_rebalance_member_generation", "sidecars and gateways"),
        instance("kafka_rebalance_member_generation"),
        some_groups("kafka_rebalance_member_generation"),
        some_members("kafka_rebalance_member_generation"),
    ),
    (
        Row(3, NUMBERS[:3]),
        Row(3, NUMBERS[3:]),
        Row(9, (CALLBACKS, STALLS, PHASES), "Where members wait"),
        Row(9, (COUNTS, AGAIN), "Costs of rebalances"),
        Row(9, (EACH,), "Each member"),
        Row(9, (PARTITIONS, GENERATION, CALLS)),
        Row(9, (LIBRARIES,), "Measured by clients"),
        Row(9, (REBALANCES, POLLS)),
        Row(9, (IDLE, COMMITS)),
        Row(9, (ASSIGN, ERRORS, SKEW), "Leaders"),
        Row(9, (DELIVERED, ACKNOWLEDGED), "Share groups"),
    ),
    (
        leads_to(FLEET_UID, "Fleet"),
        leads_to(SERVICE_UID, "Service"),
        leads_to(GROUP_UID, "Group", "consumergroup"),
        leads_to(AGENT_UID, "Agent"),
    ),
    (
        Annotation(
            "Rebalances",
            # Observers export this metric, but this board's jobs are those of sidecars and gateways.
            "max by (cluster, consumergroup) (kafka_rebalance_last_completed_timestamp_seconds"
            '{cluster=~"$cluster", consumergroup=~"$consumergroup"}) * 1000',
            "Rebalance",
            "{{consumergroup}}",
            "blue",
            on=False,  # hidden initially: marks of a group with many rebalances would cover the panels
        ),
    ),
)
