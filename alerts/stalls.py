"""Alerts on stalls: how long partitions are stalled in rebalances.

All but one use the lower bounds of stalls: how long partitions were certainly stalled.
"""

from __future__ import annotations

from alerts.recordings import STALLED_RATIO, STALLED_RATIO_UPPER
from alerts.rule import Alert, Board, RuleGroup

__all__ = ["STALLS"]


def _stalled(name: str, limit: str, summary: str, todo: str) -> Alert:
    return Alert(
        name,
        f"""
        $across by (cluster, consumergroup) (
          increase(kafka_rebalance_group_stalled_seconds_total{{limit="{limit}"}}[$window])
        ) > 0
        """,
        summary,
        "At least half (or the share set in stall_limits) of the partitions of consumer group $group were certainly "
        f"stalled for longer than the {limit} limit. In the last $window, these partitions were stalled for about "
        "{{ $value | humanizeDuration }}.",
        todo,
    )


STALLED = (
    _stalled(
        "KafkaGroupStalled",
        "warning",
        "$group was stalled",
        "Run rebalance-agent explain; it shows which phase and which member took the time.",
    ),
    _stalled(
        "KafkaGroupStalledLong",
        "critical",
        "$group was stalled for a long time",
        "If the group is still stalled, restart the slowest member of earlier rebalances, which rebalance-agent "
        "explain names. If the rebalance is in its sync phase, restart the leader instead.",
    ),
)


def _burn(pace: str, todo: str) -> Alert:
    return Alert(
        f"KafkaGroupStallBudgetBurn{pace}",
        f"""
        {STALLED_RATIO}$long > $factor * (1 - $slo)
          and {STALLED_RATIO}$short > $factor * (1 - $slo)
        """,
        "$group is using up its stall budget",
        "In the last $long, the partitions of consumer group $group were stalled for "
        "{{ $value | humanizePercentage }} of the time: a burn rate of more than $factor for the objective of $slo.",
        todo,
    )


BURNS = (
    _burn(
        "Fast",
        "Check whether one long rebalance is running or many short ones follow each other, and use the runbook for a "
        "stuck rebalance or for a storm.",
    ),
    _burn("Medium", "Find the most frequent trigger in that period, and remove its cause."),
    _burn("Slow", "During working hours, find the most expensive trigger, and plan to remove its cause."),
)

POSSIBLE = Alert(
    "KafkaGroupStallBudgetBurnPossible",
    f"""
    {STALLED_RATIO_UPPER}$long > $factor * (1 - $slo)
      and {STALLED_RATIO_UPPER}$short > $factor * (1 - $slo)
      unless {STALLED_RATIO}$long > $factor * (1 - $slo)
    """,
    "$group may be using up its stall budget",
    "In the last $long, the partitions of consumer group $group may have been stalled for up to {{ $value | "
    "humanizePercentage }} of the time (upper bound): a burn rate of more than $factor for the objective of $slo. "
    "According to the lower bound, the burn rate does not exceed this limit.",
    "Compare the two bounds in the output of rebalance-agent explain, and check the lag of the group's partitions.",
)

BASELINE = Alert(
    "KafkaGroupStallAboveBaseline",
    """
    cluster_consumergroup:kafka_rebalance_stall_seconds:mean$window > $floor_seconds
      and cluster_consumergroup:kafka_rebalance_stall_seconds:mean$window
        > $factor * max by (cluster, consumergroup) (kafka_rebalance_stall_baseline_seconds{percentile="p95"})
    """,
    "Stalls of $group are much longer than normal",
    "In the last $window, rebalances stalled consumer group $group for {{ $value | humanizeDuration }} on average, "
    "more than $factor times the normal 95th percentile for this hour of the week.",
    "Check the last deploys of the group and of the services that it calls.",
)

# Sums are rounded: equal buckets, summed over many members, may differ in the last digit, as the order of terms varies.
# Without rounding, the slowest callback could then seem to be in the highest bucket.
CALLBACK = Alert(
    "KafkaGroupRevokeCallbackSlow",
    """
    histogram_quantile(1, round(
      sum by (cluster, consumergroup, le) (
        increase(kafka_rebalance_member_callback_seconds_bucket{callback="revoked"}[$window])
      ),
      0.001
    )) > $seconds
    """,
    "A revoked callback of $group is slow",
    "A revoked callback in consumer group $group took more than $seconds s and at most {{ $value | humanizeDuration "
    "}}. Rebalances wait for this callback.",
    "The callback has returned, so no action is urgent; move work out of the callback.",
    Board.MEMBERS,
)

STALLS = RuleGroup(
    "kafka-rebalance-stalls",
    "Stalls: partitions that are not consumed during rebalances.",
    (*STALLED, *BURNS, POSSIBLE, BASELINE, CALLBACK),
)
