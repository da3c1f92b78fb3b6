"""The board Members: reports of consumers from sidecars and gateways."""

from __future__ import annotations

from dashboards.board import AGENT_UID, FLEET_UID, GROUP_UID, MEMBERS_UID, Annotation, Board, leads_to
from dashboards.goals import SHARES
from dashboards.grid import Row
from dashboards.panel import Column, Look, Panel, above
from dashboards.query import GROUP, Query, gauge, quantile, times_in
from dashboards.variables import cluster, instance, job, some_groups, some_members
from rebalance_agent.metrics.catalogue import BY_NAME

__all__ = ["MEMBERS"]

CALLBACK = "kafka_rebalance_member_callback_seconds"
CLIENT = ("cluster", "consumergroup", "client_id")
MEMBER = GROUP + ', client_id=~"$client_id"'
"""Label matchers of metrics with a member's label."""

NEWEST = gauge("kafka_rebalance_member_generation", GROUP)
NAME = "{{consumergroup}} {{client_id}}"


def chosen(metric: str) -> str:
    """Return the label matchers of a counter; some counters have only the label of the group."""
    return MEMBER if "client_id" in BY_NAME[metric.removesuffix("_count")].labels else GROUP


def total(metric: str, *by: str) -> str:
    """Return the increase in the time range, summed over members."""
    return times_in(metric, chosen(metric), *by, across="sum")


def counted(metric: str, legend: str, *by: str) -> Query:
    """Return the counter as bars, only where it increased, because most error counters never do."""
    went_up = times_in(metric, chosen(metric), *by, window="$__rate_interval", across="sum")
    return Query(f"{went_up} > 0", legend)


def p95(metric: str, legend: str, *by: str) -> Query:
    """Return the 95th percentile; no point without observations."""
    return Query(f"{quantile(0.95, metric, GROUP, *by)} >= 0", legend)


NUMBERS = (
    Panel(
        1,
        "Members that report",
        "How many members report, by a sidecar or a gateway? If the board Fleet counts more, the others are not "
        "instrumented, and their stalls are bounds.",
        (Query(f"count({gauge('kafka_rebalance_member_generation', MEMBER, *CLIENT)})", now=True),),
        Look.NUMBER,
        width=4,
        empty="no sidecar or gateway is scraped",
    ),
    Panel(
        2,
        "Slowest callback",
        "Do rebalance callbacks of members delay rebalances? The slowest rebalance callback in the time range, as "
        "the upper bound of its bucket (1, 5, 30, 60 s ...). While onPartitionsRevoked runs, the whole group waits.",
        (
            Query(
                f"histogram_quantile(1, sum by (le) (increase({CALLBACK}_bucket{{{GROUP}}}[$__range]))) >= 0",
                now=True,
            ),
        ),
        Look.NUMBER,
        "s",
        width=4,
        thresholds=above(1, 5),
        empty="no callback in this time",
    ),
    Panel(
        3,
        "Records read twice",
        "How many records were read twice because of rebalances? Records that were read and not committed when their "
        "partition was revoked, and records read again after an offset reset, in the time range.",
        (Query(f"sum({total('kafka_rebalance_member_reprocessed_records_total', *CLIENT)})", now=True),),
        Look.NUMBER,
        width=4,
        thresholds=above(1, 10_000),
        decimals=0,
        empty="no member reports",
    ),
    Panel(
        4,
        "Partitions lost",
        "Did members lose partitions without revoking them? Their session timed out, or poll() was too late "
        "(max.poll.interval.ms).",
        (Query(f"sum({total('kafka_rebalance_member_lost_total', *CLIENT)})", now=True),),
        Look.NUMBER,
        width=4,
        thresholds=above(bad=1),
        decimals=0,
        empty="no member reports",
    ),
    Panel(
        5,
        "assign() failed",
        "Did an assignor raise an exception in a leader? The whole group then has no assignment until the problem is "
        "corrected.",
        (Query(f"sum({total('kafka_rebalance_member_assign_failures_total')})", now=True),),
        Look.NUMBER,
        width=4,
        thresholds=above(bad=1),
        decimals=0,
        empty="no leader reports",
    ),
    Panel(
        6,
        "Commits refused",
        "Did members commit too late, during a rebalance? Partitions whose commits the coordinator rejected; their "
        "records are read twice. Only gateways report this.",
        (Query(f"sum({total('kafka_rebalance_member_rejected_commits_total', *CLIENT)})", now=True),),
        Look.NUMBER,
        width=4,
        thresholds=above(1),
        decimals=0,
        empty="no gateway reports",
    ),
)

