"""Metrics of groups, from the coordinator's records, or from polls if the agent may not read the records.

A row describes a metric and has the function that reads the metric's value from a group's view; no other list names the
metric. A value that the source does not contain has no sample. Counters begin at 0 with a group's first view, because
``increase()`` misses the first value of a series. Gauges of one group aggregate with ``max``, counters with
``sum by (consumergroup) (increase(...))``. `GROUP_ROWS` has the rows in the order of their definitions here.
"""

from __future__ import annotations

from rebalance_agent.metrics import group_values as values
from rebalance_agent.metrics.group_metric import (
    GROUP_LABEL,
    GroupMetric,
    SeriesLimits,
    counter,
    gauge,
    labelled,
    polled,
    running,
)
from rebalance_agent.metrics.metric import ExporterRole, MetricType
from rebalance_agent.model.episode import Basis, FailureReason, Source, Trigger
from rebalance_agent.model.group import STATES, GroupState, GroupType, RebalanceProtocol, TaskKind
from rebalance_agent.tracking.patterns.empty_groups import UnownedReason
from rebalance_agent.tracking.patterns.group_stalls import Limit
from rebalance_agent.tracking.views import STALL_BUCKETS

__all__ = ["GROUP_ROWS", "GROUP_SERIES_MAX"]

_OWNER = (*GROUP_LABEL, "client_id", "host")
_HISTOGRAM_SERIES = len(STALL_BUCKETS) + 3  # +Inf, sum, count


def _classic(group_type: GroupType) -> int:
    return int(group_type is GroupType.CLASSIC)


def _on_request(_type: GroupType) -> int:
    """Count 0 towards `GROUP_SERIES_MAX`: a setting or members' reports create these series."""
    return 0


