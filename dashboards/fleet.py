"""Fleet: which groups hurt, and why."""

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
    """What was counted since the point before."""
    return times_in(counter, GROUP, *by, window="$__rate_interval")


NUMBERS = (
    Panel(
        1,
        "Groups",
        "How many consumer groups does the agent watch? None: no observer is scraped, so look at the board Agent.",
        (Query(f"count({gauge('kafka_rebalance_group_info', GROUP)})", now=True),),
        Look.NUMBER,
        width=4,
        empty="no observer is scraped",
    ),
    Panel(
        2,
        "Partition availability",
        "Of the time in which partitions were to be consumed, how much were they? 1 minus the partition-seconds lost "
        f"to rebalances over all partition-seconds, in the time range, over all groups. The alerts' goal is {GOAL}.",
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
        f"Does a rebalance run for longer than its members' rebalance timeout and {MARGIN} s? Nothing ends such a one "
        "by itself. The table below says which group it is.",
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
        "How many groups rebalance at this moment? A few in a large fleet are normal.",
        (Query(f"sum({RUNNING} > bool 0)", now=True),),
        Look.NUMBER,
        width=4,
        empty="no group is watched",
    ),
    Panel(
        5,
        "Rebalances",
        "How many rebalances ended in the time range? A cooperative rebalance with its follow-ups is one.",
        (Query(f"sum({times_in(COMPLETED, GROUP)})", now=True),),
        Look.NUMBER,
        width=4,
        decimals=0,
        empty="no group is watched",
    ),
    Panel(
        6,
        "Without owner",
        "How many subscribed partitions does nobody consume at this moment? While a rebalance runs some are normal; in "
        "a calm group every one of them is an outage. Of groups without members none counts.",
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
    "Which group lost the most, and what is the reason? Highest loss first. Read a row from left to right: how much "
    "was lost (partition-seconds: ten partitions for a minute are 10 min), how often it rebalanced and what began most "
    "of these rebalances, how long the longest-waiting partition stood still in each, which member the "
    "others waited for longest, and whether the outcome is uneven: skew, needless moves, members that flap or idle. "
    "What began most rebalances need not be what cost most: a click on a group opens its board, which tells.",
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
    ),
    Look.TABLE,
    width=24,
    empty="no group is watched",
    sort_by="Partition time lost",
    columns=(
        Column("cluster", "Cluster", width=110),
        Column("consumergroup", "Group", link=TO_GROUP, width=220),
        Column("Value #A", "Partition time lost", "s", 1, width=150),
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
    "How many partitions stood still at a time, and of which groups? Partition-seconds lost per second: 3 means that "
    "three partitions on average did. The ten groups that lost most in the time range.",
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
    empty="nothing was lost",
    links=(LINE_TO_GROUP,),
)
TRIGGERS = Panel(
    9,
    "Rebalances by trigger",
    "What begins rebalances, and when? Each bar counts those that ended since the bar before; many causes make one "
    "trigger, the gravest. member_failed and rejoin deserve a look, member_joined and member_left are deploys.",
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
    "How long does the longest-waiting partition stand still when a group rebalances? 95 of 100 rebalances stay below "
    "the line; points only where there were some. It is read from buckets (5, 10, 30, 60 s ...), so of few ones it "
    "says little more than which bucket they fell in; the table has their mean.",
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
    "Which rebalances take long, and does one not end? A line that climbs is a rebalance that runs. The ten groups "
    "with the longest.",
    (Query(worst(10, RUNNING, was_highest("kafka_rebalance_in_progress_seconds", GROUP)), NAME),),
    unit="s",
    thresholds=DURATION,
    empty="no group is watched",
    links=(LINE_TO_GROUP,),
)
STORMS = Panel(
    12,
    "Storms",
    "Does a group rebalance more often than a deploy explains? Rebalances of the last 15 minutes over twice its "
    f"members (at least {STORM_MIN}): above 1 is a storm. A rolling deploy of every member stays below it.",
    (
        Query(
            worst(
                10,
                f"{count_in(COMPLETED, GROUP, window=STORM)} "
                f"/ clamp_min({STORM_PER_MEMBER} * {gauge('kafka_rebalance_members', GROUP)}, {STORM_MIN})",
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
    "Which groups share their partitions unevenly? The highest load of a member over what its strategy promises it: "
    "1 is best, 2 means that one member has twice its share. The ten worst.",
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
    "How many partitions changed their owner, and how many of them for nothing? needless are those beyond the fewest "
    "that the new balance needs: a sticky strategy has next to none.",
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
    "In which phase do rebalances take their time? join is the wait for the slowest member to stop and come back; sync "
    "is the leader's assign() and its way; reconcile is the same for groups whose coordinator assigns. p95 over all "
    "groups that the chosen observers watch.",
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
    "Do rebalances fail, or change nothing? aborted ones were begun and never completed; assign_error is an exception "
    "in the leader's assign(); no-ops left every partition where it was.",
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
    "How large is the fleet, and does a part of it idle? idle members have nothing to do though their strategy would "
    "give them something: more members than partitions, or an uneven assignor. static ones have a group.instance.id.",
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
    "Which assignors and protocols are in use? Eager groups stop all partitions in every rebalance; source admin means "
    "that the offsets topic may not be read, so much is unknown of them.",
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
    decimals=0,
    empty="lag_groups names no group",
)

FLEET = Board(
    FLEET_UID,
    "Kafka rebalances / Fleet",
    "Which consumer groups hurt by rebalances, and why. From the table a click leads to the group.",
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
        Row(8, (EMPTY, LAGS, TOPIC_LAGS)),
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
