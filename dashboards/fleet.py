"""The board Fleet: the groups with the highest rebalance costs, and the causes."""

from __future__ import annotations

from dashboards.board import AGENT_UID, FLEET_UID, GROUP_UID, MEMBERS_UID, Annotation, Board, leads_to
from dashboards.goals import (
    AVAILABILITY,
    DURATION,
    GOAL,
    MARGIN,
    SHARES,
    STORM,
    STORM_MIN,
    STORM_PER_MEMBER,
    TIMEOUT_UNKNOWN,
)
from dashboards.grid import Row
from dashboards.panel import Column, Link, Look, Panel, above
from dashboards.query import GROUP, ROLE, Query, count_in, gauge, quantile, times_in, was_highest, went_up, worst
from dashboards.variables import ACROSS, cluster, instance, job, some_groups

__all__ = ["FLEET"]

COMPLETED = "kafka_rebalance_completed_total"
STALLED = "kafka_rebalance_stalled_partition_seconds_total"
STALLED_UPPER = "kafka_rebalance_stalled_partition_seconds_upper_total"
WHOLE = "kafka_rebalance_partition_seconds_total"
SKEW = "kafka_rebalance_assignment_skew_ratio"
TRIGGER = ("cluster", "consumergroup", "trigger")
NOT_THE_FIRST = GROUP + ', trigger!="group_started"'
BY_PARTITIONS = GROUP + ', weight="partitions"'
TIMEOUT = gauge("kafka_rebalance_timeout_seconds", GROUP)
NAME = "{{cluster}} {{consumergroup}}"
RUNS = ("group_type", "assignor", "rebalance_protocol", "source")
RUNNING = gauge("kafka_rebalance_in_progress_seconds", GROUP)

TO_GROUP = Link(
    "Open this group",
    f"/d/{GROUP_UID}?var-consumergroup=${{__data.fields.Group:percentencode}}"
    "&${datasource:queryparam}&${cluster:queryparam}&${job:queryparam}&${across:queryparam}"
    "&from=${__from}&to=${__to}",
)
LINE_TO_GROUP = Link(TO_GROUP.title, TO_GROUP.url.replace("__data.fields.Group", "__field.labels.consumergroup"))


def lately(counter: str, *by: str) -> str:
    """Return the increase since the previous point."""
    return times_in(counter, GROUP, *by, window="$__rate_interval")


NUMBERS = (
    Panel(
        1,
        "Groups",
        "How many consumer groups does the agent watch? 0: no observer is scraped; see the board Agent.",
        (Query(f"count({gauge('kafka_rebalance_group_info', GROUP)})", now=True),),
        Look.NUMBER,
        width=4,
        empty="no observer is scraped",
    ),
    Panel(
        2,
        "Partition availability",
        "What share of the possible service time was without a stall? 1 minus stalled partition-seconds (lower bound) "
        f"divided by all partition-seconds, for the time range and all groups. The alerts' objective is {GOAL}.",
        (
            Query(
                f"1 - sum({count_in(STALLED, GROUP)}) / sum({count_in(WHOLE, GROUP)})",
                now=True,
            ),
        ),
        Look.NUMBER,
        unit="percentunit",
        width=4,
        thresholds=AVAILABILITY,
        decimals=2,
        most=1,
        empty="no partition is watched",
    ),
    Panel(
        3,
        "Stuck now",
        f"How many rebalances have run for longer than their members' rebalance timeout plus {MARGIN} s? They do not "
        "end without action. The table below shows the groups.",
        (
            Query(
                f"sum({RUNNING} - ({TIMEOUT} or 0 * {RUNNING} + {TIMEOUT_UNKNOWN}) > bool {MARGIN})",
                now=True,
            ),
        ),
        Look.NUMBER,
        width=4,
        thresholds=above(bad=1),
        empty="no group is watched",
    ),
    Panel(
        4,
        "Rebalancing now",
        "How many groups are rebalancing now? A few are normal if there are many groups.",
        (Query(f"sum({RUNNING} > bool 0)", now=True),),
        Look.NUMBER,
        width=4,
        empty="no group is watched",
    ),
    Panel(
        5,
        "Rebalances",
        "How many rebalances ended in the time range? A cooperative rebalance with its follow-ups counts once.",
        (Query(f"sum({times_in(COMPLETED, GROUP)})", now=True),),
        Look.NUMBER,
        width=4,
        decimals=0,
        empty="no group is watched",
    ),
    Panel(
        6,
        "Without owner",
        "How many subscribed partitions have no owner now? Some are normal during a rebalance; without a rebalance "
        "they are not consumed. Groups without members do not count.",
        (
            Query(
                f"sum({gauge('kafka_rebalance_partitions_unassigned', GROUP)} "
                f"and {gauge('kafka_rebalance_members', GROUP)} > 0 or 0 * {RUNNING})",
                now=True,
            ),
        ),
        Look.NUMBER,
        width=4,
        thresholds=above(bad=1),
        empty="no group is watched",
    ),
)

