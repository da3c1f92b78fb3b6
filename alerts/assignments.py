"""Alerts on assignments: partitions without an owner, uneven loads, unnecessary moves, records of share groups."""

from __future__ import annotations

from alerts.rule import Alert, Board, RuleGroup

__all__ = ["ASSIGNMENTS"]

SKEWED = Alert(
    "KafkaGroupAssignmentSkewed",
    """
    max by (cluster, consumergroup) (kafka_rebalance_assignment_skew_ratio{weight="partitions"}) > $ratio
      and max by (cluster, consumergroup) (kafka_rebalance_members) > $members
    """,
    "$group has an uneven assignment",
    "For $for, the most loaded member of consumer group $group has had {{ $value | humanize }} times its share of the "
    "partitions under the group's strategy.",
    "If lag grows, change the assignor; more members may not help.",
)

IMBALANCED = Alert(
    "KafkaGroupAssignmentImbalanced",
    """
    max by (cluster, consumergroup) (kafka_rebalance_assignment_imbalance_partitions) > $partitions
    """,
    "$group could be balanced better",
    "For $for, a member of consumer group $group has had {{ $value | humanize }} more partitions than in the best "
    "possible assignment.",
    "This is not urgent; rebalance-agent whatif shows which assignor balances better.",
)

CLUSTERED = Alert(
    "KafkaGroupTopicClustered",
    """
    min by (cluster, consumergroup, topic) (kafka_rebalance_topic_spread_ratio) < $ratio
    """,
    "{{ $labels.topic }} is concentrated on few members of $group",
    "For $for, the partitions of topic {{ $labels.topic }} have been on only {{ $value | humanizePercentage }} of the "
    "members of consumer group $group that could own them.",
    "This is urgent only if the topic lags; in that case, change the assignor to range.",
)

ONE_HOST = Alert(
    "KafkaGroupTopicsOnOneHost",
    """
    max by (cluster, consumergroup) (kafka_rebalance_topics_on_one_host_ratio) > $ratio
    """,
    "Many topics of $group are on one host each",
    "Several hosts could share the topics of consumer group $group. But for $for, {{ $value | humanizePercentage }} of "
    "these topics have been on a single host each: members on that host own all partitions of the topic. If the host "
    "fails, all these partitions are stalled; until then, the host has the topic's whole load.",
    "This is urgent only if a host is overloaded; shuffled-roundrobin spreads the topics over the hosts.",
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
    "$group has lost all its members",
    "Consumer group $group has had no members for {{ $value | humanizeDuration }}, so it consumes nothing.",
    "Start its consumers; if the group is empty on purpose, add it to the setting empty_groups_allow.",
)

STUCK = Alert(
    "KafkaGroupPartitionStuck",
    """
    max by (cluster, consumergroup) (kafka_rebalance_stuck_partition_seconds) > $seconds
      unless max by (cluster, consumergroup) (kafka_rebalance_in_progress_seconds) > 0
    """,
    "A partition of $group makes no progress",
    "A partition of consumer group $group has an owner and receives records, but its committed offset has not moved "
    "for {{ $value | humanizeDuration }}.",
    "The agent's page shows the partition; check the log of its owner, and restart that member.",
)

UNASSIGNED = Alert(
    "KafkaGroupPartitionsUnassigned",
    """
    max by (cluster, consumergroup) (kafka_rebalance_partitions_unassigned) >= $partitions
      and max by (cluster, consumergroup) (kafka_rebalance_members) > 0
      unless max by (cluster, consumergroup) (kafka_rebalance_in_progress_seconds) > 0
    """,
    "Some partitions of $group have no owner",
    "Consumer group $group has had $count(subscribed partition) without an owner for $for, although no rebalance is "
    "running. Partitions without an owner are not consumed.",
    "Restart one member, which starts a rebalance unless the member is static; if that does not help, restart the "
    "leader.",
)

COPARTITION = Alert(
    "KafkaGroupCopartitionBroken",
    """
    max by (cluster, consumergroup) (kafka_rebalance_copartition_breaks) >= $partitions
    """,
    "Co-partitioned partitions of $group have different owners",
    "For $for, partitions with the same number have had different owners in consumer group $group, although their "
    "topics are configured as co-partitioned ($count(partition number)). Joins of these partitions miss records.",
    "If wrong results do harm, stop the application. Then use an assignor that gives partitions with the same number "
    "to one member.",
)

LOST = Alert(
    "KafkaGroupPartitionsLost",
    """
    round($across by (cluster, consumergroup) (increase(kafka_rebalance_partitions_lost_total[$window]))) >= $partitions
    """,
    "Members of $group failed while they owned partitions",
    "Members of consumer group $group that failed in the last $window owned $count(partition). The partitions are "
    "stalled until other members have taken them over. Some of their records may be read twice.",
    "Check that the failed members have returned and do not fail again.",
)

DOUBLY_OWNED = Alert(
    "KafkaGroupPartitionsDoublyOwned",
    """
    $across by (cluster, consumergroup) (increase(kafka_rebalance_doubly_owned_partition_seconds_total[$window]))
      >= $partition_seconds
    """,
    "Partitions of $group had two owners",
    "Members of consumer group $group that the coordinator had removed kept partitions that other members already "
    "owned, for {{ $value | humanize }} partition-seconds (reported in the last $window). The removed members and the "
    "new owners may have processed the same records.",
    "Use rebalance-agent explain to find the removed member, and check its log for the cause of its removal.",
)

