"""What panels of the board Members ask."""

from __future__ import annotations

from dashboards.parts.query import GROUP, Query, bars_of, gauge, mean_of, times_in
from rebalance_agent.metrics.catalogue import BY_NAME

__all__ = ["CALLBACK", "CLIENT", "MEMBER", "NAME", "NEWEST", "chosen", "counted", "mean", "total"]

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
    went_up = bars_of(metric, chosen(metric), *by, across="sum")
    return Query(f"{went_up} > 0", legend)


def mean(metric: str, legend: str, *by: str) -> Query:
    """Return the mean of the observations since the previous point; no point without any."""
    return Query(mean_of(metric, GROUP, *by), legend)
