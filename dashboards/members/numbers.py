"""The numbers at the top of the Members board."""

from __future__ import annotations

from dashboards.members.queries import CALLBACK, CLIENT, MEMBER, reporting, total
from dashboards.parts.panel import Look, Panel, above
from dashboards.parts.query import GROUP, Query, gauge

__all__ = ["NUMBERS"]

_KIND = "cluster, consumergroup, instance, callback"
TOTAL = f"sum by ({_KIND}) (increase({CALLBACK}_sum{{{GROUP}}}[$__range]) {reporting('$__range')})"
BUCKET = (
    f"(histogram_quantile(1, sum by (le, {_KIND}) (increase({CALLBACK}_bucket{{{GROUP}}}[$__range]) "
    f"{reporting('$__range')})) >= 0)"
)
"""Two upper bounds of a process's slowest callback, in seconds: the sum of all callbacks, and its bucket's bound."""

NUMBERS = (
    Panel(
        1,
        "Members that report",
        "How many members report, through a sidecar or a gateway? If the Fleet board counts more members, the "
        "additional members do not report, and their stalls are known only within bounds.",
        (Query(f"count({gauge('kafka_rebalance_member_generation', MEMBER, *CLIENT)})", now=True),),
        Look.NUMBER,
        width=8,
        empty="no sidecar or gateway is scraped",
    ),
    Panel(
        2,
        "Slowest callback (upper bound)",
        "Do rebalance callbacks delay rebalances? No rebalance callback in the time range took longer than this "
        "number. It is the upper bound of the slowest callback's histogram bucket (1, 5, 10, 15, 30 s ...), or, if "
        "this is lower, the total duration of all callbacks of the same process. While onPartitionsRevoked runs, the "
        "rebalance waits.",
        (Query(f"max({TOTAL} < {BUCKET} or {BUCKET})", now=True),),
        Look.NUMBER,
        "s",
        width=8,
        thresholds=above(1, 5),
        empty="no callbacks in this time range",
    ),
    Panel(
        3,
        "Records read twice",
        "How many records were read twice because of rebalances? The number counts records that were read but not "
        "committed when their partition was revoked, and records that were read again after an offset reset.",
        (Query(f"sum({total('kafka_rebalance_member_reprocessed_records_total', *CLIENT)})", now=True),),
        Look.NUMBER,
        width=8,
        thresholds=above(1, 10_000),
        decimals=0,
        empty="no members report",
    ),
    Panel(
        4,
        "Partitions reported lost",
        "Did members report partitions that they lost without revoking them? Not every client has a callback for lost "
        "partitions, and a killed member reports nothing, so an empty panel does not mean that nothing was lost. The "
        "alert KafkaGroupPartitionsLost and the Group board (Partitions that moved: lost) use the coordinator's "
        "records instead.",
        (Query(f"sum({total('kafka_rebalance_member_lost_total', *CLIENT)}) > 0", now=True),),
        Look.NUMBER,
        width=8,
        thresholds=above(bad=1),
        decimals=0,
        empty="none reported",
    ),
    Panel(
        5,
        "assign() failed",
        "Did an assignor raise an exception in a leader? The whole group then has no assignment until the problem is "
        "fixed.",
        (Query(f"sum({total('kafka_rebalance_member_assign_failures_total')})", now=True),),
        Look.NUMBER,
        width=8,
        thresholds=above(bad=1),
        decimals=0,
        empty="no leaders report",
    ),
    Panel(
        6,
        "Commits rejected",
        "Did members commit too late, during a rebalance? The number counts partitions whose commits the coordinator "
        "rejected; their records are read twice. Only gateways report this.",
        (Query(f"sum({total('kafka_rebalance_member_rejected_commits_total', *CLIENT)})", now=True),),
        Look.NUMBER,
        width=8,
        thresholds=above(1),
        decimals=0,
        empty="no gateways report",
    ),
)
