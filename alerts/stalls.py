"""What rebalances cost: partitions that stand still."""

from __future__ import annotations

from alerts.recordings import STALLED_RATIO
from alerts.rule import Alert, Board, RuleGroup

__all__ = ["STALLS"]


def _burn(pace: str, todo: str) -> Alert:
    return Alert(
        f"KafkaGroupStallBudgetBurn{pace}",
        f"""
        {STALLED_RATIO}$long > $factor * (1 - $slo)
          and {STALLED_RATIO}$short > $factor * (1 - $slo)
        """,
        "$group uses up its stall budget",
        "In the last $long the partitions of consumer group $group stood still for "
        "{{ $value | humanizePercentage }} of the time, more than $factor times as much as the "
        "objective of $slo leaves.",
        todo,
    )


BURNS = (
    _burn(
        "Fast",
        "See whether a rebalance runs or one follows the other; the runbook of a stuck one or of a storm says how to "
        "end it.",
    ),
    _burn("Medium", "See which trigger counts most in that time, and take it away."),
    _burn("Slow", "By day, see which trigger cost most, and plan its end."),
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
    "the last $window: more than $factor times what 95 % of them stay below at this hour of the week.",
    "Compare with the last deploy of the group and of what it calls.",
)

CALLBACK = Alert(
    "KafkaGroupRevokeCallbackSlow",
    """
    histogram_quantile(1,
      sum by (cluster, consumergroup, le) (
        increase(kafka_rebalance_member_callback_seconds_bucket{callback="revoked"}[$window])
      )
    ) > $seconds
    """,
    "A member of $group is slow to give up partitions",
    "A revoked callback in consumer group $group took more than $seconds s, and up to "
    "{{ $value | humanizeDuration }}: the whole group waits for it.",
    "Restart a member that hangs; else take work out of the callback.",
    Board.MEMBERS,
)

STALLS = RuleGroup(
    "kafka-rebalance-stalls",
    "What rebalances cost: partitions that stand still.",
    (*BURNS, BASELINE, CALLBACK),
)
