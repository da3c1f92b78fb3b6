"""The board Group: the rebalances of one consumer group, their causes and costs."""

from __future__ import annotations

from dashboards.board import AGENT_UID, FLEET_UID, GROUP_UID, MEMBERS_UID, Annotation, Board, leads_to
from dashboards.goals import AVAILABILITY, DURATION, GOAL, SHARES
from dashboards.grid import Row
from dashboards.panel import BAD, GOOD, NEUTRAL, WARN, Column, Link, Look, Panel, above, below
from dashboards.query import ONE_GROUP, ROLE, Query, count_in, gauge, quantile, times_in
from dashboards.variables import ACROSS, cluster, instance, job, one_group

__all__ = ["ONE"]

COMPLETED = "kafka_rebalance_completed_total"
STALLED = "kafka_rebalance_stalled_partition_seconds_total"
STALLED_UPPER = "kafka_rebalance_stalled_partition_seconds_upper_total"
WHOLE = "kafka_rebalance_partition_seconds_total"
STALL = "kafka_rebalance_stall_seconds"
GROUP_STALLED = "kafka_rebalance_group_stalled_seconds_total"
STALL_UPPER = "kafka_rebalance_stall_upper_seconds"
SKEW = "kafka_rebalance_assignment_skew_ratio"
RUNNING = gauge("kafka_rebalance_in_progress_seconds", ONE_GROUP)

STATES = (
    ("Stable", GOOD),
    ("PreparingRebalance", BAD),
    ("CompletingRebalance", WARN),
    ("Assigning", BAD),
    ("Reconciling", WARN),
    ("NotReady", "purple"),
    ("Empty", NEUTRAL),
)
"""The states in the broker's spelling. The number of a state on the board is its position here, from 1."""

STATE = " or ".join(
    f'max by (cluster, consumergroup) (kafka_rebalance_group_state{{{ONE_GROUP}, state="{state}"}} == 1) * {number}'
    for number, (state, _) in enumerate(STATES, 1)
)

TO_MEMBER = Link(
    "Open the reports of this member",
    f"/d/{MEMBERS_UID}?var-client_id=${{__data.fields.Client:percentencode}}"
    "&${datasource:queryparam}&${cluster:queryparam}&${consumergroup:queryparam}&from=${__from}&to=${__to}",
)
LINE_TO_MEMBER = Link(TO_MEMBER.title, TO_MEMBER.url.replace("__data.fields.Client", "__field.labels.client_id"))


def of(metric: str, legend: str, *by: str) -> Query:
    """Return the gauge as a line."""
    return Query(gauge(metric, ONE_GROUP, *by), legend)


def counted(metric: str, legend: str, *by: str) -> Query:
    """Return the counter as bars."""
    return Query(times_in(metric, ONE_GROUP, *by, window="$__rate_interval"), legend)


