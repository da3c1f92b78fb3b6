"""Members: what consumers saw of themselves, as their sidecars and gateways tell."""

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
"""Label matchers of what members are told apart by."""

NEWEST = gauge("kafka_rebalance_member_generation", GROUP)
NAME = "{{consumergroup}} {{client_id}}"


def chosen(metric: str) -> str:
    """Label matchers of a counter: some know only the group."""
    return MEMBER if "client_id" in BY_NAME[metric.removesuffix("_count")].labels else GROUP


def total(metric: str, *by: str) -> str:
    """How much was counted in the time range; what members count adds up."""
    return times_in(metric, chosen(metric), *by, across="sum")


def counted(metric: str, legend: str, *by: str) -> Query:
    """The counter as bars, only where it went up: most members' errors never do."""
    went_up = times_in(metric, chosen(metric), *by, window="$__rate_interval", across="sum")
    return Query(f"{went_up} > 0", legend)


def p95(metric: str, legend: str, *by: str) -> Query:
    """95 of 100 stay below; no point where there was nothing."""
    return Query(f"{quantile(0.95, metric, GROUP, *by)} >= 0", legend)


NUMBERS = (
    Panel(
        1,
        "Members that report",
        "How many members tell of themselves, by a sidecar or a gateway? Fewer than the board Fleet counts: the others "
        "are not instrumented, and their stalls are bounds.",
        (Query(f"count({gauge('kafka_rebalance_member_generation', MEMBER, *CLIENT)})", now=True),),
        Look.NUMBER,
        width=4,
        empty="no sidecar or gateway is scraped",
    ),
    Panel(
        2,
        "Slowest callback",
        "Does a member's own code hold rebalances up? How long the slowest rebalance callback of the time range took "
        "at most: the bound of its bucket (1, 5, 30, 60 s ...). While onPartitionsRevoked runs the whole group waits.",
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
        "What did rebalances cost in work done again? Records that were read and not committed when their partition "
        "went, and offsets that came back lower, in the time range.",
        (Query(f"sum({total('kafka_rebalance_member_reprocessed_records_total', *CLIENT)})", now=True),),
        Look.NUMBER,
        width=4,
        thresholds=above(1, 10_000),
        decimals=0,
        empty="no member tells",
    ),
    Panel(
        4,
        "Partitions lost",
        "Did members lose partitions without being asked? They were thrown out: their session timed out, or poll() "
        "came too late (max.poll.interval.ms).",
        (Query(f"sum({total('kafka_rebalance_member_lost_total', *CLIENT)})", now=True),),
        Look.NUMBER,
        width=4,
        thresholds=above(bad=1),
        decimals=0,
        empty="no member tells",
    ),
    Panel(
        5,
        "assign() failed",
        "Did an assignor raise in a leader? Then the whole group has no assignment until somebody mends it.",
        (Query(f"sum({total('kafka_rebalance_member_assign_failures_total')})", now=True),),
        Look.NUMBER,
        width=4,
        thresholds=above(bad=1),
        decimals=0,
        empty="no leader tells",
    ),
    Panel(
        6,
        "Commits refused",
        "Did members commit too late, while their group rebalanced already? Partitions whose commits the coordinator "
        "refused: their records are read twice. Only gateways see it.",
        (Query(f"sum({total('kafka_rebalance_member_rejected_commits_total', *CLIENT)})", now=True),),
        Look.NUMBER,
        width=4,
        thresholds=above(1),
        decimals=0,
        empty="no gateway tells",
    ),
)

CALLBACKS = Panel(
    7,
    "Slowest callbacks",
    "How long does the consumer's own code take in its rebalance callbacks? At most, by the bound of the slowest one's "
    "bucket. revoked stops the whole group while it runs; assigned delays only its own member; lost comes after the "
    "member was thrown out.",
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
    "How long does a member consume nothing in a rebalance? From its revoked or lost callback to the end of its next "
    "assigned callback.",
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
    "In which step do members wait? stop: from being told to sending JoinGroup, their own doing (only gateways see "
    "it); join: for the slowest other member; sync: for the leader's assign().",
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
    "Which member is different from the others? behind: generations that others of its group are ahead, so it is not "
    "in the group any more, or does not know yet; the counts are those of the time range.",
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
    "Who works on how many partitions? Members of one client id count together.",
    (Query(f"sum by (consumergroup, client_id) (kafka_rebalance_member_partitions{{{MEMBER}}})", NAME),),
    Look.AREAS,
    empty="no member tells",
)
COUNTS = Panel(
    12,
    "Given up, received, lost",
    "How many partitions change hands? A cooperative member gives up a few, an eager one all it has, every time.",
    (
        counted("kafka_rebalance_member_revoked_total", "{{consumergroup}} revoked", "consumergroup"),
        counted("kafka_rebalance_member_assigned_total", "{{consumergroup}} assigned", "consumergroup"),
        counted("kafka_rebalance_member_lost_total", "{{consumergroup}} lost", "consumergroup"),
    ),
    Look.COUNTS,
    step="1m",
    empty="no member tells",
)
AGAIN = Panel(
    13,
    "Work done again",
    "When did rebalances make members read records twice, and when were commits refused? Commit in the revoked "
    "callback to bring it down.",
    (
        counted("kafka_rebalance_member_reprocessed_records_total", f"{NAME} records", "consumergroup", "client_id"),
        counted("kafka_rebalance_member_rejected_commits_total", f"{NAME} commits", "consumergroup", "client_id"),
    ),
    Look.COUNTS,
    step="1m",
    empty="none counted: good, if agents are scraped",
)
ASSIGN = Panel(
    14,
    "assign() p95",
    "How long does the leader compute? The group waits in sync for it; seconds mean many topics or a slow assignor.",
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
    "Does the assignor fail, or not understand members' user data? Unreadable user data counts each member: a mix of "
    "versions, or a wrong setting; such members are treated as if they had none.",
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
    ),
    Look.COUNTS,
    step="1m",
    empty="none counted: good, if agents are scraped",
)
SKEW = Panel(
    16,
    "Skew of what leaders assigned",
    "Did the leader share evenly? The highest load over what its strategy promises; 1 is best. A member shows here "
    "once it has led.",
    (Query(gauge("kafka_rebalance_member_assignment_skew_ratio", MEMBER, "consumergroup", "client_id"), NAME),),
    thresholds=SHARES,
    decimals=2,
    least=1,
    empty="no leader tells",
)
GENERATION = Panel(
    17,
    "Generation by member",
    "Is a member left behind? Lines of one group run together; one that stays below has missed a rebalance.",
    (Query(gauge("kafka_rebalance_member_generation", MEMBER, "consumergroup", "client_id"), NAME),),
    width=12,
    decimals=0,
    least=None,
    empty="no member tells",
)
CALLS = Panel(
    18,
    "Callbacks",
    "How often does each callback run? Many lost ones mean that members are thrown out.",
    (counted(f"{CALLBACK}_count", "{{consumergroup}} {{callback}}", "consumergroup", "callback"),),
    Look.COUNTS,
    width=12,
    step="1m",
    empty="no member tells",
)

MEMBERS = Board(
    MEMBERS_UID,
    "Kafka rebalances / Members",
    "What consumers saw of themselves: callbacks, standstill, steps, work done again. From sidecars and gateways.",
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
            # Told by observers, whose jobs are not this board's.
            "max by (cluster, consumergroup) (kafka_rebalance_last_completed_timestamp_seconds"
            '{cluster=~"$cluster", consumergroup=~"$consumergroup"}) * 1000',
            "Rebalance",
            "{{consumergroup}}",
            "blue",
            on=True,
        ),
    ),
)
