"""The panels on the group's rebalances: causes, stalls, phases and moves."""

from __future__ import annotations

from dashboards.group.queries import (
    COMPLETED,
    DEPARTED_TO_MEMBER,
    GROUP_STALLED,
    LINE_TO_MEMBER,
    MOVED,
    MOVED_EXCESS,
    STALL,
    STALL_UPPER,
    STALLED,
    STALLED_UPPER,
    counted,
    of,
)
from dashboards.parts import colours
from dashboards.parts.departed import departed
from dashboards.parts.panel import Look, Panel, above
from dashboards.parts.query import ONE_GROUP, Query, bars_of, mean_of

__all__ = ["DEPARTED", "FOR_NOTHING", "MOVES", "PHASES", "SLOWEST", "STALLS", "STANDING", "TRIGGERS"]

TRIGGERS = Panel(
    11,
    "Rebalances by trigger",
    "What caused the rebalances? Each bar counts the rebalances that ended since the previous bar. If a rebalance "
    "has several causes, the most serious one is its trigger. **member_failed**: the coordinator removed the member. "
    "**member_gone**: it is not known whether the member left or failed. **rejoin**: the same members rejoined, and "
    "no other cause is known.",
    (
        Query(
            f"{bars_of(COMPLETED, ONE_GROUP, 'trigger')} > 0",
            "{{trigger}}",
        ),
    ),
    Look.COUNTS,
    empty="no rebalances in this time range",
    colours=colours.TRIGGERS,
)
STALLS = Panel(
    12,
    "Stall of each rebalance",
    "How long was the longest stall of a partition, and is that normal at this hour? Each point is the mean over the "
    "rebalances since the previous point. **exact**: measured by members. **bound**: the lower bound. **at most**: "
    "the upper bound, over all rebalances that have one. **normal**: the group's baseline of lower bounds, from the "
    "pipeline. **whole group, warning** and **critical**: seconds for which at least half of the partitions were "
    "stalled; only stalls that reached the limit with this name (setting stall_limits) count.",
    (
        Query(mean_of(STALL, ONE_GROUP, "basis"), "mean, {{basis}}"),
        Query(mean_of(STALL_UPPER, ONE_GROUP), "mean, at most"),
        of("kafka_rebalance_stall_baseline_seconds", "normal {{percentile}}", "percentile"),
        Query(f"{bars_of(GROUP_STALLED, ONE_GROUP, 'limit')} > 0", "whole group, {{limit}}"),
    ),
    Look.DOTS,
    "s",
    thresholds=above(10, 60),
    empty="no rebalances in this time range",
)
PHASES = Panel(
    13,
    "Phases of the last rebalance",
    "How long did each phase of the last rebalance take? Classic groups have two phases. **join**: waiting for the "
    "slowest member. **sync**: the leader's assign(). Groups of other types have two other phases. **assignor "
    "wait**: until the coordinator had a new assignment. **reconcile**: until all members had received that "
    "assignment.",
    tuple(
        of(f"kafka_rebalance_last_{phase.replace(' ', '_')}_seconds", phase)
        for phase in ("join", "sync", "assignor wait", "reconcile")
    ),
    unit="s",
    thresholds=above(10, 60),
    empty="no rebalance seen",
)
MOVES = Panel(
    14,
    "Partitions that moved",
    "How did rebalances change the assignment? The bars show partitions with a new owner. **needed**: moves that the "
    "balance required. **excess**: all other moves. The dots show what members gave up and received. **revoked**: "
    "partitions that members gave up (in eager groups, all partitions). **assigned**: partitions that members "
    "received. **lost**: partitions of members that certainly failed.",
    (
        Query(
            f"{bars_of(MOVED, ONE_GROUP)} - {bars_of(MOVED_EXCESS, ONE_GROUP)}",
            "needed",
        ),
        counted(MOVED_EXCESS, "excess"),
        Query(f"{bars_of('kafka_rebalance_partitions_revoked_total', ONE_GROUP)} > 0", "revoked"),
        Query(f"{bars_of('kafka_rebalance_partitions_assigned_total', ONE_GROUP)} > 0", "assigned"),
        Query(f"{bars_of('kafka_rebalance_partitions_lost_total', ONE_GROUP)} > 0", "lost"),
    ),
    Look.COUNTS,
    empty="no rebalances in this time range",
    colours=colours.MOVES,
    dots=("revoked", "assigned", "lost"),
)
SLOWEST = Panel(
    15,
    "Slowest member",
    "For which members did the other members certainly wait, and how long? At most five members are shown. Each is "
    "shown for an hour after the last rebalance in which it was the slowest member, according to reports or commits, "
    "even if the coordinator removed this member. If it is always the same member, check its callbacks on the "
    "Members board, or its host.",
    (of("kafka_rebalance_slowest_member_seconds", "{{client_id}} {{host}}", "client_id", "host"),),
    Look.DOTS,
    "s",
    thresholds=above(10, 60),
    empty="no rebalance in the last hour, or no evidence of a slowest member",
    links=(LINE_TO_MEMBER,),
)
DEPARTED = departed(26, ONE_GROUP, DEPARTED_TO_MEMBER, width=8)
STANDING = Panel(
    16,
    "Stalled partitions",
    "How many partitions were stalled at the same time? The values are stalled partition-seconds per second. "
    "**stalled**: the lower bound. **at most**: the upper bound, added when a rebalance settles. **subscribed**: the "
    "number of subscribed partitions, which an eager rebalance stalls. **no owner**: partitions without an owner "
    "outside rebalances, because the group is Empty or the assignment left them out. **two owners**: partitions that "
    "a removed member kept, shown when the member gives them up. **catching up**: moved partitions whose new owner "
    "has not yet read the records that were appended before the move (lower bound; only groups in lag_groups).",
    (
        Query(f"$across by (cluster, consumergroup) (rate({STALLED}{{{ONE_GROUP}}}[$__rate_interval]))", "stalled"),
        Query(
            f"$across by (cluster, consumergroup) (rate({STALLED_UPPER}{{{ONE_GROUP}}}[$__rate_interval]))", "at most"
        ),
        Query(
            "$across by (cluster, consumergroup, reason) "
            f"(rate(kafka_rebalance_unowned_partition_seconds_total{{{ONE_GROUP}}}[$__rate_interval]))",
            "no owner, {{reason}}",
        ),
        Query(
            "$across by (cluster, consumergroup) "
            f"(rate(kafka_rebalance_doubly_owned_partition_seconds_total{{{ONE_GROUP}}}[$__rate_interval])) > 0",
            "two owners",
        ),
        Query(
            "$across by (cluster, consumergroup) "
            f"(rate(kafka_rebalance_catch_up_partition_seconds_total{{{ONE_GROUP}}}[$__rate_interval]))",
            "catching up",
        ),
        of("kafka_rebalance_partitions", "subscribed"),
    ),
    empty="unknown",
    colours=colours.STALLED,
)
FOR_NOTHING = Panel(
    23,
    "Failed and no-op rebalances",
    "How many rebalances fail, repeat, or change nothing? **too slow**: members that were removed because they "
    "joined, or revoked their partitions, too late; the panel Slowest member names them. **aborted**: rebalances that "
    "started and did not complete. **assign_error**: the leader's assign() raised an exception. **no-op**: all "
    "members kept their partitions. **follow-up**: second generation of a cooperative rebalance. **polled**: changes "
    "of a group that the observer only polls.",
    (
        counted("kafka_rebalance_failed_total", "{{reason}}", "reason"),
        counted("kafka_rebalance_members_expelled_total", "too slow"),
        counted("kafka_rebalance_noop_total", "no-op"),
        counted("kafka_rebalance_followups_total", "follow-up"),
        counted("rebalance_agent_polled_changes_total", "polled"),
    ),
    Look.COUNTS,
    empty="unknown",
    colours=colours.REASONS,
)
