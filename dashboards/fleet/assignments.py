"""Assignments and members on the Fleet board."""

from __future__ import annotations

from dashboards.fleet.queries import BY_PARTITIONS, LINE_TO_GROUP, NAME, SKEW, lately
from dashboards.parts import colours
from dashboards.parts.goals import SHARES
from dashboards.parts.panel import Look, Panel
from dashboards.parts.query import GROUP, Query, gauge, was_highest, worst

__all__ = ["MEMBERS", "MOVES", "SKEWS"]

SKEWS = Panel(
    13,
    "Skew by group",
    "Which groups have an uneven assignment? Each line is the load of the most loaded member divided by its share "
    "under the group's strategy: 1 is best; 2 means that a member has twice its share. The ten groups with the "
    "highest skew are shown.",
    (Query(worst(10, gauge(SKEW, BY_PARTITIONS), was_highest(SKEW, BY_PARTITIONS)), NAME),),
    width=7,
    thresholds=SHARES,
    decimals=2,
    least=1,
    empty="no groups observed",
    links=(LINE_TO_GROUP,),
)
MOVES = Panel(
    14,
    "Moved partitions",
    "How many partitions changed owner, and how many of these moves were unnecessary? **excess**: moves above the "
    "minimum for the new balance; a sticky strategy has almost no excess moves.",
    (
        Query(
            f"sum({lately('kafka_rebalance_partitions_moved_total')}) "
            f"- sum({lately('kafka_rebalance_partitions_moved_excess_total')})",
            "needed",
        ),
        Query(
            f"sum({lately('kafka_rebalance_partitions_moved_excess_total')})",
            "excess",
        ),
    ),
    Look.COUNTS,
    empty="no groups observed",
    colours=colours.MOVES,
)
MEMBERS = Panel(
    17,
    "Members",
    "How many members are there, and how many are idle? **idle**: members without a partition, although their "
    "strategy should give them one; the group has more members than partitions, or its assignor is uneven. "
    "**static**: members with a group.instance.id.",
    (
        Query(f"sum({gauge('kafka_rebalance_members', GROUP)})", "members"),
        Query(f"sum({gauge('kafka_rebalance_static_members', GROUP)})", "static"),
        Query(f"sum({gauge('kafka_rebalance_idle_members', GROUP)})", "idle"),
    ),
    decimals=0,
    width=7,
    empty="no groups observed",
    colours=colours.MEMBERSHIP,
)
