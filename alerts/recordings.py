"""Recording rules, one series per group, for expressions that are expensive or that several alerts use."""

from __future__ import annotations

from alerts.rule import Recording, RuleGroup

__all__ = ["RECORDINGS", "STALLED_RATIO", "STALLED_RATIO_UPPER"]

STALLED_RATIO = "cluster_consumergroup:kafka_rebalance_stalled_partitions:ratio"
"""The stalled share of a group's partition-seconds in a window. Time before the group existed counts as time without a
stall, so that the first stall of a new group does not use up a month's budget."""

STALLED_RATIO_UPPER = "cluster_consumergroup:kafka_rebalance_stalled_partitions_upper:ratio"
"""The stalled share for upper bounds, limited to 1, because the bounds of consecutive rebalances may overlap."""

_STALLED = """
    $across by (cluster, consumergroup) (increase(kafka_rebalance_stalled_partition_seconds_total[$window]))
      / (max by (cluster, consumergroup) (max_over_time(kafka_rebalance_partitions[$window])) * $window_seconds > 0)
    """
_STALLED_UPPER = """
    clamp_max(
      $across by (cluster, consumergroup) (increase(kafka_rebalance_stalled_partition_seconds_upper_total[$window]))
        / (max by (cluster, consumergroup) (max_over_time(kafka_rebalance_partitions[$window])) * $window_seconds > 0),
      1
    )
    """
_POSSIBLE = "KafkaGroupStallBudgetBurnPossible"


RECORDINGS = RuleGroup(
    "kafka-rebalance-recordings",
    "Recording rules for the alerts.",
    (
        Recording(
            "cluster_consumergroup:kafka_rebalance_completed:increase$window",
            """
            $across by (cluster, consumergroup) (
              sum without (trigger) (increase(kafka_rebalance_completed_total{trigger!="member_replaced"}[$window]))
            )
            """,
            "KafkaGroupRebalanceStorm",
        ),
        Recording(
            "cluster_consumergroup:kafka_rebalance_stall_seconds:mean$window",
            """
            sum by (cluster, consumergroup) (increase(kafka_rebalance_stall_seconds_sum[$window]))
              / (sum by (cluster, consumergroup) (increase(kafka_rebalance_stall_seconds_count[$window])) > 0)
            """,
            "KafkaGroupStallAboveBaseline",
        ),
        Recording(
            "cluster_consumergroup:kafka_rebalance_partitions_moved_excess:increase$window",
            """
            $across by (cluster, consumergroup) (increase(kafka_rebalance_partitions_moved_excess_total[$window]))
            """,
            "KafkaGroupExcessMoves",
        ),
        *(
            Recording(STALLED_RATIO + "$window", _STALLED, f"KafkaGroupStallBudgetBurn{pace}", key)
            for pace, key in (
                ("Fast", "short"),
                ("Fast", "long"),
                ("Medium", "short"),
                ("Medium", "long"),
                ("Slow", "short"),
                ("Slow", "long"),
                ("Possible", "long"),
            )
        ),
        Recording(STALLED_RATIO_UPPER + "$window", _STALLED_UPPER, _POSSIBLE, "short"),
        Recording(STALLED_RATIO_UPPER + "$window", _STALLED_UPPER, _POSSIBLE, "long"),
    ),
)
