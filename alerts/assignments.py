"""Alerts on assignments: partitions without an owner, overloaded members, unnecessary moves."""

from __future__ import annotations

from alerts.rule import Alert, RuleGroup

__all__ = ["ASSIGNMENTS"]

SKEWED = Alert(
    "KafkaGroupAssignmentSkewed",
    """
    max by (cluster, consumergroup) (kafka_rebalance_assignment_skew_ratio{weight="partitions"}) > $ratio
      and max by (cluster, consumergroup) (kafka_rebalance_members) > $members
    """,
    "$group has an uneven assignment",
    "The most loaded member of consumer group $group has had {{ $value | humanize }} times the "
    "partitions that its strategy promises, for $for.",
    "If lag grows, change the assignor; more members may not help.",
)

IMBALANCED = Alert(
    "KafkaGroupAssignmentImbalanced",
    """
    max by (cluster, consumergroup) (kafka_rebalance_assignment_imbalance_partitions) > $partitions
    """,
    "$group has a better possible balance",
    "A member of consumer group $group has had {{ $value | humanize }} partitions more than in the best possible "
    "assignment, for $for.",
    "This is not urgent; rebalance-agent whatif shows which assignor is better.",
)

CLUSTERED = Alert(
    "KafkaGroupTopicClustered",
    """
    min by (cluster, consumergroup, topic) (kafka_rebalance_topic_spread_ratio) < $ratio
    """,
    "{{ $labels.topic }} is on few members of $group",
    "The partitions of topic {{ $labels.topic }} have been on {{ $value | humanizePercentage }} of the members of "
    "consumer group $group that could own them, for $for.",
    "This is not urgent unless the topic lags; then restart one of its owners.",
)

ONE_HOST = Alert(
    "KafkaGroupTopicsOnOneHost",
    """
    max by (cluster, consumergroup) (kafka_rebalance_topics_on_one_host_ratio) > $ratio
    """,
    "Topics of $group are each on one host",
    "In consumer group $group, {{ $value | humanizePercentage }} of the topics that several hosts could share have "
    "each been wholly on one host, for $for. Such a topic is stalled if its host fails, and loads that host alone.",
    "This is not urgent unless a host is overloaded; shuffled-roundrobin distributes the topics over the hosts.",
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
    "Consumer group $group has had no members for {{ $value | humanizeDuration }}: its topics have no consumer.",
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
    "Some partitions of $group have no owner",
    "Subscribed partitions of consumer group $group without an owner for $for, while no rebalance runs: "
    "{{ $value | humanize }}. They are not consumed.",
    "Restart one member, which starts a rebalance; if that does not help, restart the leader.",
)

COPARTITION = Alert(
    "KafkaGroupCopartitionBroken",
    """
    max by (cluster, consumergroup) (kafka_rebalance_copartition_breaks) >= $partitions
    """,
    "$group has co-partitioned topics on different members",
    "Partition numbers of consumer group $group whose topics have had different owners for $for, although these topics "
    "are configured as co-partitioned: {{ $value | humanize }}. Joins of these partitions miss records.",
    "Stop the output of wrong results, and use an assignor that keeps partition numbers together.",
)

LOST = Alert(
    "KafkaGroupPartitionsLost",
    """
    round($across by (cluster, consumergroup) (increase(kafka_rebalance_partitions_lost_total[$window]))) >= $partitions
    """,
    "Members of $group failed with partitions",
    "Partitions of members of consumer group $group that failed within $window: {{ $value | humanize }}. They were "
    "stalled until the coordinator removed the members, and records may be read twice.",
    "Check that the member has returned and does not fail again.",
)

DOUBLY_OWNED = Alert(
    "KafkaGroupPartitionsDoublyOwned",
    """
    $across by (cluster, consumergroup) (increase(kafka_rebalance_doubly_owned_partition_seconds_total[$window]))
      >= $partition_seconds
    """,
    "Partitions of $group had two owners",
    "Members of consumer group $group that the coordinator had removed still held partitions that others owned, for "
    "{{ $value | humanize }} partition-seconds. Their reports came in the last $window. Both may have processed "
    "records of these partitions.",
    "Find the member with rebalance-agent explain, and look in its log for what stopped it.",
)

EXCESS = Alert(
    "KafkaGroupExcessMoves",
    """
    round(cluster_consumergroup:kafka_rebalance_partitions_moved_excess:increase$window) > $moves
      and cluster_consumergroup:kafka_rebalance_partitions_moved_excess:increase$window
        > $share * max by (cluster, consumergroup) (kafka_rebalance_partitions)
    """,
    "$group moves more partitions than necessary",
    "Rebalances of consumer group $group moved {{ $value | humanize }} partitions within $window more "
    "than an equally good balance needed.",
    "This is not urgent; a sticky assignor avoids these moves.",
)

IDLE = Alert(
    "KafkaGroupIdleMembers",
    """
    max by (cluster, consumergroup) (kafka_rebalance_idle_members) >= $members
    """,
    "Members of $group have no partitions",
    "Members of consumer group $group without a partition for $for: {{ $value | humanize }}. Standbys are not counted.",
    "Run fewer members, or use an assignor with an even balance.",
)

STANDBY = Alert(
    "KafkaGroupStandbyMissing",
    """
    max by (cluster, consumergroup) (kafka_rebalance_members) < $members
      and on (cluster, consumergroup) kafka_rebalance_group_info{assignor=~"(cooperative-)?failover"} == 1
      and max by (cluster, consumergroup) (kafka_rebalance_members) > 0
    """,
    "$group has no standby",
    "Consumer group $group uses a failover assignor and has had {{ $value | humanize }} member for $for. No member "
    "could take over.",
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
    "The record of $group is near the size limit",
    "The record of consumer group $group has {{ $value | humanizePercentage }} of the maximum record size of "
    "__consumer_offsets. Above the maximum the group can no longer rebalance.",
    "Raise max.message.bytes of __consumer_offsets before that.",
)

ASSIGNMENTS = RuleGroup(
    "kafka-rebalance-assignments",
    "Assignments: partitions without an owner, overloaded members, unnecessary moves.",
    (
        SKEWED,
        IMBALANCED,
        CLUSTERED,
        ONE_HOST,
        EMPTY,
        STUCK,
        UNASSIGNED,
        COPARTITION,
        LOST,
        DOUBLY_OWNED,
        EXCESS,
        IDLE,
        STANDBY,
        METADATA,
    ),
)
