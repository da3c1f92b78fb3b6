"""Alerts on stalls: how long partitions are stalled in rebalances.

All of them use the lower bounds of stalls, the time in which partitions were certainly stalled, except for one warning.
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
        "At least half of the partitions of consumer group $group (or another share, by the setting stall_limits) "
        f"were certainly stalled for longer than the {limit} limit. In the last $window they were stalled for about "
        "{{ $value | humanizeDuration }}.",
        todo,
    )


STALLED = (
    _stalled(
        "KafkaGroupStalled",
        "warning",
        "$group was stalled",
        "Run rebalance-agent explain: it names the phase and the member that took the time.",
    ),
    _stalled(
        "KafkaGroupStalledLong",
        "critical",
        "$group was stalled for a long time",
        "If it is still stalled, restart the member that rebalance-agent watch shows as missing or slow; in the sync "
        "phase that is the leader.",
    ),
)


def _burn(pace: str, todo: str) -> Alert:
    return Alert(
        f"KafkaGroupStallBudgetBurn{pace}",
        f"""
        {STALLED_RATIO}$long > $factor * (1 - $slo)
          and {STALLED_RATIO}$short > $factor * (1 - $slo)
        """,
        "$group uses up its stall budget",
        "In the last $long the partitions of consumer group $group were stalled for "
        "{{ $value | humanizePercentage }} of the time, more than $factor times as much as the "
        "objective of $slo allows.",
        todo,
    )


BURNS = (
    _burn(
        "Fast",
        "Check whether one long rebalance is running or many follow each other, and use the runbook of a stuck "
        "rebalance or of a storm.",
    ),
    _burn("Medium", "Find the most frequent trigger in that time, and remove its cause."),
    _burn("Slow", "During working hours, find the trigger with the highest cost, and plan its removal."),
)

POSSIBLE = Alert(
    "KafkaGroupStallBudgetBurnPossible",
    f"""
    {STALLED_RATIO_UPPER}$long > $factor * (1 - $slo)
      and {STALLED_RATIO_UPPER}$short > $factor * (1 - $slo)
      unless {STALLED_RATIO}$long > $factor * (1 - $slo)
    """,
    "$group may use up its stall budget",
    "In the last $long the partitions of consumer group $group may have been stalled for up to "
    "{{ $value | humanizePercentage }} of the time (upper bound), more than $factor times as much as the objective of "
    "$slo allows. The lower bound is within that limit.",
    "Use rebalance-agent explain to compare the two bounds, and check the lag of the group's partitions.",
)

BASELINE = Alert(
    "KafkaGroupStallAboveBaseline",
    """
    cluster_consumergroup:kafka_rebalance_stall_seconds:mean$window > $floor_seconds
      and cluster_consumergroup:kafka_rebalance_stall_seconds:mean$window
        > $factor * max by (cluster, consumergroup) (kafka_rebalance_stall_baseline_seconds{percentile="p95"})
    """,
    "Stalls of $group are far from normal",
    "Rebalances of consumer group $group stalled it for {{ $value | humanizeDuration }} on average in "
    "the last $window: more than $factor times the normal 95th percentile at this hour of the week.",
    "Compare with the last deploys of the group and of the services that it calls.",
)

# Rounded: sums of many members' equal buckets may differ in the last digit, depending on the order of addition, and
# then the highest bucket would seem to contain the slowest callback.
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
    "A member of $group revokes partitions slowly",
    "A revoked callback in consumer group $group took more than $seconds s, and up to "
    "{{ $value | humanizeDuration }}: the whole group waits for it.",
    "Restart the member if it hangs; otherwise move work out of the callback.",
    Board.MEMBERS,
)

STALLS = RuleGroup(
    "kafka-rebalance-stalls",
    "Stalls: how long partitions are stalled in rebalances.",
    (*STALLED, *BURNS, POSSIBLE, BASELINE, CALLBACK),
)
