"""Alerts on rebalances that do not end, are too frequent, fail, or are about to happen."""

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
    "A rebalance of $group is stuck",
    "A rebalance of consumer group $group has been running for {{ $value | humanizeDuration }}, longer than the "
    "rebalance timeout of the group's members. The coordinator should have ended the rebalance.",
    "Restart the member that has not rejoined. It is most likely the slowest member of earlier rebalances, which the "
    "board shows.",
)

SLOW = Alert(
    "KafkaGroupRebalanceSlow",
    """
    max by (cluster, consumergroup) (kafka_rebalance_in_progress_seconds) > $seconds
    """,
    "A rebalance of $group is slow",
    "A rebalance of consumer group $group has been running for {{ $value | humanizeDuration }}. Under an eager "
    "assignor, the group consumes nothing until the rebalance ends.",
    "If no deploy is running, check the slowest member of earlier rebalances, which the board shows.",
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
    "Consumer group $group had $count(failed rebalance) in the last $window (reason: {{ $labels.reason }}).",
    "If the reason is assign_error, return to the previous assignor. If the reason is aborted, stop members that crash "
    "while they join.",
)

STORM = Alert(
    "KafkaGroupRebalanceStorm",
    """
    round(cluster_consumergroup:kafka_rebalance_completed:increase$window) > $rebalances
      and round(cluster_consumergroup:kafka_rebalance_completed:increase$window)
        > $per_member * max by (cluster, consumergroup) (max_over_time(kafka_rebalance_members[$window]))
    """,
    "$group rebalances too often",
    "Consumer group $group rebalanced {{ $value | humanize }} times in the last $window, more than $per_member times "
    "per member, and no deploy was detected.",
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
    "Rebalances of $group change nothing",
    "In the last $window, $count(rebalance) of consumer group $group moved no partitions. Under an "
    "eager assignor, each of them stalled all partitions.",
    "Use rebalance-agent explain or the coordinator's log to find the member that starts these rebalances, and check "
    "what this member does at these times.",
)

ROLLOUT = Alert(
    "KafkaGroupRolloutInProgress",
    """
    max by (cluster, consumergroup) (kafka_rebalance_rollout_in_progress) == 1
    """,
    "A deploy replaces the members of $group",
    "The members of consumer group $group are being replaced one after the other, without failures.",
    "No action is needed; this alert only inhibits the storm alert.",
)

FLAPPING = Alert(
    "KafkaGroupMemberFlapping",
    """
    max by (cluster, consumergroup) (kafka_rebalance_flapping_members) >= $members
    """,
    "Members of $group leave and return repeatedly",
    "Consumer group $group has $count(flapping member). Each time a flapping member leaves or returns, the group "
    "rebalances.",
    "Run rebalance-agent explain to find these members. Stop them, and find out why they leave.",
)

NEAR_POLL_LIMIT = Alert(
    "KafkaGroupMemberNearPollLimit",
    """
    max by (cluster, consumergroup, client_id, host) (
      kafka_rebalance_member_client_last_poll_age_seconds
        or kafka_rebalance_member_client_poll_interval_seconds{stat="max"}
    ) > min by (cluster, consumergroup, client_id, host) (
      $ratio * kafka_rebalance_member_client_poll_limit_seconds
        or label_replace(kafka_rebalance_member_client_poll_limit_seconds >= $limit, "from", "end", "", "") - $remaining
    )
    """,
    "A member of $group calls poll() too rarely",
    "A member of consumer group $group did not call poll() for {{ $value | humanizeDuration }}. If its "
    "max.poll.interval.ms passes, the member leaves the group, which then rebalances.",
    "The labels client_id and host identify the member. Find out what it does between its calls to poll().",
    Board.MEMBERS,
)

EAGER = Alert(
    "KafkaGroupEagerLargeGroup",
    """
    max by (cluster, consumergroup) (kafka_rebalance_members) >= $members
      and on (cluster, consumergroup) kafka_rebalance_group_info{rebalance_protocol="eager"} == 1
    """,
    "$group is large and uses an eager assignor",
    "Consumer group $group has {{ $value | humanize }} members and an eager assignor, so each rebalance stops all of "
    "them.",
    "Plan a change to a cooperative assignor. Until then, restart many members at the same time in deploys.",
)

REBALANCES = RuleGroup(
    "kafka-rebalance-rebalances",
    "Rebalances that do not end, are too frequent, fail, or are about to happen.",
    (STUCK, SLOW, FAILED, STORM, NOOP, ROLLOUT, FLAPPING, NEAR_POLL_LIMIT, EAGER),
)
