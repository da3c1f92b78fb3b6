"""What rebalances leave behind: partitions without an owner, members with too much, moves that were not needed."""

from __future__ import annotations

from alerts.rule import Alert, RuleGroup

__all__ = ["ASSIGNMENTS"]

SKEWED = Alert(
    "KafkaGroupAssignmentSkewed",
    """
    max by (cluster, consumergroup) (kafka_rebalance_assignment_skew_ratio{weight="partitions"}) > $ratio
      and max by (cluster, consumergroup) (kafka_rebalance_members) > $members
    """,
    "$group is shared out unevenly",
    "The most loaded member of consumer group $group has had {{ $value | humanize }} times the "
    "partitions that it could have, for $for.",
    "If lag grows, change the assignor; more members may not help.",
)

IMBALANCED = Alert(
    "KafkaGroupAssignmentImbalanced",
    """
    max by (cluster, consumergroup) (kafka_rebalance_assignment_imbalance_partitions) > $partitions
    """,
    "$group could be balanced better",
    "Partitions that a member of consumer group $group has had beyond what it needs to have, for $for: "
    "{{ $value | humanize }}.",
    "No hurry; rebalance-agent whatif says which assignor would do better.",
)

CLUSTERED = Alert(
    "KafkaGroupTopicClustered",
    """
    min by (cluster, consumergroup, topic) (kafka_rebalance_topic_spread_ratio) < $ratio
    """,
    "{{ $labels.topic }} sits on few members of $group",
    "The partitions of topic {{ $labels.topic }} have been on {{ $value | humanizePercentage }} of the members of "
    "consumer group $group that could share them, for $for.",
    "No hurry unless the topic lags; then restart one of its owners.",
)

EMPTY = Alert(
    "KafkaGroupEmpty",
    """
    (
      max by (cluster, consumergroup) (kafka_rebalance_group_empty_seconds) > $seconds
        and max by (cluster, consumergroup) (kafka_rebalance_group_empty_seconds) < $abandoned_seconds
        unless group by (cluster, consumergroup) (kafka_rebalance_group_lag_offsets)
    )
    or (
      max by (cluster, consumergroup) (kafka_rebalance_group_empty_seconds) > $seconds
        and group by (cluster, consumergroup) (delta(kafka_rebalance_group_lag_offsets[$window]) > 0)
    )
    """,
    "All members of $group are gone",
    "Consumer group $group had members and has had none for {{ $value | humanizeDuration }}: nobody reads its topics.",
    "Start its consumers; if none should run now, name the group in empty_groups_allow.",
)

STUCK = Alert(
    "KafkaGroupPartitionStuck",
    """
    max by (cluster, consumergroup) (kafka_rebalance_stuck_partition_seconds) > $seconds
      unless max by (cluster, consumergroup) (kafka_rebalance_in_progress_seconds) > 0
    """,
    "A partition of $group makes no progress",
    "A partition of consumer group $group has an owner and gets records, but its committed offset has not moved for "
    "{{ $value | humanizeDuration }}.",
    "The agent's page names the partition: look at its owner's log, and restart that member.",
)

UNASSIGNED = Alert(
    "KafkaGroupPartitionsUnassigned",
    """
    max by (cluster, consumergroup) (kafka_rebalance_partitions_unassigned) >= $partitions
      and max by (cluster, consumergroup) (kafka_rebalance_members) > 0
      unless max by (cluster, consumergroup) (kafka_rebalance_in_progress_seconds) > 0
    """,
    "Nobody consumes some partitions of $group",
    "Partitions that consumer group $group subscribes to and that have had no owner for $for, while no rebalance runs: "
    "{{ $value | humanize }}. Nobody reads them.",
    "Restart one member, so that the group rebalances; if that does not help, the leader.",
)

COPARTITION = Alert(
    "KafkaGroupCopartitionBroken",
    """
    max by (cluster, consumergroup) (kafka_rebalance_copartition_breaks) >= $partitions
    """,
    "$group joins what does not lie together",
    "Partition numbers of consumer group $group whose topics have had different owners for $for, although they are "
    "declared to be read side by side: {{ $value | humanize }}. What is joined there misses records.",
    "Stop what writes wrong results on, and use an assignor that keeps numbers together.",
)

LOST = Alert(
    "KafkaGroupPartitionsLost",
    """
    round($across by (cluster, consumergroup) (increase(kafka_rebalance_partitions_lost_total[$window]))) >= $partitions
    """,
    "Members of $group went without giving up their partitions",
    "Partitions of consumer group $group that were taken from members that failed within $window: "
    "{{ $value | humanize }}. They stood still until the session timed out, and records may be read twice.",
    "See that the member came back, and stays.",
)

EXCESS = Alert(
    "KafkaGroupExcessMoves",
    """
    round(cluster_consumergroup:kafka_rebalance_partitions_moved_excess:increase$window) > $moves
      and cluster_consumergroup:kafka_rebalance_partitions_moved_excess:increase$window
        > $share * max by (cluster, consumergroup) (kafka_rebalance_partitions)
    """,
    "$group moves partitions that could stay",
    "Rebalances of consumer group $group moved {{ $value | humanize }} partitions within $window that "
    "an equally good balance would have left where they were.",
    "No hurry; a sticky assignor does so.",
)

IDLE = Alert(
    "KafkaGroupIdleMembers",
    """
    max by (cluster, consumergroup) (kafka_rebalance_idle_members) >= $members
    """,
    "Members of $group have nothing to do",
    "Members of consumer group $group that have had no partition for $for: {{ $value | humanize }}. Standbys are not "
    "counted.",
    "Run fewer members, or an assignor that shares out evenly.",
)

STANDBY = Alert(
    "KafkaGroupStandbyMissing",
    """
    max by (cluster, consumergroup) (kafka_rebalance_members) < $members
      and on (cluster, consumergroup) kafka_rebalance_group_info{assignor=~"(cooperative-)?failover"} == 1
      and max by (cluster, consumergroup) (kafka_rebalance_members) > 0
    """,
    "$group has no standby",
    "Members of consumer group $group, which runs a failover assignor, for $for: {{ $value | humanize }}. Nobody would "
    "take over.",
    "Start another member.",
)

METADATA = Alert(
    "KafkaGroupMetadataNearLimit",
    """
    max by (cluster, consumergroup) (kafka_rebalance_group_metadata_bytes)
      / on (cluster) group_left () (
        max by (cluster) (rebalance_agent_offsets_message_max_bytes)
        or 0 * max by (cluster) (kafka_rebalance_group_metadata_bytes) + $limit_bytes
      )
      > $share
    """,
    "$group is near the largest group that Kafka can store",
    "The record of consumer group $group takes {{ $value | humanizePercentage }} of what a record of "
    "__consumer_offsets may have. Above all of it the group can no longer rebalance.",
    "Raise max.message.bytes of __consumer_offsets before that.",
)

ASSIGNMENTS = RuleGroup(
    "kafka-rebalance-assignments",
    "What rebalances leave behind: partitions without an owner, members with too much, moves that were not needed.",
    (SKEWED, IMBALANCED, CLUSTERED, EMPTY, STUCK, UNASSIGNED, COPARTITION, LOST, EXCESS, IDLE, STANDBY, METADATA),
)
