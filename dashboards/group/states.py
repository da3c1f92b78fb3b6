"""The panels on the group's states, membership and generations."""

from __future__ import annotations

from dashboards.group.queries import of
from dashboards.parts import colours
from dashboards.parts.panel import COUNT, NEUTRAL, Column, Look, Panel
from dashboards.parts.query import ONE_GROUP, Query, gauge
from rebalance_agent.ui.sentences.group_table import STATE_COLOURS

__all__ = ["MEMBERS", "RUNS", "STATE", "STATES", "TIMELINE"]

STATES = tuple((str(state), colour) for state, colour in STATE_COLOURS.items())
"""Each state and its colour. On the board, a state's number is its position in this list, starting at 1."""

STATE = " or ".join(
    f'max by (cluster, consumergroup) (kafka_rebalance_group_state{{{ONE_GROUP}, state="{state}"}} == 1) * {number}'
    for number, (state, _) in enumerate(STATES, 1)
)
TIMELINE = Panel(
    9,
    "State",
    "What state was the group in over time? **Red**: members rejoin, or the coordinator assigns. **Orange**: members "
    "wait for the assignment, or change to it. In red and orange states, partitions that move are stopped; in eager "
    "groups, all partitions are stopped. **Yellow**: the group is Empty, because it lost all its members.",
    (Query(STATE, "state"),),
    Look.STATES,
    width=9,
    thresholds=((None, NEUTRAL),),
    least=None,
    empty="no data for this group in this time range",
    mappings={str(number): state for number, state in enumerate(STATES, 1)},
)
RUNS = Panel(
    10,
    "Assignor and protocol",
    "Which assignor and protocol does the group use, and what is the source of this information? Eager assignors "
    "stop every partition in each rebalance. If **Source** is admin, the observer has no permission to read the "
    "offsets topic, so stalls are unknown. **Generation**: the number of the assignment; it grows with each "
    "rebalance, and starts at 1 again if the group is deleted and created again. **Dead letter queue**: the topic to "
    "which brokers write records that a share group rejects or fails to process.",
    (
        Query(
            gauge(
                "kafka_rebalance_group_info",
                ONE_GROUP,
                *("cluster", "group_type", "assignor", "rebalance_protocol", "source"),
            ),
            rows=True,
        ),
        Query(gauge("kafka_rebalance_generation", ONE_GROUP, "cluster"), rows=True),
        Query(gauge("kafka_rebalance_share_dead_letter_queue_info", ONE_GROUP, "cluster", "topic"), rows=True),
    ),
    Look.TABLE,
    width=15,
    empty="no data for this group",
    columns=(
        Column("assignor", "Assignor"),
        Column("rebalance_protocol", "Protocol", width=100),
        Column("group_type", "Type", width=85),
        Column("source", "Source", width=85),
        Column("Value #B", "Generation", COUNT, 0, width=95),
        Column("topic", "Dead letter queue"),
        Column("cluster", "Cluster", width=90),
    ),
)
MEMBERS = Panel(
    21,
    "Membership",
    "How did the membership change? **idle**: members without a partition that should have one. **flapping**: "
    "members that leave and return repeatedly. **deploy**: 1 while members are being replaced one by one, and for 15 "
    "minutes after that. Streams groups (KIP-1071) also have lines for tasks: active tasks, standby copies, and "
    "warm-up copies of tasks that will move.",
    (
        of("kafka_rebalance_members", "members"),
        of("kafka_rebalance_static_members", "static"),
        of("kafka_rebalance_idle_members", "idle"),
        of("kafka_rebalance_flapping_members", "flapping"),
        of("kafka_rebalance_rollout_in_progress", "deploy"),
        of("kafka_rebalance_streams_tasks", "{{kind}} tasks", "kind"),
    ),
    decimals=0,
    empty="unknown",
    colours=colours.MEMBERSHIP | colours.TASKS,
)
