"""Lag, and groups without members, on the Fleet board."""

from __future__ import annotations

from dashboards.fleet.queries import LINE_TO_GROUP, NAME
from dashboards.parts.panel import Panel, above
from dashboards.parts.query import GROUP, Query, gauge, was_highest, worst

__all__ = [
    "CATCHING",
    "CATCHING_UP",
    "EMPTY",
    "EMPTY_AGE",
    "GROUP_LAG",
    "GROUP_LAG_AGE",
    "LAGS",
    "LAG_AGES",
    "TOPIC_LAGS",
]

EMPTY_AGE = "kafka_rebalance_group_empty_seconds"
EMPTY = Panel(
    19,
    "Groups without members",
    "Which groups have lost all their members, and when? A rising line is such a group; the ten groups that have been "
    "empty longest are shown. Groups in empty_groups_allow are left out.",
    (Query(worst(10, f"({gauge(EMPTY_AGE, GROUP)} > 0)", was_highest(EMPTY_AGE, GROUP)), NAME),),
    unit="s",
    width=6,
    thresholds=above(60, 300),
    empty="no group has lost all its members",
    links=(LINE_TO_GROUP,),
)
GROUP_LAG = "kafka_rebalance_group_lag_offsets"
LAGS = Panel(
    20,
    "Lag by group",
    "Which groups are behind, and by how many offsets? In share groups, the lag is the number of records that are "
    "neither acknowledged nor archived. The ten groups with the most lag are shown, among the groups in lag_groups.",
    (Query(worst(10, gauge(GROUP_LAG, GROUP), was_highest(GROUP_LAG, GROUP)), NAME),),
    width=6,
    decimals=0,
    empty="lag_groups matches no groups",
    links=(LINE_TO_GROUP,),
)
GROUP_LAG_AGE = "kafka_rebalance_group_lag_seconds"
LAG_AGES = Panel(
    26,
    "Lag age by group",
    "How old is the oldest record that each group has not read yet? The ten groups with the oldest records are "
    "shown, among the groups in lag_groups.",
    (Query(worst(10, gauge(GROUP_LAG_AGE, GROUP), was_highest(GROUP_LAG_AGE, GROUP)), NAME),),
    unit="s",
    width=6,
    thresholds=above(60, 300),
    empty="lag_groups matches no groups",
    links=(LINE_TO_GROUP,),
)
TOPIC_LAG = "kafka_rebalance_topic_lag_offsets"
TOPIC_LAGS = Panel(
    21,
    "Lag by topic",
    "Which topics have the most lag, over all groups? The ten topics with the most lag are shown. **_folded** is the "
    "sum of the topics beyond max_lag_topics.",
    (
        Query(
            worst(
                10,
                f"sum by (topic) ({gauge(TOPIC_LAG, GROUP, 'consumergroup', 'topic')})",
                was_highest(TOPIC_LAG, GROUP, "topic"),
                "topic",
            ),
            "{{topic}}",
        ),
    ),
    width=6,
    decimals=0,
    empty="lag_groups matches no groups",
)
CATCHING = "kafka_rebalance_catching_up_partitions"
CATCHING_UP = Panel(
    22,
    "Partitions catching up",
    "How many moved partitions of each group still have unread records that were appended before the move? The ten "
    "groups with the most such partitions are shown, among the groups in lag_groups. A line that stays high after a "
    "rebalance is part of the rebalance's cost.",
    (Query(worst(10, gauge(CATCHING, GROUP), was_highest(CATCHING, GROUP)), NAME),),
    width=6,
    decimals=0,
    empty="lag_groups matches no groups",
    links=(LINE_TO_GROUP,),
)