NUMBERS = (
    Panel(
        1,
        "Availability",
        "What share of the possible service time of this group's partitions was without a stall (lower bound)? For "
        f"the time range; the alerts' objective is {GOAL}.",
        (Query(f"1 - {count_in(STALLED, ONE_GROUP)} / {count_in(WHOLE, ONE_GROUP)}", now=True),),
        Look.NUMBER,
        "percentunit",
        width=3,
        thresholds=AVAILABILITY,
        decimals=2,
        most=1,
        empty="unknown",
    ),
    Panel(
        2,
        "Rebalances",
        "How many rebalances did the group have in the time range? A cooperative rebalance with its follow-ups "
        "counts once.",
        (Query(f"{times_in(COMPLETED, ONE_GROUP)}", now=True),),
        Look.NUMBER,
        width=3,
        decimals=0,
        empty="unknown",
    ),
    Panel(
        3,
        "Running for",
        "Is a rebalance running, and for how long? If it is longer than the members' rebalance timeout (5 minutes by "
        "default), it is stuck.",
        (Query(RUNNING, now=True),),
        Look.NUMBER,
        "s",
        width=3,
        thresholds=DURATION,
        decimals=0,
        empty="unknown",
    ),
    Panel(
        4,
        "Last rebalance",
        "How long ago did the last rebalance end? Repeated values below a minute mean a storm.",
        (
            Query(
                f"time() - {gauge('kafka_rebalance_last_completed_timestamp_seconds', ONE_GROUP)}",
                now=True,
            ),
        ),
        Look.NUMBER,
        "s",
        width=3,
        decimals=0,
        empty="none seen",
    ),
    Panel(
        5,
        "Members",
        "How many members does the group have? 0: the group consumes nothing.",
        (Query(gauge("kafka_rebalance_members", ONE_GROUP), now=True),),
        Look.NUMBER,
        width=3,
        thresholds=((None, BAD), (1, NEUTRAL)),
        decimals=0,
        empty="unknown",
    ),
    Panel(
        6,
        "Without owner",
        "How many subscribed partitions have no owner? In a Stable group they are not consumed.",
        (Query(gauge("kafka_rebalance_partitions_unassigned", ONE_GROUP), now=True),),
        Look.NUMBER,
        width=3,
        thresholds=above(bad=1),
        decimals=0,
        empty="unknown",
    ),
    Panel(
        7,
        "Skew",
        "Does a member have more partitions than its strategy promises? The highest load divided by the promised "
        "load; 1 is best.",
        (Query(gauge(SKEW, ONE_GROUP + ', weight="partitions"'), now=True),),
        Look.NUMBER,
        width=3,
        thresholds=SHARES,
        decimals=2,
        empty="unknown",
    ),
    Panel(
        8,
        "Record size",
        "Is the group's record near the maximum record size of the offsets topic? At 100 % a classic group can no "
        "longer rebalance. Fewer members, shorter topic lists or a larger max.message.bytes help.",
        (
            Query(
                f"{gauge('kafka_rebalance_group_metadata_bytes', ONE_GROUP)} / on (cluster) group_left "
                f"{gauge('rebalance_agent_offsets_message_max_bytes', ROLE, 'cluster')}",
                now=True,
            ),
        ),
        Look.NUMBER,
        "percentunit",
        width=3,
        thresholds=above(0.5, 0.8),
        decimals=0,
        most=1,
        empty="no classic group, or unknown limit",
    ),
)

