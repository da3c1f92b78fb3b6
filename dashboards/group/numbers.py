"""The numbers at the top of the Group board."""

from __future__ import annotations

from dashboards.group.queries import COMPLETED, RUNNING, SKEW, STALLED, WHOLE
from dashboards.parts.goals import AVAILABILITY, DURATION, GOAL, SHARES
from dashboards.parts.panel import BAD, NEUTRAL, Look, Panel, above
from dashboards.parts.query import ONE_GROUP, ROLE, Query, count_in, gauge, times_in

__all__ = ["NUMBERS"]

NUMBERS = (
    Panel(
        1,
        "Availability",
        "What share of this group's partition-seconds was without a stall? Stalls are lower bounds. "
        f"The alerts' objective is {GOAL}.",
        (Query(f"1 - {count_in(STALLED, ONE_GROUP)} / {count_in(WHOLE, ONE_GROUP)}", now=True),),
        Look.NUMBER,
        "percentunit",
        width=6,
        thresholds=AVAILABILITY,
        decimals=2,
        most=1,
        empty="unknown",
    ),
    Panel(
        2,
        "Rebalances",
        "How many rebalances did the group have in the time range? A cooperative rebalance with its follow-ups "
        "counts once.",
        (Query(f"{times_in(COMPLETED, ONE_GROUP)}", now=True),),
        Look.NUMBER,
        width=6,
        decimals=0,
        empty="unknown",
    ),
    Panel(
        3,
        "Running for",
        "Is a rebalance running, and for how long? A rebalance that runs for longer than the members' rebalance "
        "timeout (5 minutes by default) is stuck.",
        (Query(RUNNING, now=True),),
        Look.NUMBER,
        "s",
        width=6,
        thresholds=DURATION,
        decimals=0,
        empty="unknown",
    ),
    Panel(
        4,
        "Last rebalance",
        "How long ago did the last rebalance end? If it is often below a minute, the group rebalances too often.",
        (
            Query(
                f"time() - {gauge('kafka_rebalance_last_completed_timestamp_seconds', ONE_GROUP)}",
                now=True,
            ),
        ),
        Look.NUMBER,
        "s",
        width=6,
        decimals=0,
        empty="none seen",
    ),
    Panel(
        5,
        "Members",
        "How many members does the group have? 0 means that the group consumes nothing.",
        (Query(gauge("kafka_rebalance_members", ONE_GROUP), now=True),),
        Look.NUMBER,
        width=6,
        thresholds=((None, BAD), (1, NEUTRAL)),
        decimals=0,
        empty="unknown",
    ),
    Panel(
        6,
        "Without owner",
        "How many subscribed partitions have no owner? In a Stable group they are not consumed.",
        (Query(gauge("kafka_rebalance_partitions_unassigned", ONE_GROUP), now=True),),
        Look.NUMBER,
        width=6,
        thresholds=above(bad=1),
        decimals=0,
        empty="unknown",
    ),
    Panel(
        7,
        "Skew",
        "Does a member have more than its share of the partitions? The number is the load of the most loaded member "
        "divided by its share under the group's strategy; 1 is best.",
        (Query(gauge(SKEW, ONE_GROUP + ', weight="partitions"'), now=True),),
        Look.NUMBER,
        width=6,
        thresholds=SHARES,
        decimals=2,
        empty="unknown",
    ),
    Panel(
        8,
        "Record size",
        "Is the group's record near the maximum record size of the offsets topic? At 100 %, a classic group can no "
        "longer rebalance. Fewer members, shorter topic lists or a larger max.message.bytes help.",
        (
            Query(
                f"{gauge('kafka_rebalance_group_metadata_bytes', ONE_GROUP)} / on (cluster) group_left "
                f"{gauge('rebalance_agent_offsets_message_max_bytes', ROLE, 'cluster')}",
                now=True,
            ),
        ),
        Look.NUMBER,
        "percentunit",
        width=6,
        thresholds=above(0.5, 0.8),
        decimals=0,
        most=1,
        empty="not a classic group, or limit unknown",
    ),
)
