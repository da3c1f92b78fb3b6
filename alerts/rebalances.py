"""Alerts on rebalances that do not end, are too frequent, or fail."""

from __future__ import annotations

from alerts.rule import Alert, Board, RuleGroup

__all__ = ["REBALANCES"]

STUCK = Alert(
    "KafkaGroupRebalanceStuck",
    """
    max by (cluster, consumergroup) (kafka_rebalance_in_progress_seconds)
      > $margin_seconds + (
        max by (cluster, consumergroup) (kafka_rebalance_timeout_seconds)
        or 0 * max by (cluster, consumergroup) (kafka_rebalance_in_progress_seconds) + $timeout_seconds
      )
    """,
    "Rebalance of $group is stuck",
    "The rebalance of consumer group $group has run for {{ $value | humanizeDuration }}, longer than "
    "the rebalance timeout of its members. It will not end without action.",
    "Restart the member that has not rejoined; most likely the slowest member of earlier rebalances, see the board.",
)

SLOW = Alert(
    "KafkaGroupRebalanceSlow",
    """
    max by (cluster, consumergroup) (kafka_rebalance_in_progress_seconds) > $seconds
    """,
    "Rebalance of $group is slow",
    "The rebalance of consumer group $group has run for {{ $value | humanizeDuration }}. Under an "
    "eager assignor the group consumes nothing during that time.",
    "If no deploy is running, check the slowest member of earlier rebalances, see the board.",
)

FAILED = Alert(
    "KafkaGroupRebalanceFailed",
    """
    round($across by (cluster, consumergroup, reason) (
      increase(kafka_rebalance_failed_total{reason="assign_error"}[$window])
    )) >= $assign_errors
    or
    round($across by (cluster, consumergroup, reason) (
      increase(kafka_rebalance_failed_total{reason="aborted"}[$window])
    )) >= $aborted
    """,
    "Rebalances of $group fail",
    "Failed rebalances of consumer group $group within $window: {{ $value | humanize }} ({{ $labels.reason }}).",
    "For assign_error, return to the previous assignor; for aborted, stop members that crash while they join.",
)

STORM = Alert(
    "KafkaGroupRebalanceStorm",
    """
    round(cluster_consumergroup:kafka_rebalance_completed:increase$window) > $rebalances
      and round(cluster_consumergroup:kafka_rebalance_completed:increase$window)
        > $per_member * max by (cluster, consumergroup) (max_over_time(kafka_rebalance_members[$window]))
    """,
    "$group rebalances too often",
    "Consumer group $group rebalanced {{ $value | humanize }} times within $window, more than "
    "$per_member times for each member, without a detected deploy.",
    "Find the most frequent trigger on the board, and stop the member that causes it.",
)

NOOP = Alert(
    "KafkaGroupRebalanceNoop",
    """
    round(
      $across by (cluster, consumergroup) (increase(kafka_rebalance_noop_total[$window]))
      - (
        $across by (cluster, consumergroup) (increase(kafka_rebalance_completed_total{trigger="rejoin"}[$window]))
          and on (cluster) count by (cluster) (
            round($across by (cluster, consumergroup) (
              increase(kafka_rebalance_completed_total{trigger="rejoin"}[$window])
            )) >= $rejoins
          ) >= $groups
        or 0 * $across by (cluster, consumergroup) (increase(kafka_rebalance_noop_total[$window]))
      )
    ) >= $rebalances
      and on (cluster, consumergroup) (
        $across by (cluster, consumergroup) (increase(kafka_rebalance_noop_total[$window]))
          >= $share * $across by (cluster, consumergroup) (
            sum without (trigger) (increase(kafka_rebalance_completed_total[$window]))
          )
      )
      unless on (cluster, consumergroup) (
        max by (cluster, consumergroup) (max_over_time(kafka_rebalance_rollout_in_progress[$window])) == 1
      )
    """,
    "$group rebalances without changes",
    "{{ $value | humanize }} rebalances of consumer group $group within $window moved no partition. "
    "Each of them caused a stall.",
    "Find the member that starts them with rebalance-agent explain, and check what it does at these times.",
)

ROLLOUT = Alert(
    "KafkaGroupRolloutInProgress",
    """
    max by (cluster, consumergroup) (kafka_rebalance_rollout_in_progress) == 1
    """,
    "$group is being deployed",
    "The members of consumer group $group are being replaced one after the other, and nothing fails.",
    "No action is needed; this alert only inhibits the alert on storms.",
)

FLAPPING = Alert(
    "KafkaGroupMemberFlapping",
    """
    max by (cluster, consumergroup) (kafka_rebalance_flapping_members) >= $members
    """,
    "Members of $group leave and return repeatedly",
    "Members of consumer group $group that leave and return repeatedly: {{ $value | humanize }}. Each leave and each "
    "return is a rebalance.",
    "Stop the members in the output of rebalance-agent explain, and find out why they leave.",
)

NEAR_POLL_LIMIT = Alert(
    "KafkaGroupMemberNearPollLimit",
    """
    max by (cluster, consumergroup, client_id, host) (
      kafka_rebalance_member_client_last_poll_age_seconds
        or kafka_rebalance_member_client_poll_interval_seconds{stat="max"}
    ) > $ratio * min by (cluster, consumergroup, client_id, host) (kafka_rebalance_member_client_poll_limit_seconds)
    """,
    "A member of $group calls poll() too rarely",
    "A member of consumer group $group has not called poll() for {{ $value | humanizeDuration }}, more than "
    "$ratio of its max.poll.interval.ms. At that limit it leaves the group, which rebalances.",
    "Find out on its host what it processes for so long; the labels client_id and host name it.",
    Board.MEMBERS,
)

EAGER = Alert(
    "KafkaGroupEagerLargeGroup",
    """
    max by (cluster, consumergroup) (kafka_rebalance_members) >= $members
      and on (cluster, consumergroup) kafka_rebalance_group_info{rebalance_protocol="eager"} == 1
    """,
    "$group is large and uses an eager assignor",
    "Consumer group $group has {{ $value | humanize }} members under an eager assignor: each rebalance "
    "stops all of them.",
    "Plan a cooperative assignor; until then deploy many members at the same time.",
)

REBALANCES = RuleGroup(
    "kafka-rebalance-rebalances",
    "Rebalances that do not end, are too frequent, fail, or are near.",
    (STUCK, SLOW, FAILED, STORM, NOOP, ROLLOUT, FLAPPING, NEAR_POLL_LIMIT, EAGER),
)
