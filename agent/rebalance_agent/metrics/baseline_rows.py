"""Rows of baselines: each group's normal stall and savings, which the pipeline computes and publishes."""

from __future__ import annotations

from rebalance_agent.metrics.metric import ExporterRole, Metric, MetricType

__all__ = ["ADVICE_OPEN", "ADVICE_SAVED", "BASELINE_ROWS", "STALL_BASELINE"]

STALL_BASELINE = Metric(
    "kafka_rebalance_stall_baseline_seconds",
    MetricType.GAUGE,
    ExporterRole.OBSERVER,
    "Normal stall of the group at this hour of the week, from its history; absent if the history is too short.",
    ("consumergroup", "percentile"),
    "seconds",
    {"percentile": ("p50", "p95", "p99")},
)

ADVICE_SAVED = Metric(
    "kafka_rebalance_advice_weekly_saved_partition_seconds",
    MetricType.GAUGE,
    ExporterRole.OBSERVER,
    "Stall per week that the group saved by changes that the pipeline recommended. measured: the stall before the "
    "changes minus the stall after them; predicted: the prediction for the same changes. Absent without a measured "
    "change.",
    ("consumergroup", "saving"),
    "partition-seconds",
    {"saving": ("measured", "predicted")},
)
ADVICE_OPEN = Metric(
    "kafka_rebalance_advice_weekly_open_partition_seconds",
    MetricType.GAUGE,
    ExporterRole.OBSERVER,
    "Predicted stall per week that the group would save by changes that the pipeline recommended and the group has "
    "not made. Absent if there is no such change, or if the history is too short for a prediction.",
    ("consumergroup",),
    "partition-seconds",
)

BASELINE_ROWS: tuple[Metric, ...] = (STALL_BASELINE, ADVICE_SAVED, ADVICE_OPEN)
"""Rows in the order of /metrics and of the documentation."""
