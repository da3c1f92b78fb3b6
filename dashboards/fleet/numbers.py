"""The numbers at the top of the Fleet board."""

from __future__ import annotations

from dashboards.fleet.findings import STUCK
from dashboards.fleet.queries import COMPLETED, RUNNING, STALLED, WHOLE
from dashboards.parts.goals import AVAILABILITY, GOAL, MARGIN
from dashboards.parts.panel import Look, Panel, above
from dashboards.parts.query import GROUP, Query, count_in, gauge, times_in

__all__ = ["NUMBERS"]

NUMBERS = (
    Panel(
        1,
        "Groups",
        "How many consumer groups are observed? 0 means that no observer is scraped: see the Agent board.",
        (Query(f"count({gauge('kafka_rebalance_group_info', GROUP)})", now=True),),
        Look.NUMBER,
        width=4,
        empty="no observer is scraped",
    ),
    Panel(
        2,
        "Availability",
        "What share of partition-seconds was without a stall? The number is 1 minus the ratio of stalled "
        "partition-seconds (lower bound) to all partition-seconds, in the time range and for all groups. The alerts' "
        f"objective is {GOAL}.",
        (
            Query(
                f"1 - sum({count_in(STALLED, GROUP)}) / sum({count_in(WHOLE, GROUP)})",
                now=True,
            ),
        ),
        Look.NUMBER,
        unit="percentunit",
        width=4,
        thresholds=AVAILABILITY,
        decimals=2,
        most=1,
        empty="no partitions observed",
    ),
    Panel(
        3,
        "Stuck now",
        f"How many rebalances have been running for longer than their members' rebalance timeout plus {MARGIN} s? "
        "They do not end without action. The table below shows the groups.",
        (
            Query(
                f"sum({STUCK} > bool {MARGIN})",
                now=True,
            ),
        ),
        Look.NUMBER,
        width=4,
        thresholds=above(bad=1),
        empty="no groups observed",
    ),
    Panel(
        4,
        "Rebalancing",
        "How many groups are rebalancing now? If there are many groups, a few running rebalances are normal.",
        (Query(f"sum({RUNNING} > bool 0)", now=True),),
        Look.NUMBER,
        width=4,
        empty="no groups observed",
    ),
    Panel(
        5,
        "Rebalances",
        "How many rebalances ended in the time range? A cooperative rebalance with its follow-ups counts once.",
        (Query(f"sum({times_in(COMPLETED, GROUP)})", now=True),),
        Look.NUMBER,
        width=4,
        decimals=0,
        empty="no groups observed",
    ),
    Panel(
        6,
        "No owner",
        "How many subscribed partitions have no owner now? During a rebalance, some partitions without an owner are "
        "normal. At other times, no consumer reads these partitions. Groups without members are counted for a day, "
        "unless they are in empty_groups_allow.",
        (
            Query(
                f"sum({gauge('kafka_rebalance_partitions_unassigned', GROUP)} "
                f"and ({gauge('kafka_rebalance_members', GROUP)} > 0 "
                f"or {gauge('kafka_rebalance_group_empty_seconds', GROUP)} > 0 < 86400) or 0 * {RUNNING})",
                now=True,
            ),
        ),
        Look.NUMBER,
        width=4,
        thresholds=above(bad=1),
        empty="no groups observed",
    ),
)