TIMELINE = Panel(
    9,
    "State",
    "In which state was the group at which time? Red (members rejoin) and orange (members wait for the assignment) "
    "mean that consumption stops; cooperative members continue with the partitions that they keep.",
    (Query(STATE, "state"),),
    Look.STATES,
    width=16,
    thresholds=((None, NEUTRAL),),
    least=None,
    empty="no data of the group in this time",
    mappings={str(number): state for number, state in enumerate(STATES, 1)},
)
RUNS = Panel(
    10,
    "What it runs",
    "Which assignor and protocol does the group use, and from which source? Eager assignors stop every partition in "
    "each rebalance. Source admin: no right to read the offsets topic, so stalls are unknown.",
    (
        Query(
            gauge(
                "kafka_rebalance_group_info",
                ONE_GROUP,
                *("cluster", "group_type", "assignor", "rebalance_protocol", "source"),
            ),
            rows=True,
        ),
    ),
    Look.TABLE,
    empty="no data of the group",
    columns=(
        Column("assignor", "Assignor"),
        Column("rebalance_protocol", "Protocol", width=110),
        Column("group_type", "Type", width=90),
        Column("source", "Known by", width=100),
        Column("cluster", "Cluster", width=100),
    ),
)
TRIGGERS = Panel(
    11,
    "Rebalances by trigger",
    "What caused the rebalances? Each bar counts the rebalances that ended since the previous bar. Of "
    "several causes the trigger is the gravest. member_failed: removed by the coordinator; member_gone: it is unknown "
    "whether it left or failed; rejoin: the same members rejoined, often after max.poll.interval.ms.",
    (
        Query(
            f"{times_in(COMPLETED, ONE_GROUP, 'trigger', window='$__rate_interval')} > 0",
            "{{trigger}}",
        ),
    ),
    Look.COUNTS,
    step="1m",
    empty="no rebalance in this time",
    colours={"member_failed": "red", "rejoin": "orange", "group_started": "green"},
)
STALLS = Panel(
    12,
    "Stall of each rebalance",
    "How long was the longest stall of a partition, and is that normal at this hour? Mean and p95 of the rebalances "
    "at each point. exact: measured by members; bound: the lower bound; at most: the upper bound of both, without "
    "rebalances that have none. normal: the group's baseline of lower bounds, from the pipeline. whole group: "
    "seconds of stalls of at least half of the partitions (setting stall_limits) that reached this limit.",
    (
        Query(
            f"sum by (basis) (increase({STALL}_sum{{{ONE_GROUP}}}[$__rate_interval])) "
            f"/ (sum by (basis) (increase({STALL}_count{{{ONE_GROUP}}}[$__rate_interval])) > 0)",
            "mean, {{basis}}",
        ),
        Query(
            f"sum(increase({STALL_UPPER}_sum{{{ONE_GROUP}}}[$__rate_interval])) "
            f"/ (sum(increase({STALL_UPPER}_count{{{ONE_GROUP}}}[$__rate_interval])) > 0)",
            "mean, at most",
        ),
        Query(f"{quantile(0.95, STALL, ONE_GROUP, 'basis')} >= 0", "p95, {{basis}}"),
        Query(f"{quantile(0.95, STALL_UPPER, ONE_GROUP)} >= 0", "p95, at most"),
        of("kafka_rebalance_stall_baseline_seconds", "normal {{percentile}}", "percentile"),
        Query(
            f"$across by (limit) (increase({GROUP_STALLED}{{{ONE_GROUP}}}[$__rate_interval])) > 0",
            "whole group, {{limit}}",
        ),
    ),
    Look.DOTS,
    "s",
    thresholds=above(10, 60),
    step="1m",
    empty="no rebalance in this time",
)
PHASES = Panel(
    13,
    "Phases of the last rebalance",
    "Which phase of the last rebalance took how long? join: the wait for the slowest member; sync: the leader's "
    "assign(); reconcile: until all members had the assignment of the coordinator (consumer, share and streams "
    "groups).",
    tuple(of(f"kafka_rebalance_last_{phase}_seconds", phase) for phase in ("join", "sync", "reconcile")),
    unit="s",
    thresholds=above(10, 60),
    empty="no rebalance seen",
)
MOVES = Panel(
    14,
    "Partitions that moved",
    "How did rebalances change the assignment? moved: partitions with a new owner; needless: moves above the minimum "
    "for the balance; revoked: partitions that members gave up (in eager groups all); lost: partitions of members "
    "that surely failed.",
    (
        counted("kafka_rebalance_partitions_moved_total", "moved"),
        counted("kafka_rebalance_partitions_moved_excess_total", "needless"),
        counted("kafka_rebalance_partitions_revoked_total", "revoked"),
        counted("kafka_rebalance_partitions_assigned_total", "assigned"),
        counted("kafka_rebalance_partitions_lost_total", "lost"),
    ),
    step="1m",
    empty="no rebalance in this time",
    colours={"needless": "orange", "lost": "red"},
)
SLOWEST = Panel(
    15,
    "Slowest member",
    "Which member did the others wait for, and how long? It is exported for an hour after each rebalance. If it is "
    "always the same member, check its callbacks on the board Members, or its host.",
    (of("kafka_rebalance_slowest_member_seconds", "{{client_id}} {{host}}", "client_id", "host"),),
    Look.DOTS,
    "s",
    thresholds=above(10, 60),
    empty="no rebalance in the last hour",
    links=(LINE_TO_MEMBER,),
)
STANDING = Panel(
    16,
    "Partitions standing still",
    "How many partitions stood still at the same time? Stalled partition-seconds per second. standing: the lower "
    "bound; at most: the upper bound, all of it when a rebalance settles. The line is the number of subscribed "
    "partitions; an eager rebalance reaches it. no owner: outside rebalances, in an Empty group or if too little was "
    "assigned. two owners: a removed member still held them; it shows when that ends, all at once. catching up: moved "
    "partitions with an owner that has not read what was appended meanwhile (lower bound; only groups in lag_groups).",
    (
        Query(f"$across by (cluster, consumergroup) (rate({STALLED}{{{ONE_GROUP}}}[$__rate_interval]))", "standing"),
        Query(
            f"$across by (cluster, consumergroup) (rate({STALLED_UPPER}{{{ONE_GROUP}}}[$__rate_interval]))", "at most"
        ),
        Query(
            "$across by (cluster, consumergroup, reason) "
            f"(rate(kafka_rebalance_unowned_partition_seconds_total{{{ONE_GROUP}}}[$__rate_interval]))",
            "no owner, {{reason}}",
        ),
        Query(
            "$across by (cluster, consumergroup) "
            f"(rate(kafka_rebalance_doubly_owned_partition_seconds_total{{{ONE_GROUP}}}[$__rate_interval])) > 0",
            "two owners",
        ),
        Query(
            "$across by (cluster, consumergroup) "
            f"(rate(kafka_rebalance_catch_up_partition_seconds_total{{{ONE_GROUP}}}[$__rate_interval]))",
            "catching up",
        ),
        of("kafka_rebalance_partitions", "subscribed"),
    ),
    empty="unknown",
    colours={"standing": "red", "at most": "orange", "subscribed": "blue", "two owners": "purple"},
)
LOADS = Panel(
    17,
    "Partitions by member",
    "How many partitions did each member have over time? A step is a rebalance; a member that disappears and returns "
    "is flapping. For members with the same client id and host, the highest count is shown. A click on a member "
    "opens the board Members.",
    (of("kafka_rebalance_owner_partitions", "{{client_id}} {{host}}", "client_id", "host"),),
    Look.AREAS,
    width=12,
    empty="no member",
    links=(LINE_TO_MEMBER,),
)
OWNERS = Panel(
    18,
    "Owners now",
    "How many partitions does each member have now? Members is the number of members with the same client id and "
    "host; their row shows the highest count. _folded is the sum of members beyond the agent's limit. A click on a "
    "client opens the board Members, if the client reports.",
    (
        Query(gauge("kafka_rebalance_owner_partitions", ONE_GROUP, "client_id", "host"), rows=True),
        Query(gauge("kafka_rebalance_owner_members", ONE_GROUP, "client_id", "host"), rows=True),
    ),
    Look.TABLE,
    width=12,
    empty="no member",
    sort_by="Partitions",
    columns=(
        Column("client_id", "Client", link=TO_MEMBER),
        Column("host", "Host"),
        Column("Value #A", "Partitions", "short", 0, width=110),
        Column("Value #B", "Members", "short", 0, width=110),
    ),
)
SKEWS = Panel(
    19,
    "Skew by weight",
    "Is the load of members even? By partitions: load divided by the load that the strategy promises. By lag and by "
    "rate (only groups in lag_groups): load divided by a lower bound, so values slightly above 1 can be optimal.",
    (of(SKEW, "by {{weight}}", "weight"),),
    thresholds=SHARES,
    decimals=2,
    least=1,
    empty="unknown",
)
UNEVEN = Panel(
    20,
    "What is wrong with the assignment",
    "By how many partitions is the assignment not optimal? imbalance: partitions above the target of the most loaded "
    "member, 0 is optimal; without owner; co-partition breaks: partition numbers whose topics have different owners, "
    "although they are configured as co-partitioned.",
    (
        of("kafka_rebalance_assignment_imbalance_partitions", "imbalance"),
        of("kafka_rebalance_partitions_unassigned", "without owner"),
        of("kafka_rebalance_copartition_breaks", "co-partition breaks"),
    ),
    thresholds=above(1),
    decimals=0,
    empty="unknown",
)
MEMBERS = Panel(
    21,
    "Membership",
    "How did the membership change? idle: members without a partition that should have one; flapping: members that "
    "leave and return repeatedly; deploy: 1 while members are being replaced one by one, and 15 minutes longer.",
    (
        of("kafka_rebalance_members", "members"),
        of("kafka_rebalance_static_members", "static"),
        of("kafka_rebalance_idle_members", "idle"),
        of("kafka_rebalance_flapping_members", "flapping"),
        of("kafka_rebalance_rollout_in_progress", "deploy"),
    ),
    decimals=0,
    empty="unknown",
    colours={"idle": "orange", "flapping": "red"},
)
GENERATIONS = Panel(
    22,
    "Generation",
    "How fast does the generation increase? One step for each rebalance, more for cooperative ones. It starts again "
    "at 1 when a group was deleted and created again.",
    (of("kafka_rebalance_generation", "generation"),),
    decimals=0,
    least=None,
    empty="unknown",
)
FOR_NOTHING = Panel(
    23,
    "Rebalances for nothing",
    "Do rebalances fail, repeat, or change nothing? aborted: started and not completed; assign_error: the leader's "
    "assign() raised; no-op: all members kept their partitions; follow-up: second generation of a cooperative "
    "rebalance; polled: changes of a group that is only visible in polls.",
    (
        counted("kafka_rebalance_failed_total", "{{reason}}", "reason"),
        counted("kafka_rebalance_noop_total", "no-op"),
        counted("kafka_rebalance_followups_total", "follow-up"),
        counted("rebalance_agent_polled_changes_total", "polled"),
    ),
    Look.COUNTS,
    step="1m",
    empty="unknown",
    colours={"aborted": "orange", "assign_error": "red"},
)
TOPICS = Panel(
    24,
    "Topics on few members",
    "Which topics are on few members? Number of owners divided by the possible number of owners, for the worst "
    "topics only; no data is good. If a topic has most of the traffic, a value of 30 % means that its few owners are "
    "slow. hosts: the same of hosts, mean over all topics; not on one host: share of the topics that are on several.",
    (
        of("kafka_rebalance_topic_spread_ratio", "{{topic}}", "topic"),
        of("kafka_rebalance_host_spread_ratio", "hosts"),
        Query(f"1 - {gauge('kafka_rebalance_topics_on_one_host_ratio', ONE_GROUP)}", "not on one host"),
    ),
    unit="percentunit",
    thresholds=below(0.3, 0.7),
    most=1,
    empty="every topic is on all possible members",
)
UNREAD = Panel(
    25,
    "How long records wait",
    "For how long has the group had no members, and have records waited? without members: age of an Empty group. lag: "
    "age of the oldest record to read, for the group and its worst topics; no progress: longest time that a committed "
    "offset (of a partition with an owner) stayed though records came; catch-up: longest time that a moved partition "
    "was catching up, in the current or the last catch-up. These three for the groups that lag_groups names.",
    (
        of("kafka_rebalance_group_empty_seconds", "without members"),
        of("kafka_rebalance_group_lag_seconds", "lag"),
        of("kafka_rebalance_topic_lag_seconds", "lag, {{topic}}", "topic"),
        of("kafka_rebalance_stuck_partition_seconds", "no progress"),
        of("kafka_rebalance_catch_up_seconds", "catch-up"),
    ),
    unit="s",
    width=24,
    thresholds=above(60, 300),
    empty="unknown",
    colours={"without members": "red", "no progress": "orange"},
)