EXCESS = Alert(
    "KafkaGroupExcessMoves",
    """
    round(cluster_consumergroup:kafka_rebalance_partitions_moved_excess:increase$window) > $moves
      and cluster_consumergroup:kafka_rebalance_partitions_moved_excess:increase$window
        > $share * max by (cluster, consumergroup) (kafka_rebalance_partitions)
    """,
    "$group moves more partitions than necessary",
    "In the last $window, rebalances of consumer group $group made {{ $value | humanize }} more partition moves than "
    "the same balance needed.",
    "This is not urgent; a sticky assignor avoids these moves.",
)

IDLE = Alert(
    "KafkaGroupIdleMembers",
    """
    max by (cluster, consumergroup) (kafka_rebalance_idle_members) >= $members
    """,
    "Members of $group have no partitions",
    "Consumer group $group has had $count(member) without a partition for $for. Standbys are not counted.",
    "Run fewer members, or use an assignor that balances evenly.",
)

STANDBY = Alert(
    "KafkaGroupStandbyMissing",
    """
    max by (cluster, consumergroup) (kafka_rebalance_members) < $members
      and on (cluster, consumergroup) kafka_rebalance_group_info{assignor=~"(cooperative-)?failover"} == 1
      and max by (cluster, consumergroup) (kafka_rebalance_members) > 0
    """,
    "$group has no standby",
    "Consumer group $group uses a failover assignor, but has had only $count(member) for $for, so no standby could "
    "take over.",
    "Start another member.",
)

STREAMS_STANDBYS = Alert(
    "KafkaGroupStreamsStandbysMissing",
    """
    max by (cluster, consumergroup) (kafka_rebalance_streams_tasks{kind="standby"})
      < $share * max by (cluster, consumergroup) (max_over_time(kafka_rebalance_streams_tasks{kind="standby"}[$window]))
      and max by (cluster, consumergroup) (kafka_rebalance_members) > 0
    """,
    "$group has lost standby tasks",
    "For $for, streams group $group has had $count(standby task), less than $share of the highest number in the last "
    "$window. If a member fails, a task without a standby task is stalled until another member has restored its state.",
    "Start the missing instances of the application; each copy of a task needs its own process.",
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
    "The coordinator's record of consumer group $group has reached {{ $value | humanizePercentage }} of the maximum "
    "record size of __consumer_offsets. Above the maximum, the group can no longer rebalance.",
    "Raise max.message.bytes of __consumer_offsets before that happens.",
)

SHARE_RECORDS = Alert(
    "KafkaGroupShareRecordsFail",
    """
    sum by (cluster, consumergroup) (
      increase(kafka_rebalance_share_acquired_records_total{delivery!="1"}[$window])
        or increase(kafka_rebalance_share_acknowledged_records_total{type="reject"}[$window])
    )
      / sum by (cluster, consumergroup) (increase(kafka_rebalance_share_acquired_records_total[$window]))
      > $share
      and sum by (cluster, consumergroup) (
        increase(kafka_rebalance_share_acquired_records_total{delivery!="1"}[$window])
          or increase(kafka_rebalance_share_acknowledged_records_total{type="reject"}[$window])
      ) >= $records
    """,
    "Many records of share group $group fail",
    "In the last $window, {{ $value | humanizePercentage }} of the deliveries of share group $group were repeated "
    "deliveries or ended with a rejected record. The broker archives rejected records, and records that are not "
    "accepted at their last delivery; these records are not processed.",
    "Use the consumers' logs to find out whether certain records or a certain consumer cause the failures. The board "
    "shows the number of deliveries and the acknowledgements.",
    Board.MEMBERS,
)

SHARE_LAG = Alert(
    "KafkaGroupShareLagGrows",
    """
    max by (cluster, consumergroup) (kafka_rebalance_group_lag_offsets)
      and min by (cluster, consumergroup) (min_over_time(kafka_rebalance_group_lag_offsets[$window]))
        > max by (cluster, consumergroup) (max_over_time(kafka_rebalance_group_lag_offsets[$window] offset $before))
      and max by (cluster, consumergroup) (kafka_rebalance_group_lag_seconds) > $seconds
      and max by (cluster, consumergroup) (kafka_rebalance_members) > 0
      and on (cluster, consumergroup) kafka_rebalance_group_info{group_type="share"} == 1
    """,
    "The lag of share group $group grows",
    "The lag of share group $group keeps growing, although the group has members. The lag is now $count(record) that "
    "the group has neither acknowledged nor archived; the oldest of these records is more than $seconds s old.",
    "If members hold records without acknowledging them, restart these members; otherwise start more members. A share "
    "group can have more members than partitions.",
)

ASSIGNMENTS = RuleGroup(
    "kafka-rebalance-assignments",
    "Assignments: partitions without an owner, overloaded members, unnecessary moves, records of share groups.",
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
        STREAMS_STANDBYS,
        METADATA,
        SHARE_RECORDS,
        SHARE_LAG,
    ),
)