WHICH = Panel(
    7,
    "Which groups hurt, and why",
    "Which groups lost the most partition-time, and why? The highest loss is first. Columns from left to right: lost "
    "partition-seconds (ten partitions for a minute are 10 min), as lower bound and at most (upper bound, where "
    "known), number of rebalances and their most frequent trigger, mean of the longest stall (lower bound), the "
    "slowest member, and the quality of the assignment: skew, needless moves, flapping and idle members. The most "
    "frequent trigger is not always the one with the highest cost: a click on a group opens its board.",
    (
        Query(count_in(STALLED, GROUP), rows=True),
        Query(f"1 - {count_in(STALLED, GROUP)} / {count_in(WHOLE, GROUP)}", rows=True),
        Query(f"{times_in(COMPLETED, GROUP)}", rows=True),
        Query(
            f"topk by (cluster, consumergroup) (1, {times_in(COMPLETED, NOT_THE_FIRST, *TRIGGER)} > 0)",
            rows=True,
        ),
        Query(
            f"{count_in('kafka_rebalance_stall_seconds_sum', GROUP, across='sum')} "
            f"/ ({count_in('kafka_rebalance_stall_seconds_count', GROUP, across='sum')} > 0)",
            rows=True,
        ),
        Query(
            "topk by (cluster, consumergroup) (1, max by (cluster, consumergroup, client_id) "
            f"(max_over_time(kafka_rebalance_slowest_member_seconds{{{GROUP}}}[$__range])))",
            rows=True,
        ),
        Query(gauge(SKEW, BY_PARTITIONS), rows=True),
        Query(f"{times_in('kafka_rebalance_partitions_moved_excess_total', GROUP)}", rows=True),
        Query(f"{times_in('kafka_rebalance_failed_total', GROUP)}", rows=True),
        Query(gauge("kafka_rebalance_flapping_members", GROUP), rows=True),
        Query(gauge("kafka_rebalance_idle_members", GROUP), rows=True),
        Query(RUNNING, rows=True),
        Query(count_in(STALLED_UPPER, GROUP), rows=True),
    ),
    Look.TABLE,
    width=24,
    empty="no group is watched",
    sort_by="Partition time lost",
    columns=(
        Column("cluster", "Cluster", width=110),
        Column("consumergroup", "Group", link=TO_GROUP, width=220),
        Column("Value #A", "Partition time lost", "s", 1, width=150),
        Column("Value #M", "At most", "s", 1, width=90),
        Column("Value #B", "Availability", "percentunit", 2, AVAILABILITY, width=110),
        Column("Value #C", "Rebalances", "short", 0, width=105),
        Column("trigger", "Most often because of", width=170),
        Column("Value #E", "Mean stall", "s", 1, above(10, 60), width=100),
        Column("client_id", "Slowest member", width=170),
        Column("Value #F", "It took", "s", 1, above(10, 60), width=90),
        Column("Value #G", "Skew", "short", 2, SHARES, width=80),
        Column("Value #H", "Needless moves", "short", 0, above(1), width=130),
        Column("Value #I", "Failed", "short", 0, above(1, 3), width=80),
        Column("Value #J", "Flapping", "short", 0, above(1), width=90),
        Column("Value #K", "Idle", "short", 0, above(1), width=70),
        Column("Value #L", "Running for", "s", 0, DURATION, width=110),
    ),
)

