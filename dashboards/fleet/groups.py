"""The tables of the Fleet board: the groups with the highest costs, and the assignors of all groups."""

from __future__ import annotations

from dashboards.fleet.findings import GRAVEST
from dashboards.fleet.queries import (
    COMPLETED,
    GRAVITY,
    NOT_THE_FIRST,
    RUNNING,
    RUNS,
    STALLED,
    STALLED_UPPER,
    TO_GROUP,
    TRIGGER,
    WHOLE,
)
from dashboards.parts.goals import AVAILABILITY, DURATION
from dashboards.parts.panel import COUNT, Column, Look, Panel
from dashboards.parts.query import GROUP, Query, count_in, gauge, times_in

__all__ = ["MOSTLY", "RUN", "WHICH"]

MOSTLY = (
    f"topk by (cluster, consumergroup) (1, ({times_in(COMPLETED, NOT_THE_FIRST, *TRIGGER)} > 0) "
    f"* on (trigger) group_left () ({GRAVITY}))"
)
"""The most frequent trigger of each group; if triggers are about equally frequent, the most serious trigger."""

WHICH = Panel(
    7,
    "Most expensive groups, and why",
    "Which groups lost the most partition-time, and why? **Lost**: stalled partition-seconds (lower bound); ten "
    "partitions that are stalled for a minute are 10 min. **At most**: the upper bound, if known; if a killed member "
    "did not report, only the upper bound includes the time until its session ended. **Main trigger**: the most "
    "frequent trigger; if several triggers are about equally frequent, the most serious of them, because a member "
    "that fails also joins again. **Mean stall**: the mean of the longest stalls of rebalances (lower bound). "
    "**Slowest member**: the member for which the other members waited longest, even if the coordinator removed this "
    "member. **Waited**: how long the other members waited. **Running**: age of the running rebalance. **Other "
    "problem**: the most serious of these problems: a stuck rebalance, no members, a storm, failed rebalances, "
    "members removed because they were too slow, flapping members, an uneven assignment, idle members, excess moves. "
    "Clicking a group opens its board.",
    (
        Query(count_in(STALLED, GROUP), rows=True),
        Query(f"1 - {count_in(STALLED, GROUP)} / {count_in(WHOLE, GROUP)}", rows=True),
        Query(f"{times_in(COMPLETED, GROUP)}", rows=True),
        Query(MOSTLY, rows=True),
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
        Query(count_in(STALLED_UPPER, GROUP), rows=True),
        Query(RUNNING, rows=True),
        Query(GRAVEST, rows=True),
    ),
    Look.TABLE,
    width=24,
    empty="no groups observed",
    sort_by=("Lost",),
    columns=(
        Column("cluster", "Cluster", width=75),
        Column("consumergroup", "Group", link=TO_GROUP),
        Column("Value #A", "Lost", "s", 1, width=80),
        Column("Value #G", "At most", "s", 1, width=80),
        Column("Value #B", "Availability", "percentunit", 2, AVAILABILITY, width=108),
        Column("Value #C", "Rebalances", decimals=0, unit=COUNT, width=92),
        Column("trigger", "Main trigger", width=156),
        Column("Value #E", "Mean stall", "s", 1, width=92),
        Column("client_id", "Slowest member", width=126),
        Column("Value #F", "Waited", "s", 1, width=70),
        Column("Value #H", "Running", "s", 0, DURATION, width=75),
        Column("finding", "Other problem", width=120),
    ),
)
RUN = Panel(
    18,
    "Assignors and protocols",
    "Which assignors and protocols are in use? Eager groups stop all partitions in every rebalance. If Source is "
    "admin, the observer has no permission to read the offsets topic, so stalls and causes are unknown.",
    (
        Query(
            f"count by ({', '.join(RUNS)}) "
            f"({gauge('kafka_rebalance_group_info', GROUP, 'cluster', 'consumergroup', *RUNS)})",
            rows=True,
        ),
    ),
    Look.TABLE,
    width=10,
    empty="no groups observed",
    sort_by=("Groups",),
    columns=(
        Column("assignor", "Assignor"),
        Column("rebalance_protocol", "Protocol", width=90),
        Column("group_type", "Type", width=80),
        Column("source", "Source", width=85),
        Column("Value", "Groups", COUNT, 0, width=70),
    ),
)