INFO = labelled(
    "kafka_rebalance_group_info",
    MetricType.INFO,
    "Type, assignor, rebalance protocol and data source of the group; always 1.",
    {
        "group_type": tuple(GroupType),
        "assignor": (),
        "rebalance_protocol": tuple(RebalanceProtocol),
        "source": tuple(Source),
    },
    samples=lambda group: [
        ((group.view.group_type, group.view.assignor or "", group.view.protocol, group.view.source), 1)
    ],
    series=lambda _type: 1,
)
STATE = labelled(
    "kafka_rebalance_group_state",
    MetricType.GAUGE,
    "1 for the current state of the group, 0 for the other states of its type.",
    {"state": tuple(state for state in GroupState if state is not GroupState.DEAD)},
    samples=values.states,
    series=lambda group_type: len(STATES[group_type]),
)
GENERATION = gauge("generation", "Generation (classic) or group epoch.", value=lambda view: view.generation)
MEMBERS = gauge("members", "Members of the group.", "members", value=lambda view: len(view.members))
STATIC_MEMBERS = gauge(
    "static_members", "Members with a group.instance.id.", "members", value=lambda view: view.static_members
)
IDLE_MEMBERS = gauge(
    "idle_members",
    "Members without partitions, although their strategy should give them some; standbys are not idle.",
    "members",
    value=lambda view: view.idle_members,
)
STREAMS_TASKS = labelled(
    "kafka_rebalance_streams_tasks",
    MetricType.GAUGE,
    "Tasks of the members of a streams group (KIP-1071). active: tasks that process records; standby: copies of the "
    "state of active tasks; warmup: copies for a planned move of a task, which become active tasks when they are "
    "complete.",
    {"kind": tuple(TaskKind)},
    "tasks",
    samples=lambda group: [((kind,), number) for kind, number in (group.view.streams_tasks or {}).items()],
    series=lambda group_type: len(TaskKind) if group_type is GroupType.STREAMS else 0,
)
DEAD_LETTER_QUEUE = labelled(
    "kafka_rebalance_share_dead_letter_queue_info",
    MetricType.INFO,
    "Topic to which brokers write records that a share group rejects or fails to process (KIP-1191); always 1. "
    "copies_records: whether each record's key and value are copied, or only headers that identify the record. Absent "
    "if the group has no such topic, or if its settings cannot be read (before Kafka 4.4, or without DescribeConfigs "
    "on the group).",
    {"topic": (), "copies_records": ("true", "false")},
    samples=values.dead_letter_queue,
    series=lambda group_type: int(group_type is GroupType.SHARE),
)
COMPLETED = labelled(
    "kafka_rebalance_completed_total",
    MetricType.COUNTER,
    "Completed rebalances, by trigger: the most serious cause of the rebalance. A cooperative rebalance with its "
    "follow-ups counts once.",
    {"trigger": tuple(Trigger)},
    "rebalances",
    samples=values.completed,
    series=lambda _type: len(Trigger),
)
FOLLOWUPS = counter(
    "followups",
    "Follow-up generations of cooperative rebalances.",
    "generations",
    value=lambda counters: counters.followups,
)
FAILED = labelled(
    "kafka_rebalance_failed_total",
    MetricType.COUNTER,
    "Failed rebalances. aborted: the coordinator started a generation but did not complete it; assign_error: the "
    "leader reported an exception in assign() (absent until members report).",
    {"reason": tuple(FailureReason)},
    "rebalances",
    samples=values.failed,
    series=lambda _type: 1,  # assign_error exists where members report
)
NOOP = counter(
    "noop",
    "Rebalances without a change of the assignment.",
    "rebalances",
    value=lambda counters: counters.noop,
)
POLLED_CHANGES = GroupMetric(
    "rebalance_agent_polled_changes_total",
    MetricType.COUNTER,
    ExporterRole.OBSERVER,
    "Changes of the group that the observer found between two polls, for groups whose records the observer has no "
    "permission to read. There may have been more rebalances than changes.",
    GROUP_LABEL,
    # The changes between two polls are the only count that polls give.
    value=lambda view: view.counters.polled_changes if polled(view) else None,
    series=lambda _type: 0,  # in place of the other counters
)
STALL = labelled(
    "kafka_rebalance_stall_seconds",
    MetricType.HISTOGRAM,
    "Longest stall of a partition in each rebalance. exact: measured by the members; bound: the lower bound of the "
    "stall.",
    {"basis": tuple(Basis)},
    "seconds",
    samples=values.stalls,
    series=lambda _type: _HISTOGRAM_SERIES,  # basis="exact" exists where members report
    buckets=STALL_BUCKETS,
)
STALL_UPPER = labelled(
    "kafka_rebalance_stall_upper_seconds",
    MetricType.HISTOGRAM,
    "Upper bound of the longest stall in each rebalance. Rebalances whose upper bound is unknown are not counted.",
    {},
    "seconds",
    samples=lambda group: () if polled(group.view) else (((), group.view.counters.upper_stalls),),
    series=lambda _type: _HISTOGRAM_SERIES,
    buckets=STALL_BUCKETS,
)
LAST_JOIN = gauge(
    "last_join_seconds",
    "Join phase of the last rebalance: the wait for the slowest member. Classic groups only.",
    "seconds",
    value=lambda view: view.last_join_seconds,
    series=_classic,
)
LAST_SYNC = gauge(
    "last_sync_seconds",
    "Sync phase of the last rebalance: the leader's assign() and the network time. Classic groups only.",
    "seconds",
    value=lambda view: view.last_sync_seconds,
    series=_classic,
)
LAST_ASSIGNOR_WAIT = gauge(
    "last_assignor_wait_seconds",
    "Time in the last rebalance for which the coordinator's assignment was older than the group's epoch. Consumer, "
    "share and streams groups only.",
    "seconds",
    value=lambda view: view.last_assignor_wait_seconds,
    series=lambda group_type: 1 - _classic(group_type),
)
LAST_RECONCILE = gauge(
    "last_reconcile_seconds",
    "Time from the coordinator's last assignment until all members have received it. Consumer, share and streams "
    "groups only.",
    "seconds",
    value=lambda view: view.last_reconcile_seconds,
    series=lambda group_type: 1 - _classic(group_type),
)
LAST_COMPLETED = gauge(
    "last_completed_timestamp_seconds",
    "Unix time of the end of the last rebalance.",
    "seconds",
    value=lambda view: view.last_episode.phases.completed_ms / 1000 if view.last_episode else None,
)
IN_PROGRESS = running(
    "kafka_rebalance_in_progress_seconds",
    MetricType.GAUGE,
    "Age of the running rebalance; 0 if no rebalance is running.",
    "seconds",
    running=values.in_progress,
)
TIMEOUT = gauge(
    "timeout_seconds",
    "Largest rebalance timeout of the members.",
    "seconds",
    value=lambda view: view.rebalance_timeout_seconds,
)
GROUP_STALLED_SECONDS = GroupMetric(
    "kafka_rebalance_group_stalled_seconds_total",
    MetricType.COUNTER,
    ExporterRole.OBSERVER,
    "Time for which at least a share of the group's partitions (default: half) was stalled (lower bound). A stall "
    "counts after it has reached a limit (label limit; default: warning 30 s, critical 90 s). Its whole time is then "
    "added, and the value grows while the stall lasts. The setting stall_limits contains the share and the limits.",
    (*GROUP_LABEL, "limit"),
    "seconds",
    {"limit": tuple(Limit)},
    running=values.group_stalls,
    series=lambda _type: len(Limit),
)
STALLED_PARTITION_SECONDS = running(
    "kafka_rebalance_stalled_partition_seconds_total",
    MetricType.COUNTER,
    "Time for which partitions were stalled (lower bound), summed over partitions.",
    "partition-seconds",
    running=lambda view, now_ms: values.partition_seconds(view, now_ms, 0),
)
STALLED_PARTITION_SECONDS_UPPER = counter(
    "stalled_partition_seconds_upper",
    "Time for which partitions were stalled, summed over partitions (upper bound, or the lower bound if the "
    "upper bound is unknown); counted when a rebalance settles.",
    "partition-seconds",
    value=lambda counters: counters.upper_stalled_partition_seconds,
)
PARTITION_SECONDS = running(
    "kafka_rebalance_partition_seconds_total",
    MetricType.COUNTER,
    "Time multiplied by the number of subscribed partitions, stalled time included; does not grow while the group is "
    "Empty.",
    "partition-seconds",
    running=lambda view, now_ms: values.partition_seconds(view, now_ms, 1),
    at_rest=True,
)
PARTITIONS = gauge(
    "partitions", "Partitions of the subscribed topics.", "partitions", value=lambda view: view.partitions
)
UNASSIGNED = gauge(
    "partitions_unassigned",
    "Partitions of the subscribed topics without an owner. For an Empty group, the topics are those "
    "to which its last members subscribed.",
    "partitions",
    value=lambda view: view.unassigned,
)
UNOWNED_SECONDS = GroupMetric(
    "kafka_rebalance_unowned_partition_seconds_total",
    MetricType.COUNTER,
    ExporterRole.OBSERVER,
    "Time for which partitions had no owner while no rebalance was running, summed over partitions. empty: the group "
    "had no members; unassigned: the assignment left the partitions out. This time is not in "
    "kafka_rebalance_stalled_partition_seconds_total.",
    (*GROUP_LABEL, "reason"),
    "partition-seconds",
    {"reason": tuple(UnownedReason)},
    running=values.unowned,
    series=lambda _type: len(UnownedReason),
)
EMPTY_SECONDS = running(
    "kafka_rebalance_group_empty_seconds",
    MetricType.GAUGE,
    "Time since the last member departed; 0 while the group has members. Absent for groups that never had a member, "
    "and for groups in empty_groups_allow.",
    "seconds",
    running=values.empty_seconds,
)
REVOKED = counter(
    "partitions_revoked",
    "Partitions that were taken from members, except partitions of members that certainly failed.",
    "partitions",
    value=lambda counters: counters.revoked,
)
ASSIGNED = counter(
    "partitions_assigned",
    "Partitions that were newly assigned to members.",
    "partitions",
    value=lambda counters: counters.assigned,
)
LOST = counter(
    "partitions_lost",
    "Partitions of members that certainly failed, according to reports or commits. Partitions of members without such "
    "evidence (member_gone) are not counted.",
    "partitions",
    value=lambda counters: counters.lost,
)
EXPELLED = counter(
    "members_expelled",
    "Members that the coordinator removed because they joined, or revoked their partitions, too late for a rebalance, "
    "according to reports, commits, or the coordinator's records. kafka_rebalance_slowest_member_seconds names these "
    "members.",
    "members",
    value=lambda counters: counters.expelled,
)
DOUBLY_OWNED_SECONDS = counter(
    "doubly_owned_partition_seconds",
    "Seconds for which removed members kept partitions that other members already owned (lower bound), summed over "
    "partitions; counted when the removed member reports that it gave them up. Absent until members report.",
    "partition-seconds",
    value=lambda counters: counters.doubly_owned_partition_seconds,
    series=_on_request,
)
MOVED = counter(
    "partitions_moved", "Partitions that changed owner.", "partitions", value=lambda counters: counters.moved
)
MOVED_EXCESS = counter(
    "partitions_moved_excess",
    "Partitions that changed owner beyond the minimum for this balance.",
    "partitions",
    value=lambda counters: counters.moved_excess,
)
SKEW = labelled(
    "kafka_rebalance_assignment_skew_ratio",
    MetricType.GAUGE,
    "Highest load of a member divided by a reference load; 1 is best. For partitions (in Kafka Streams: tasks), the "
    "reference is the load that the strategy promises. For lag (records behind) and rate (records/s produced), the "
    "highest load cannot be below the reference in any assignment, and only groups in lag_groups have these values.",
    {"weight": ("partitions", "lag", "rate")},
    "ratio",
    samples=values.skews,
    series=lambda _type: 1,  # lag and rate exist where settings turn them on
)
IMBALANCE = gauge(
    "assignment_imbalance_partitions",
    "Partitions (in Kafka Streams: tasks) that the most loaded member has above its target; 0 is optimal.",
    "partitions",
    value=lambda view: view.imbalance,
)
TOPIC_SPREAD = labelled(
    "kafka_rebalance_topic_spread_ratio",
    MetricType.GAUGE,
    "Number of the topic's owners divided by the possible number of owners. Only the lowest values of a group are "
    "exported, and only values below 1.",
    ("topic",),
    "ratio",
    samples=values.worst_topics,
    series=lambda _type: SeriesLimits().top_topics,
)
HOST_SPREAD = gauge(
    "host_spread_ratio",
    "Number of hosts that own partitions of a topic divided by the possible number of hosts, as a mean over topics; 1 "
    "is best. Absent if no topic could be on several hosts.",
    "ratio",
    value=lambda view: view.host_spread.ratio if view.host_spread else None,
)
TOPICS_ON_ONE_HOST = gauge(
    "topics_on_one_host_ratio",
    "Share of topics whose partitions are all owned by members on one host, although several hosts could own them; "
    "0 if a random distribution could also have this result.",
    "ratio",
    value=lambda view: view.host_spread.clustered_ratio if view.host_spread else None,
)
COPARTITION_BREAKS = gauge(
    "copartition_breaks",
    "Partition numbers with different owners in topics that are configured as co-partitioned.",
    "partitions",
    value=lambda view: view.copartition_breaks,
    series=_on_request,
)
OWNER_PARTITIONS = labelled(
    "kafka_rebalance_owner_partitions",
    MetricType.GAUGE,
    "Partitions of a member; the maximum if several members have the same labels.",
    ("client_id", "host"),
    "partitions",
    samples=lambda group: [
        (labels, partitions) for labels, (partitions, _) in group.owners.items() if partitions is not None
    ],
    series=_on_request,
)
OWNER_MEMBERS = labelled(
    "kafka_rebalance_owner_members",
    MetricType.GAUGE,
    "Number of members that have the same client id and host.",
    ("client_id", "host"),
    "members",
    samples=lambda group: [(labels, members) for labels, (_, members) in group.owners.items()],
    series=_on_request,
)
SEAT_TAKEN = labelled(
    "kafka_rebalance_seat_taken_timestamp_seconds",
    MetricType.GAUGE,
    "Unix time at which a consumer took over a member's seat behind a gateway: client_id and host identify the member "
    "that the coordinator shows; occupant_client_id and occupant_host identify the consumer that now has the seat. "
    "Only the newest max_member_series takeovers of a group are exported.",
    ("client_id", "host", "occupant_client_id", "occupant_host"),
    "seconds",
    samples=values.seats_taken,
    series=_on_request,
)
TOPIC_MEMBERS = labelled(
    "kafka_rebalance_topic_members",
    MetricType.GAUGE,
    "Members that own partitions of the topic, for the topics with the most partitions; _folded: all further topics. "
    "max_topic_series enables it.",
    ("topic",),
    "members",
    samples=lambda group: [((topic,), members) for topic, (members, _) in group.topics.items()],
    series=_on_request,
)
TOPIC_PARTITIONS = labelled(
    "kafka_rebalance_topic_partitions",
    MetricType.GAUGE,
    "Partitions of the topic that have an owner; _folded: all further topics. max_topic_series enables it.",
    ("topic",),
    "partitions",
    samples=lambda group: [((topic,), partitions) for topic, (_, partitions) in group.topics.items()],
    series=_on_request,
)
ROLLOUT = gauge(
    "rollout_in_progress",
    "1 while the group's members are being replaced one after the other, as in a deploy, and for 15 minutes after "
    "the last replacement; otherwise 0. It is also 0 as soon as the deploy fails: a generation was aborted, or a "
    "departed member was not replaced.",
    value=lambda view: None if polled(view) else int(view.rollout_in_progress),
)
FLAPPING = gauge(
    "flapping_members",
    "Members that leave and return repeatedly, more often than most other members of the group.",
    "members",
    value=lambda view: None if polled(view) else len(view.flapping),
)
SLOWEST_MEMBER = running(
    "kafka_rebalance_slowest_member_seconds",
    MetricType.GAUGE,
    "How long the other members certainly waited for this member in the last rebalance in which it was the slowest "
    "member, even if the coordinator removed this member; shown for an hour. At most five members: the slowest "
    "member of the last rebalance, and the members with the longest waits in earlier rebalances.",
    "seconds",
    _OWNER,
    running=values.slowest,
    series=0,
)
DEPARTURES = running(
    "kafka_rebalance_departures",
    MetricType.GAUGE,
    "Number of departures of this member, each at most 15 minutes after the previous one; shown for an hour after "
    "the last departure. Only for members that failed or were expelled (according to reports, commits, or the "
    "coordinator's records), or that departed at least three times. how: the kind of the last departure. At most "
    "five members of a group: first those that failed, then those that departed most often.",
    "departures",
    (*_OWNER, "how"),
    {"how": ("left", "failed", "expelled", "unknown")},
    running=values.departures,
    series=0,
)
METADATA_BYTES = gauge(
    "group_metadata_bytes",
    "Size of a classic group's record, limited by max.message.bytes of __consumer_offsets. Groups of other types "
    "have a small record for each member.",
    "bytes",
    value=lambda view: view.metadata_bytes,
    series=_classic,
)

GROUP_ROWS: tuple[GroupMetric, ...] = tuple(row for row in list(globals().values()) if isinstance(row, GroupMetric))
"""All rows above, in the order of /metrics and of the documentation."""

GROUP_SERIES_MAX = max(sum(row.series(group_type) for row in GROUP_ROWS) for group_type in GroupType)
"""Maximum number of series that one group exports. Half of them are series for each trigger, state or bucket.

The number does not include three kinds of series: series of single members (``owner_*``, ``slowest_member``,
``seat_taken``), series from members' reports (stalls with ``basis="exact"``, failed ``assign()`` calls, partitions
with two owners), and series that settings turn on (single topics, skew by lag or rate, co-partition breaks).
"""