STANDING = Panel(
    8,
    "Partitions standing still",
    "How many partitions stood still at the same time, and of which groups? Stalled partition-seconds (lower bound) "
    "per second: 3 means three partitions on average. The ten groups with the highest loss in the time range.",
    (
        Query(
            worst(
                10,
                f"$across by (cluster, consumergroup) (rate({STALLED}{{{GROUP}}}[$__rate_interval]))",
                went_up(STALLED, GROUP),
            ),
            NAME,
        ),
    ),
    Look.AREAS,
    width=12,
    empty="no stalls in this time",
    links=(LINE_TO_GROUP,),
)
TRIGGERS = Panel(
    9,
    "Rebalances by trigger",
    "What causes rebalances, and when? Each bar counts the rebalances that ended since the previous bar. If a "
    "rebalance has several causes, the trigger is the gravest one. Check member_failed and rejoin; "
    "member_joined and member_left are usually deploys.",
    (
        Query(
            f"sum by (trigger) ({lately(COMPLETED, *TRIGGER)}) > 0",
            "{{trigger}}",
        ),
    ),
    Look.COUNTS,
    width=12,
    step="1m",
    empty="no rebalance in this time",
    colours={"member_failed": "red", "rejoin": "orange", "group_started": "green"},
)
STALL = Panel(
    10,
    "Stall p95 by group",
    "How long is the longest stall of a partition in a rebalance (lower bound)? 95 of 100 rebalances are below the "
    "point; there are only points where rebalances ended. The value comes from histogram buckets (5, 10, 30, 60 s "
    "...), so with few rebalances it is only the bucket's bound; the table shows the mean.",
    (Query(worst(10, quantile(0.95, "kafka_rebalance_stall_seconds", GROUP), went_up(STALLED, GROUP)), NAME),),
    Look.DOTS,
    "s",
    thresholds=above(10, 60),
    step="1m",
    empty="no rebalance in this time",
    links=(LINE_TO_GROUP,),
)
AGES = Panel(
    11,
    "Running rebalances",
    "Which rebalances take long or do not end? A rising line is a running rebalance. The ten groups with the longest "
    "ones.",
    (Query(worst(10, RUNNING, was_highest("kafka_rebalance_in_progress_seconds", GROUP)), NAME),),
    unit="s",
    thresholds=DURATION,
    empty="no group is watched",
    links=(LINE_TO_GROUP,),
)
STORMS = Panel(
    12,
    "Storms",
    "Does a group rebalance too often? Rebalances of the last 15 minutes divided by twice the number of members (at "
    f"least {STORM_MIN}): above 1 is a storm. A deploy is none, so a group has no line while its members are replaced "
    "one by one and 15 minutes longer, unless something fails.",
    (
        Query(
            worst(
                10,
                f"({count_in(COMPLETED, GROUP, window=STORM)} "
                f"/ clamp_min({STORM_PER_MEMBER} * {gauge('kafka_rebalance_members', GROUP)}, {STORM_MIN}) "
                f"unless {gauge('kafka_rebalance_rollout_in_progress', GROUP)} == 1)",
                went_up(COMPLETED, GROUP),
            ),
            NAME,
        ),
    ),
    thresholds=above(bad=1),
    decimals=2,
    empty="no group is watched",
    links=(LINE_TO_GROUP,),
)
SKEWS = Panel(
    13,
    "Skew by group",
    "Which groups have an uneven assignment? The highest load of a member divided by the load that its strategy "
    "promises: 1 is best, 2 means that a member has twice its share. The ten highest.",
    (Query(worst(10, gauge(SKEW, BY_PARTITIONS), was_highest(SKEW, BY_PARTITIONS)), NAME),),
    thresholds=SHARES,
    decimals=2,
    least=1,
    empty="no group is watched",
    links=(LINE_TO_GROUP,),
)
MOVES = Panel(
    14,
    "Moved partitions",
    "How many partitions changed owner, and how many of them unnecessarily? needless: moves above the minimum for "
    "the new balance; a sticky strategy has nearly none.",
    (
        Query(
            f"sum({lately('kafka_rebalance_partitions_moved_total')}) "
            f"- sum({lately('kafka_rebalance_partitions_moved_excess_total')})",
            "needed",
        ),
        Query(
            f"sum({lately('kafka_rebalance_partitions_moved_excess_total')})",
            "needless",
        ),
    ),
    Look.COUNTS,
    step="1m",
    empty="no group is watched",
    colours={"needed": "blue", "needless": "orange"},
)
PHASES = Panel(
    15,
    "Where the time goes",
    "Which phase of rebalances takes how long? join: the wait for the slowest member; sync: the leader's assign() "
    "and its network time; reconcile: the same for groups whose coordinator assigns. p95 over all groups of the "
    "selected observers.",
    tuple(
        Query(quantile(0.95, f"kafka_rebalance_{phase}_seconds", ROLE, "cluster"), f"{{{{cluster}}}} {phase}")
        for phase in ("join", "sync", "reconcile")
    ),
    Look.DOTS,
    "s",
    thresholds=above(10, 60),
    step="1m",
    empty="no rebalance in this time",
)
FAILED = Panel(
    16,
    "Rebalances for nothing",
    "Do rebalances fail, or change nothing? aborted: started and not completed; assign_error: an exception in the "
    "leader's assign(); no-op: all partitions kept their owners.",
    (
        Query(
            f"sum by (reason) ({lately('kafka_rebalance_failed_total', 'cluster', 'consumergroup', 'reason')})",
            "{{reason}}",
        ),
        Query(f"sum({lately('kafka_rebalance_noop_total')})", "no-op"),
    ),
    Look.COUNTS,
    step="1m",
    empty="no group is watched",
    colours={"aborted": "orange", "assign_error": "red", "no-op": "blue"},
)
MEMBERS = Panel(
    17,
    "Members",
    "How many members are there, and how many are idle? idle: members without a partition that should have one by "
    "their strategy, because of more members than partitions or an uneven assignor. static: members with a "
    "group.instance.id.",
    (
        Query(f"sum({gauge('kafka_rebalance_members', GROUP)})", "members"),
        Query(f"sum({gauge('kafka_rebalance_static_members', GROUP)})", "static"),
        Query(f"sum({gauge('kafka_rebalance_idle_members', GROUP)})", "idle"),
    ),
    decimals=0,
    empty="no group is watched",
    colours={"idle": "orange"},
)
RUN = Panel(
    18,
    "What groups run",
    "Which assignors and protocols are in use? Eager groups stop all partitions in every rebalance. Source admin: "
    "the observer has no right to read the offsets topic, so stalls and causes are unknown.",
    (
        Query(
            f"count by ({', '.join(RUNS)}) "
            f"({gauge('kafka_rebalance_group_info', GROUP, 'cluster', 'consumergroup', *RUNS)})",
            rows=True,
        ),
    ),
    Look.TABLE,
    empty="no group is watched",
    sort_by="Groups",
    columns=(
        Column("assignor", "Assignor"),
        Column("rebalance_protocol", "Protocol", width=110),
        Column("group_type", "Type", width=90),
        Column("source", "Known by", width=90),
        Column("Value", "Groups", "short", 0, width=80),
    ),
)
EMPTY_AGE = "kafka_rebalance_group_empty_seconds"
EMPTY = Panel(
    19,
    "Groups without members",
    "Which groups lost all their members, and when? A line that climbs is such a group; the ten oldest. "
    "Groups of empty_groups_allow are left out.",
    (Query(worst(10, f"({gauge(EMPTY_AGE, GROUP)} > 0)", was_highest(EMPTY_AGE, GROUP)), NAME),),
    unit="s",
    width=6,
    thresholds=above(60, 300),
    empty="no group lost all its members",
    links=(LINE_TO_GROUP,),
)
GROUP_LAG = "kafka_rebalance_group_lag_offsets"
LAGS = Panel(
    20,
    "Lag by group",
    "Which groups are behind, by how many offsets? The ten with the most, of the groups that lag_groups names.",
    (Query(worst(10, gauge(GROUP_LAG, GROUP), was_highest(GROUP_LAG, GROUP)), NAME),),
    width=6,
    decimals=0,
    empty="lag_groups names no group",
    links=(LINE_TO_GROUP,),
)
TOPIC_LAGS = Panel(
    21,
    "Lag by topic",
    "In which topics does the lag lie, over all groups? _folded stands for the topics beyond max_lag_topics.",
    (
        Query(
            f"topk(10, sum by (topic) ({gauge('kafka_rebalance_topic_lag_offsets', GROUP, 'consumergroup', 'topic')}))",
            "{{topic}}",
        ),
    ),
    width=6,
    decimals=0,
    empty="lag_groups names no group",
)
CATCHING = "kafka_rebalance_catching_up_partitions"
CATCHING_UP = Panel(
    22,
    "Partitions catching up",
    "In which groups have moved partitions still to read what was appended until they moved, and how many? The ten "
    "groups with the most, of those that lag_groups names. A line that stays up after a rebalance is its cost, too.",
    (Query(worst(10, gauge(CATCHING, GROUP), was_highest(CATCHING, GROUP)), NAME),),
    width=6,
    decimals=0,
    empty="lag_groups names no group",
    links=(LINE_TO_GROUP,),
)