CALLBACKS = Panel(
    7,
    "Slowest callbacks",
    "How long do the application's rebalance callbacks take? The upper bound of the slowest one's bucket. revoked "
    "delays the whole group; assigned delays only its own member; lost runs after the member was removed from the "
    "group.",
    (Query(f"{quantile(1, CALLBACK, GROUP, 'consumergroup', 'callback')} >= 0", "{{consumergroup}} {{callback}}"),),
    Look.DOTS,
    "s",
    thresholds=above(1, 5),
    step="1m",
    empty="no callback in this time",
)
STALLS = Panel(
    8,
    "Standstill of members p95",
    "How long does a member consume nothing in a rebalance? Measured by the member, from its revoked or lost callback "
    "to the end of its next assigned callback.",
    (p95("kafka_rebalance_member_stall_seconds", "{{consumergroup}}", "consumergroup"),),
    Look.DOTS,
    "s",
    thresholds=above(10, 60),
    step="1m",
    empty="no rebalance in this time",
)
PHASES = Panel(
    9,
    "Stop, join, sync p95",
    "In which step do members wait? stop: from the notification of the rebalance to JoinGroup, which the member "
    "itself causes (only gateways report it); join: the wait for the slowest other member; sync: the wait for the "
    "leader's assign().",
    tuple(
        p95(f"kafka_rebalance_member_{phase}_seconds", f"{{{{consumergroup}}}} {phase}", "consumergroup")
        for phase in ("stop", "join", "sync")
    ),
    Look.DOTS,
    "s",
    thresholds=above(10, 60),
    step="1m",
    empty="no rebalance in this time",
)
EACH = Panel(
    10,
    "Members",
    "Which member differs from the others? Behind: number of generations behind the newest member of its group. "
    "Above 0, the member has left the group or has not received the new generation. The counts are for the time "
    "range.",
    (
        Query(gauge("kafka_rebalance_member_generation", MEMBER, *CLIENT), rows=True),
        Query(
            f"{NEWEST} - on (cluster, consumergroup) group_right "
            f"{gauge('kafka_rebalance_member_generation', MEMBER, *CLIENT)}",
            rows=True,
        ),
        Query(f"sum by (cluster, consumergroup, client_id) (kafka_rebalance_member_partitions{{{MEMBER}}})", rows=True),
        *(
            Query(total(metric, *CLIENT), rows=True)
            for metric in (
                "kafka_rebalance_member_revoked_total",
                "kafka_rebalance_member_assigned_total",
                "kafka_rebalance_member_lost_total",
                "kafka_rebalance_member_reprocessed_records_total",
                "kafka_rebalance_member_rejected_commits_total",
            )
        ),
    ),
    Look.TABLE,
    width=24,
    empty="no sidecar or gateway is scraped",
    sort_by="Read twice",
    columns=(
        Column("cluster", "Cluster", width=110),
        Column("consumergroup", "Group"),
        Column("client_id", "Client id"),
        Column("Value #A", "Generation", "short", 0, width=110),
        Column("Value #B", "Behind", "short", 0, above(1), width=90),
        Column("Value #C", "Partitions", "short", 0, width=110),
        Column("Value #D", "Revoked", "short", 0, width=100),
        Column("Value #E", "Assigned", "short", 0, width=100),
        Column("Value #F", "Lost", "short", 0, above(bad=1), width=90),
        Column("Value #G", "Read twice", "short", 0, above(1), width=110),
        Column("Value #H", "Commits refused", "short", 0, above(1), width=140),
    ),
)
PARTITIONS = Panel(
    11,
    "Partitions by member",
    "How many partitions does each member have? Members with the same client id are added up.",
    (Query(f"sum by (consumergroup, client_id) (kafka_rebalance_member_partitions{{{MEMBER}}})", NAME),),
    Look.AREAS,
    empty="no member reports",
)
COUNTS = Panel(
    12,
    "Given up, received, lost",
    "How many partitions are revoked, assigned and lost? A cooperative member gives up a few partitions; an eager "
    "member gives up all of them in every rebalance.",
    (
        counted("kafka_rebalance_member_revoked_total", "{{consumergroup}} revoked", "consumergroup"),
        counted("kafka_rebalance_member_assigned_total", "{{consumergroup}} assigned", "consumergroup"),
        counted("kafka_rebalance_member_lost_total", "{{consumergroup}} lost", "consumergroup"),
    ),
    Look.COUNTS,
    step="1m",
    empty="no member reports",
)
AGAIN = Panel(
    13,
    "Work done again",
    "When were records read twice because of rebalances, and when were commits rejected? Commit in the revoked "
    "callback to reduce both.",
    (
        counted("kafka_rebalance_member_reprocessed_records_total", f"{NAME} records", "consumergroup", "client_id"),
        counted("kafka_rebalance_member_rejected_commits_total", f"{NAME} commits", "consumergroup", "client_id"),
    ),
    Look.COUNTS,
    step="1m",
    empty="none counted",
)
ASSIGN = Panel(
    14,
    "assign() p95",
    "How long does the leader's assign() take? The group waits for it in the sync phase. Seconds mean many topics or "
    "a slow assignor.",
    (p95("kafka_rebalance_member_assign_seconds", "{{consumergroup}} {{assignor}}", "consumergroup", "assignor"),),
    Look.DOTS,
    "s",
    thresholds=above(0.5, 5),
    step="1m",
    empty="no assign() in this time",
)
ERRORS = Panel(
    15,
    "assign() in trouble",
    "Does the assignor fail, or cannot decode members' user data? Each member with unreadable user data counts: "
    "different versions, or a wrong setting. It is treated as a member without user data. Missing standbys: the group "
    "has too few members or processes for the copies that its setting asks for.",
    (
        counted(
            "kafka_rebalance_member_assign_failures_total",
            "{{consumergroup}} {{assignor}} failed",
            *("consumergroup", "assignor"),
        ),
        counted(
            "kafka_rebalance_member_user_data_errors_total",
            "{{consumergroup}} {{assignor}} user data",
            *("consumergroup", "assignor"),
        ),
        Query(
            f"{gauge('kafka_rebalance_member_missing_standbys', MEMBER, 'consumergroup')} > 0",
            "{{consumergroup}} missing standbys",
        ),
    ),
    Look.COUNTS,
    step="1m",
    empty="none counted",
)
SKEW = Panel(
    16,
    "Skew of what leaders assigned",
    "Is the leader's assignment even? The highest load divided by the load that its strategy promises; 1 is best. "
    "Only members that were a leader are shown.",
    (Query(gauge("kafka_rebalance_member_assignment_skew_ratio", MEMBER, "consumergroup", "client_id"), NAME),),
    thresholds=SHARES,
    decimals=2,
    least=1,
    empty="no leader reports",
)
GENERATION = Panel(
    17,
    "Generation by member",
    "Is a member behind its group? The lines of one group run together; a line that stays below has missed a "
    "rebalance.",
    (Query(gauge("kafka_rebalance_member_generation", MEMBER, "consumergroup", "client_id"), NAME),),
    width=12,
    decimals=0,
    least=None,
    empty="no member reports",
)
CALLS = Panel(
    18,
    "Callbacks",
    "How often does each callback run? Many lost callbacks mean that members are removed from their group.",
    (counted(f"{CALLBACK}_count", "{{consumergroup}} {{callback}}", "consumergroup", "callback"),),
    Look.COUNTS,
    width=12,
    step="1m",
    empty="no member reports",
)

