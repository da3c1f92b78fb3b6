"""The tables of the board Fleet: which groups hurt, and what groups run."""

from __future__ import annotations

from dashboards.fleet.queries import (
    BY_PARTITIONS,
    COMPLETED,
    NOT_THE_FIRST,
    RUNNING,
    RUNS,
    SKEW,
    STALLED,
    STALLED_UPPER,
    TO_GROUP,
    TRIGGER,
    WHOLE,
)
from dashboards.parts.goals import AVAILABILITY, DURATION, SHARES
from dashboards.parts.panel import Column, Look, Panel, above
from dashboards.parts.query import GROUP, Query, count_in, gauge, times_in

__all__ = ["RUN", "WHICH"]

WHICH = Panel(
    7,
    "Which groups hurt, and why",
    "Which groups lost the most partition-time, and why? The highest loss is first. Columns from left to right: lost "
    "partition-seconds (ten partitions for a minute are 10 min), as lower bound and at most (upper bound, where "
    "known), number of rebalances and their most frequent trigger, mean of the longest stall (lower bound), the "
    "slowest member, and the quality of the assignment: skew, needless moves, flapping and idle members. The most "
    "frequent trigger is not always the one with the highest cost: a click on a group opens its board.",
    (
        Query(count_in(STALLED, GROUP), rows=True),
        Query(f"1 - {count_in(STALLED, GROUP)} / {count_in(WHOLE, GROUP)}", rows=True),
        Query(f"{times_in(COMPLETED, GROUP)}", rows=True),
        Query(
            f"topk by (cluster, consumergroup) (1, {times_in(COMPLETED, NOT_THE_FIRST, *TRIGGER)} > 0)",
            rows=True,
        ),
        Query(
            f"{count_in('kafka_rebalance_stall_seconds_sum', GROUP, across='sum')} "
            f"/ ({count_in('kafka_rebalance_stall_seconds_count', GROUP, across='sum')} > 0)",
            rows=True,
        ),
        Query(
            "topk by (cluster, consumergroup) (1, max by (cluster, consumergroup, client_id) "
            f"(max_over_time(kafka_rebalance_slowest_member_seconds{{{GROUP}}}[$__range])))",
            rows=True,
        ),
        Query(gauge(SKEW, BY_PARTITIONS), rows=True),
        Query(f"{times_in('kafka_rebalance_partitions_moved_excess_total', GROUP)}", rows=True),
        Query(f"{times_in('kafka_rebalance_failed_total', GROUP)}", rows=True),
        Query(gauge("kafka_rebalance_flapping_members", GROUP), rows=True),
        Query(gauge("kafka_rebalance_idle_members", GROUP), rows=True),
        Query(RUNNING, rows=True),
        Query(count_in(STALLED_UPPER, GROUP), rows=True),
    ),
    Look.TABLE,
    width=24,
    empty="no group is watched",
    sort_by="Partition time lost",
    columns=(
        Column("cluster", "Cluster", width=110),
        Column("consumergroup", "Group", link=TO_GROUP, width=220),
        Column("Value #A", "Partition time lost", "s", 1, width=150),
        Column("Value #M", "At most", "s", 1, width=90),
        Column("Value #B", "Availability", "percentunit", 2, AVAILABILITY, width=110),
        Column("Value #C", "Rebalances", "short", 0, width=105),
        Column("trigger", "Most often because of", width=170),
        Column("Value #E", "Mean stall", "s", 1, above(10, 60), width=100),
        Column("client_id", "Slowest member", width=170),
        Column("Value #F", "It took", "s", 1, above(10, 60), width=90),
        Column("Value #G", "Skew", "short", 2, SHARES, width=80),
        Column("Value #H", "Needless moves", "short", 0, above(1), width=130),
        Column("Value #I", "Failed", "short", 0, above(1, 3), width=80),
        Column("Value #J", "Flapping", "short", 0, above(1), width=90),
        Column("Value #K", "Idle", "short", 0, above(1), width=70),
        Column("Value #L", "Running for", "s", 0, DURATION, width=110),
    ),
)
RUN = Panel(
    18,
    "What groups run",
    "Which assignors and protocols are in use? Eager groups stop all partitions in every rebalance. Source admin: "
    "the observer has no right to read the offsets topic, so stalls and causes are unknown.",
    (
        Query(
            f"count by ({', '.join(RUNS)}) "
            f"({gauge('kafka_rebalance_group_info', GROUP, 'cluster', 'consumergroup', *RUNS)})",
            rows=True,
        ),
    ),
    Look.TABLE,
    empty="no group is watched",
    sort_by="Groups",
    columns=(
        Column("assignor", "Assignor"),
        Column("rebalance_protocol", "Protocol", width=110),
        Column("group_type", "Type", width=90),
        Column("source", "Known by", width=90),
        Column("Value", "Groups", "short", 0, width=80),
    ),
)