ONE = Board(
    GROUP_UID,
    "Kafka rebalances / Group",
    "One consumer group: states, triggers, stalls and their phases, moves, and the balance of its assignment.",
    (
        cluster("kafka_rebalance_group_info"),
        job("kafka_rebalance_group_info", "observers"),
        instance("kafka_rebalance_group_info"),
        one_group("kafka_rebalance_group_info"),
        ACROSS,
    ),
    (
        Row(4, NUMBERS),
        Row(5, (TIMELINE, RUNS)),
        Row(9, (TRIGGERS, STALLS, PHASES)),
        Row(9, (MOVES, SLOWEST, STANDING)),
        Row(9, (LOADS, OWNERS)),
        Row(9, (SKEWS, UNEVEN, MEMBERS)),
        Row(8, (GENERATIONS, FOR_NOTHING, TOPICS)),
        Row(8, (UNREAD,)),
    ),
    (
        leads_to(FLEET_UID, "Fleet", "job", "across"),
        leads_to(MEMBERS_UID, "Members", "consumergroup"),
        leads_to(AGENT_UID, "Agent"),
    ),
    (
        Annotation(
            "Rebalances",
            f"{gauge('kafka_rebalance_last_completed_timestamp_seconds', ONE_GROUP)} * 1000",
            "Rebalance",
            "{{consumergroup}}",
            "blue",
            on=True,
        ),
    ),
)
