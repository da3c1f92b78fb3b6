"""The numbers at the top of the board Members."""

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
"""Two bounds of a process's slowest callback, in seconds: the time of all, and its bucket's; no bucket without any."""

NUMBERS = (
    Panel(
        1,
        "Members that report",
        "How many members report, by a sidecar or a gateway? If the board Fleet counts more, the others are not "
        "instrumented, and their stalls are bounds.",
        (Query(f"count({gauge('kafka_rebalance_member_generation', MEMBER, *CLIENT)})", now=True),),
        Look.NUMBER,
        width=8,
        empty="no sidecar or gateway is scraped",
    ),
    Panel(
        2,
        "Slowest callback, at most",
        "Do rebalance callbacks of members delay rebalances? The slowest rebalance callback in the time range was "
        "not slower than this: the upper bound of its bucket (1, 5, 10, 15, 30 s ...), or the sum of all "
        "callbacks of its process if that is lower. While onPartitionsRevoked runs, the whole group waits.",
        (Query(f"max({TOTAL} < {BUCKET} or {BUCKET})", now=True),),
        Look.NUMBER,
        "s",
        width=8,
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
        width=8,
        thresholds=above(1, 10_000),
        decimals=0,
        empty="no member reports",
    ),
    Panel(
        4,
        "Partitions reported lost",
        "Did members report that they lost partitions without revoking them? Not every client has a callback for that, "
        "and a member that was killed reports nothing, so no number does not mean that nothing was lost. The alert "
        "KafkaGroupPartitionsLost and the board Group (Partitions that moved: lost) count by the coordinator's "
        "records.",
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
        "corrected.",
        (Query(f"sum({total('kafka_rebalance_member_assign_failures_total')})", now=True),),
        Look.NUMBER,
        width=8,
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
        width=8,
        thresholds=above(1),
        decimals=0,
        empty="no gateway reports",
    ),
)
