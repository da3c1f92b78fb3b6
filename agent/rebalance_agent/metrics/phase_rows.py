"""Rows of rebalance phases, over all groups: a histogram for each group would need too many series."""

from __future__ import annotations

from rebalance_agent.metrics.metric import ExporterRole, Metric, MetricType

__all__ = ["ASSIGNOR_WAIT", "JOIN", "JOIN_BUCKETS", "PHASE_ROWS", "RECONCILE", "SYNC", "SYNC_BUCKETS"]

JOIN_BUCKETS = (0.01, 0.05, 0.25, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0)
"""Upper bounds in seconds: a follow-up rebalance takes milliseconds, a slow member up to max.poll.interval (5 min).

Members reconcile with their heartbeats (every 5 s by default) after they have revoked the partitions to give up.
"""

SYNC_BUCKETS = (0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 30.0)
"""Upper bounds in seconds: the leader of a small group answers in milliseconds, of a large group in seconds."""


def _row(name: str, text: str, buckets: tuple[float, ...]) -> Metric:
    return Metric(
        f"kafka_rebalance_{name}_seconds",
        MetricType.HISTOGRAM,
        ExporterRole.OBSERVER,
        text,
        unit="seconds",
        buckets=buckets,
    )


JOIN = _row("join", "Join phases of all groups' rebalances, as in kafka_rebalance_last_join_seconds.", JOIN_BUCKETS)
SYNC = _row("sync", "Sync phases of all groups' rebalances, as in kafka_rebalance_last_sync_seconds.", SYNC_BUCKETS)
ASSIGNOR_WAIT = _row(
    "assignor_wait",
    "Waits for the coordinator's assignment in all groups' rebalances, as in "
    "kafka_rebalance_last_assignor_wait_seconds.",
    JOIN_BUCKETS,
)
RECONCILE = _row(
    "reconcile",
    "Reconcile phases of all groups' rebalances, as in kafka_rebalance_last_reconcile_seconds.",
    JOIN_BUCKETS,
)

PHASE_ROWS: tuple[Metric, ...] = (JOIN, SYNC, ASSIGNOR_WAIT, RECONCILE)
"""In the order of /metrics and of the documentation."""
