"""Stalls, rebalances and their causes on the Fleet board."""

from __future__ import annotations

from dashboards.fleet.findings import STORMINESS
from dashboards.fleet.queries import COMPLETED, LINE_TO_GROUP, NAME, RUNNING, STALLED, TRIGGER, lately
from dashboards.parts import colours
from dashboards.parts.goals import DURATION, STORM_MIN
from dashboards.parts.panel import Look, Panel, above
from dashboards.parts.query import GROUP, ROLE, Query, mean_of, was_highest, went_up, worst

__all__ = ["AGES", "FAILED", "PHASES", "STALL", "STANDING", "STORMS", "TRIGGERS"]

STANDING = Panel(
    8,
    "Stalled partitions",
    "How many partitions were stalled at the same time, and in which groups? Each line is the number of stalled "
    "partition-seconds (lower bound) per second: 3 means that three partitions were stalled on average. The ten "
    "groups with the most stalled partition-seconds are shown.",
    (
        Query(
            worst(
                10,
                f"$across by (cluster, consumergroup) (rate({STALLED}{{{GROUP}}}[$__rate_interval]))",
                went_up(STALLED, GROUP),
            ),
            NAME,
        ),
    ),
    Look.AREAS,
    width=12,
    empty="no stalls in this time range",
    links=(LINE_TO_GROUP,),
)
TRIGGERS = Panel(
    9,
    "Rebalances by trigger",
    "What causes rebalances, and when? Each bar counts the rebalances that ended since the previous bar. If a "
    "rebalance has several causes, the most serious one is its trigger. Investigate member_failed and rejoin; "
    "member_joined and member_left are usually deploys.",
    (
        Query(
            f"sum by (trigger) ({lately(COMPLETED, *TRIGGER)}) > 0",
            "{{trigger}}",
        ),
    ),
    Look.COUNTS,
    width=12,
    empty="no rebalances in this time range",
    colours=colours.TRIGGERS,
)
STALL = Panel(
    10,
    "Stall by group",
    "How long is the longest stall of a partition in a rebalance (lower bound)? Each point is the mean over the "
    "rebalances that ended since the previous point. The ten groups with the most stalled partition-seconds are shown.",
    (Query(worst(10, mean_of("kafka_rebalance_stall_seconds", GROUP), went_up(STALLED, GROUP)), NAME),),
    Look.DOTS,
    "s",
    thresholds=above(10, 60),
    empty="no rebalances in this time range",
    links=(LINE_TO_GROUP,),
)
AGES = Panel(
    11,
    "Running rebalances",
    "Which rebalances take long or do not end? A rising line is a running rebalance. The ten groups with the longest "
    "rebalances are shown.",
    (Query(worst(10, RUNNING, was_highest("kafka_rebalance_in_progress_seconds", GROUP)), NAME),),
    unit="s",
    thresholds=DURATION,
    empty="no groups observed",
    links=(LINE_TO_GROUP,),
)
STORMS = Panel(
    12,
    "Storms",
    "Which groups rebalance too often? Each line is the number of rebalances in the last 15 minutes, divided by twice "
    f"the number of members, but at least by {STORM_MIN}: above 1 is a storm. Returns of static members do not count. "
    "A deploy is not a storm: a group has no line while its members are replaced one by one, and for 15 minutes after "
    "that, unless something fails.",
    (
        Query(
            worst(10, f"({STORMINESS})", went_up(COMPLETED, GROUP)),
            NAME,
        ),
    ),
    thresholds=above(bad=1),
    decimals=2,
    empty="no groups observed",
    links=(LINE_TO_GROUP,),
)
PHASES = Panel(
    15,
    "Rebalance time by phase",
    "How long does each phase of a rebalance take? **join**: waiting for the slowest member. **sync**: the leader's "
    "assign() and the network time. **assignor wait** and **reconcile**: in groups whose coordinator assigns, the "
    "wait for a new assignment, and the time until all members have received it. Each point is the mean over the "
    "rebalances of all groups of the selected observers since the previous point.",
    tuple(
        Query(
            mean_of(f"kafka_rebalance_{phase.replace(' ', '_')}_seconds", ROLE, "cluster"), f"{{{{cluster}}}} {phase}"
        )
        for phase in ("join", "sync", "assignor wait", "reconcile")
    ),
    Look.DOTS,
    "s",
    thresholds=above(10, 60),
    empty="no rebalances in this time range",
)
FAILED = Panel(
    16,
    "Failed and no-op rebalances",
    "How many rebalances fail or change nothing? **aborted**: rebalances that started and did not complete. "
    "**assign_error**: an exception in the leader's assign(). **no-op**: all partitions kept their owners.",
    (
        Query(
            f"sum by (reason) ({lately('kafka_rebalance_failed_total', 'cluster', 'consumergroup', 'reason')})",
            "{{reason}}",
        ),
        Query(f"sum({lately('kafka_rebalance_noop_total')})", "no-op"),
    ),
    Look.COUNTS,
    empty="no groups observed",
    colours=colours.REASONS,
)
