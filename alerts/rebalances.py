"""Rebalances that do not end, come too often, or come to nothing."""

from __future__ import annotations

from alerts.rule import Alert, RuleGroup

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
    "its members' rebalance timeout allows: nothing will end it by itself.",
    "Restart the member that it waits for, most likely the slowest of the rebalances before, which the board names.",
)

SLOW = Alert(
    "KafkaGroupRebalanceSlow",
    """
    max by (cluster, consumergroup) (kafka_rebalance_in_progress_seconds) > $seconds
    """,
    "Rebalance of $group is slow",
    "The rebalance of consumer group $group has run for {{ $value | humanizeDuration }}. Under an "
    "eager assignor nothing is consumed meanwhile.",
    "Unless a deploy goes on, look at the member that was slowest before, which the board names.",
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
    "Rebalances of $group come to nothing",
    "Rebalances of consumer group $group that came to nothing within $window: {{ $value | humanize }} "
    "({{ $labels.reason }}).",
    "For assign_error go back to the assignor that worked; for aborted stop what crashes while it joins.",
)

STORM = Alert(
    "KafkaGroupRebalanceStorm",
    """
    round(cluster_consumergroup:kafka_rebalance_completed:increase$window) > $rebalances
      and round(cluster_consumergroup:kafka_rebalance_completed:increase$window)
        > $per_member * max by (cluster, consumergroup) (max_over_time(kafka_rebalance_members[$window]))
    """,
    "$group rebalances again and again",
    "Consumer group $group rebalanced {{ $value | humanize }} times within $window, more than "
    "$per_member times for each member, and no deploy explains it.",
    "See on the board which trigger counts most, and stop the member behind it.",
)

NOOP = Alert(
    "KafkaGroupRebalanceNoop",
    """
    round($across by (cluster, consumergroup) (increase(kafka_rebalance_noop_total[$window]))) >= $rebalances
    """,
    "$group rebalances for nothing",
    "{{ $value | humanize }} rebalances of consumer group $group within $window left every partition "
    "where it was: they cost a stall each and changed nothing.",
    "See which member asks for them (rebalance-agent explain names it), and what it does then.",
)

ROLLOUT = Alert(
    "KafkaGroupRolloutInProgress",
    """
    max by (cluster, consumergroup) (kafka_rebalance_rollout_in_progress) == 1
    """,
    "$group is being deployed",
    "The members of consumer group $group are being replaced one after the other, and nothing fails.",
    "Nothing is to be done; this only keeps the alert on storms silent.",
)

FLAPPING = Alert(
    "KafkaGroupMemberFlapping",
    """
    max by (cluster, consumergroup) (kafka_rebalance_flapping_members) >= $members
    """,
    "Members of $group leave and come back",
    "Members of consumer group $group that leave and come back again and again: {{ $value | humanize }}. Each time the "
    "group rebalances.",
    "Stop those that rebalance-agent explain names, and find out why they go.",
)

EAGER = Alert(
    "KafkaGroupEagerLargeGroup",
    """
    max by (cluster, consumergroup) (kafka_rebalance_members) >= $members
      and on (cluster, consumergroup) kafka_rebalance_group_info{rebalance_protocol="eager"} == 1
    """,
    "$group is large and eager",
    "Consumer group $group has {{ $value | humanize }} members under an eager assignor: each rebalance "
    "stops all of them.",
    "Plan a cooperative assignor; until then deploy many members at once.",
)

REBALANCES = RuleGroup(
    "kafka-rebalance-rebalances",
    "Rebalances that do not end, come too often, or come to nothing.",
    (STUCK, SLOW, FAILED, STORM, NOOP, ROLLOUT, FLAPPING, EAGER),
)