MEMBERS = Board(
    MEMBERS_UID,
    "Kafka rebalances / Members",
    "Reports of consumers from sidecars and gateways: callbacks, stalls, steps of a rebalance, records read twice.",
    (
        cluster("kafka_rebalance_member_generation"),
        job("kafka_rebalance_member_generation", "sidecars and gateways"),
        instance("kafka_rebalance_member_generation"),
        some_groups("kafka_rebalance_member_generation"),
        some_members("kafka_rebalance_member_generation"),
    ),
    (
        Row(4, NUMBERS),
        Row(9, (CALLBACKS, STALLS, PHASES)),
        Row(9, (EACH,)),
        Row(9, (PARTITIONS, COUNTS, AGAIN)),
        Row(9, (ASSIGN, ERRORS, SKEW)),
        Row(8, (GENERATION, CALLS)),
    ),
    (
        leads_to(FLEET_UID, "Fleet"),
        leads_to(GROUP_UID, "Group", "consumergroup"),
        leads_to(AGENT_UID, "Agent"),
    ),
    (
        Annotation(
            "Rebalances",
            # Observers export this metric, and their jobs are not those of this board.
            "max by (cluster, consumergroup) (kafka_rebalance_last_completed_timestamp_seconds"
            '{cluster=~"$cluster", consumergroup=~"$consumergroup"}) * 1000',
            "Rebalance",
            "{{consumergroup}}",
            "blue",
            on=True,
        ),
    ),
)
