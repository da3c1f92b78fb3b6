"""Queries of the board Members."""

from __future__ import annotations

from dashboards.parts.query import GROUP, Query, bars_of, gauge, mean_of, times_in
from rebalance_agent.metrics.catalogue import BY_NAME

__all__ = ["CALLBACK", "CLIENT", "MEMBER", "NAME", "NEWEST", "counted", "mean", "reporting", "total"]

CALLBACK = "kafka_rebalance_member_callback_seconds"
GENERATION = "kafka_rebalance_member_generation"
CLIENT = ("cluster", "consumergroup", "client_id")
MEMBER = GROUP + ', client_id=~"$client_id"'
"""Label matchers of metrics with a member's label."""

NEWEST = gauge(GENERATION, GROUP)
NAME = "{{consumergroup}} {{client_id}}"


def reporting(window: str, at: str = "") -> str:
    """Return a PromQL clause that selects processes which reported one of the selected members in the window.

    It is for metrics without a member's label. A sidecar reports the consumers of its pod, so this selects a member's
    own series; a gateway's series are those of all its members. ``at``: ``@ end()`` for rankings.
    """
    return f"and on (job, instance, consumergroup) max_over_time({GENERATION}{{{MEMBER}}}[{window}]{at and ' ' + at})"


def total(metric: str, *by: str) -> str:
    """Return the increase in the time range, summed over members."""
    return times_in(metric, _matchers(metric), *by, across="sum", only=_only(metric, "$__range"))


def counted(metric: str, legend: str, *by: str) -> Query:
    """Return the counter as bars, only where it increased, because most error counters never do."""
    went_up = bars_of(metric, _matchers(metric), *by, across="sum", only=_only(metric, "$__rate_interval"))
    return Query(f"{went_up} > 0", legend)


def mean(metric: str, legend: str, *by: str) -> Query:
    """Return the mean of the observations since the previous point; no point without any."""
    return Query(mean_of(metric, GROUP, *by, only=reporting("$__rate_interval")), legend)


def _matchers(metric: str) -> str:
    return MEMBER if _has_member(metric) else GROUP


def _only(metric: str, window: str) -> str:
    return "" if _has_member(metric) else reporting(window)


def _has_member(metric: str) -> bool:
    return "client_id" in BY_NAME[metric.removesuffix("_count")].labels
