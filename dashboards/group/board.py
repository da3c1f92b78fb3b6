"""The Group board: its variables, rows, links and annotations."""

from __future__ import annotations

from dashboards.group.assignments import LOADS, OWNERS, SKEWS, TOPICS, UNEVEN
from dashboards.group.lag import UNREAD
from dashboards.group.numbers import NUMBERS
from dashboards.group.queries import STALLED
from dashboards.group.rebalances import DEPARTED, FOR_NOTHING, MOVES, PHASES, SLOWEST, STALLS, STANDING, TRIGGERS
from dashboards.group.states import MEMBERS, RUNS, TIMELINE
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
from dashboards.parts.query import ONE_GROUP, gauge
from dashboards.parts.variables import ACROSS, cluster, instance, job, one_group

__all__ = ["ONE"]

ONE = Board(
    GROUP_UID,
    "Kafka rebalances / Group",
    "One consumer group: states, triggers, stalls and their phases, moves, and the balance of its assignment.",
    (
        cluster("kafka_rebalance_group_info"),
        job("kafka_rebalance_group_info", "observers"),
        instance("kafka_rebalance_group_info"),
        one_group("kafka_rebalance_group_info", STALLED),
        ACROSS,
    ),
    (
        Row(3, NUMBERS[:4]),
        Row(3, NUMBERS[4:]),
        Row(6, (TIMELINE, RUNS)),
        Row(9, (TRIGGERS, STALLS, STANDING), "Rebalances: causes and cost"),
        Row(9, (SLOWEST, DEPARTED, FOR_NOTHING), "Members that delay or cause rebalances"),
        Row(9, (LOADS, OWNERS), "Assignment"),
        Row(9, (MOVES, SKEWS, UNEVEN)),
        Row(8, (MEMBERS, TOPICS, PHASES), "Members, topics, phases"),
        Row(8, (UNREAD,), "Lag"),
    ),
    (
        leads_to(FLEET_UID, "Fleet", "job", "across"),
        leads_to(SERVICE_UID, "Service", "job", "across"),
        leads_to(MEMBERS_UID, "Members", "consumergroup"),
        leads_to(AGENT_UID, "Agent"),
    ),
    (
        Annotation(
            "Rebalances",
            f"{gauge('kafka_rebalance_last_completed_timestamp_seconds', ONE_GROUP)} * 1000",
            "Rebalance",
            "{{consumergroup}}",
            "blue",
            on=False,  # hidden initially: marks of a group with many rebalances would cover the panels
        ),
        deploys(ONE_GROUP, on=True),
    ),
)
