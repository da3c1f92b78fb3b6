"""The panels that compare members with each other."""

from __future__ import annotations

from dashboards.members.queries import (
    CLIENT,
    GENERATION_OF,
    MEMBER,
    NAME,
    NEWEST,
    WHO,
    counted_worst,
    highest_worst,
    total,
)
from dashboards.parts.panel import COUNT, Column, Look, Panel, above
from dashboards.parts.query import GROUP, Query, gauge, was_highest, worst

__all__ = ["AGAIN", "COUNTS", "EACH", "GENERATION", "PARTITIONS"]

BEHIND = (
    f"{was_highest(GENERATION_OF, GROUP, 'consumergroup')} - on (consumergroup) group_right () "
    f"{was_highest(GENERATION_OF, MEMBER, *WHO)}"
)
"""The number of generations by which each member is behind its group's newest, over the whole time range."""

EACH = Panel(
    10,
    "Members",
    "Which member differs from the others? **Behind**: number of generations behind the newest member of its group; "
    "if it is above 0, the member has left the group or has not received the new generation. The counts are for the "
    "time range. **Lost**: partitions that a callback reported as lost; not all clients have that callback, and a "
    "killed member reports nothing, so an empty cell does not mean that nothing was lost.",
    (
        Query(gauge("kafka_rebalance_member_generation", MEMBER, *CLIENT), rows=True),
        Query(
            f"{NEWEST} - on (cluster, consumergroup) group_right "
            f"{gauge('kafka_rebalance_member_generation', MEMBER, *CLIENT)}",
            rows=True,
        ),
        Query(f"sum by (cluster, consumergroup, client_id) (kafka_rebalance_member_partitions{{{MEMBER}}})", rows=True),
        *(
            Query(total(metric, *CLIENT) + only, rows=True)
            for metric, only in (
                ("kafka_rebalance_member_revoked_total", ""),
                ("kafka_rebalance_member_assigned_total", ""),
                ("kafka_rebalance_member_lost_total", " > 0"),
                ("kafka_rebalance_member_reprocessed_records_total", ""),
                ("kafka_rebalance_member_rejected_commits_total", ""),
            )
        ),
    ),
    Look.TABLE,
    width=24,
    empty="no sidecar or gateway is scraped",
    sort_by=("Behind", "Lost"),
    columns=(
        Column("cluster", "Cluster", width=80),
        Column("consumergroup", "Group"),
        Column("client_id", "Client id"),
        Column("Value #A", "Generation", COUNT, 0, width=92),
        Column("Value #B", "Behind", COUNT, 0, above(1), width=70),
        Column("Value #C", "Partitions", COUNT, 0, width=92),
        Column("Value #D", "Revoked", COUNT, 0, width=80),
        Column("Value #E", "Assigned", COUNT, 0, width=80),
        Column("Value #F", "Lost", COUNT, 0, above(bad=1), width=70),
        Column("Value #G", "Read twice", COUNT, 0, above(1), width=92),
        Column("Value #H", "Commits rejected", COUNT, 0, above(1), width=140),
    ),
)
PARTITIONS = Panel(
    11,
    "Partitions by member",
    "How many partitions does each member have? Members with the same client id are added up. The ten members with "
    "the most partitions are shown.",
    (
        highest_worst(
            "kafka_rebalance_member_partitions",
            MEMBER,
            f"sum by (consumergroup, client_id) (kafka_rebalance_member_partitions{{{MEMBER}}})",
            NAME,
            *WHO,
        ),
    ),
    Look.AREAS,
    empty="no members report",
)
COUNTS = Panel(
    12,
    "Revoked, assigned and lost partitions",
    "How many partitions are revoked, assigned and lost? For each of the three, the ten groups with the most "
    "partitions are shown. A cooperative member gives up only a few partitions; an eager member gives up all of them "
    "in every rebalance.",
    (
        counted_worst("kafka_rebalance_member_revoked_total", "{{consumergroup}} revoked", "consumergroup"),
        counted_worst("kafka_rebalance_member_assigned_total", "{{consumergroup}} assigned", "consumergroup"),
        counted_worst("kafka_rebalance_member_lost_total", "{{consumergroup}} lost", "consumergroup"),
    ),
    Look.COUNTS,
    width=12,
    empty="no members report",
)
AGAIN = Panel(
    13,
    "Repeated work",
    "When were records read twice because of rebalances, and when were commits rejected? For records and for "
    "commits, the ten members with the highest numbers are shown. To reduce the numbers, commit in the revoked "
    "callback.",
    (
        counted_worst("kafka_rebalance_member_reprocessed_records_total", f"{NAME} records", *WHO),
        counted_worst("kafka_rebalance_member_rejected_commits_total", f"{NAME} commits", *WHO),
    ),
    Look.COUNTS,
    width=12,
    empty="none in this time range",
)
GENERATION = Panel(
    17,
    "Generation by member",
    "Is a member behind its group? The lines of one group normally coincide; a member whose line stays below the "
    "lines of the other members has missed a rebalance. The ten members that are furthest behind are shown.",
    (Query(worst(10, gauge("kafka_rebalance_member_generation", MEMBER, *WHO), BEHIND, *WHO), NAME),),
    decimals=0,
    least=None,
    empty="no members report",
)
