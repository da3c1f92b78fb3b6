"""What several alerts read, or what costs much to ask: counters over windows, one series for each group."""

from __future__ import annotations

from alerts.rule import Recording, RuleGroup

__all__ = ["RECORDINGS", "STALLED_RATIO"]

STALLED_RATIO = "cluster_consumergroup:kafka_rebalance_stalled_partitions:ratio"
"""Of the partition-seconds that a group's partitions have in a window, the share in which they stood still. Time in
which the group did not exist counts as good: the first stall of a new group must not weigh like a month of them."""


def _stalled(of: str, key: str) -> Recording:
    return Recording(
        STALLED_RATIO + "$window",
        """
        $across by (cluster, consumergroup) (increase(kafka_rebalance_stalled_partition_seconds_total[$window]))
          / (max by (cluster, consumergroup) (max_over_time(kafka_rebalance_partitions[$window])) * $window_seconds > 0)
        """,
        of,
        key,
    )


RECORDINGS = RuleGroup(
    "kafka-rebalance-recordings",
    "What the alerts look back over.",
    (
        Recording(
            "cluster_consumergroup:kafka_rebalance_completed:increase$window",
            """
            $across by (cluster, consumergroup) (
              sum without (trigger) (increase(kafka_rebalance_completed_total[$window]))
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
            _stalled(f"KafkaGroupStallBudgetBurn{pace}", key)
            for pace, key in (
                ("Fast", "short"),
                ("Fast", "long"),
                ("Medium", "short"),
                ("Medium", "long"),
                ("Slow", "short"),
                ("Slow", "long"),
            )
        ),
    ),
)