FLEET = Board(
    FLEET_UID,
    "Kafka rebalances / Fleet",
    "Which consumer groups have the highest rebalance costs, and why. A click in the table opens the group.",
    (
        cluster("kafka_rebalance_group_info"),
        job("kafka_rebalance_group_info", "observers"),
        instance("kafka_rebalance_group_info"),
        some_groups("kafka_rebalance_group_info"),
        ACROSS,
    ),
    (
        Row(4, NUMBERS),
        Row(10, (WHICH,)),
        Row(8, (STANDING, TRIGGERS)),
        Row(9, (STALL, AGES, STORMS)),
        Row(9, (SKEWS, MOVES, PHASES)),
        Row(8, (FAILED, MEMBERS, RUN)),
        Row(8, (EMPTY, LAGS, CATCHING_UP, TOPIC_LAGS)),
    ),
    (
        leads_to(GROUP_UID, "Group", "job", "across"),
        leads_to(MEMBERS_UID, "Members"),
        leads_to(AGENT_UID, "Agent"),
    ),
    (
        Annotation(
            "Rebalances",
            f"{gauge('kafka_rebalance_last_completed_timestamp_seconds', GROUP)} * 1000",
            "Rebalance",
            "{{consumergroup}}",
            "blue",
            on=False,  # of all groups they cover everything
        ),
    ),
)
