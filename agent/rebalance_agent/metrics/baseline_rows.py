"""Rows of baselines: each group's normal stall, which the pipeline computes from the history and publishes."""

from __future__ import annotations

from rebalance_agent.metrics.metric import ExporterRole, Metric, MetricType

__all__ = ["BASELINE_ROWS", "STALL_BASELINE"]

STALL_BASELINE = Metric(
    "kafka_rebalance_stall_baseline_seconds",
    MetricType.GAUGE,
    ExporterRole.OBSERVER,
    "Normal stall of the group at this hour of the week, from its history; absent if the history is too short.",
    ("consumergroup", "percentile"),
    "seconds",
    {"percentile": ("p50", "p95", "p99")},
)

BASELINE_ROWS: tuple[Metric, ...] = (STALL_BASELINE,)
"""Rows in the order of /metrics and of the documentation."""
