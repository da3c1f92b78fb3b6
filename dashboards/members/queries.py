"""Queries of the Members board."""

from __future__ import annotations

import re

from dashboards.parts.query import GROUP, Query, bars_of, gauge, mean_of, times_in, was_highest, went_up, worst
from rebalance_agent.metrics.catalogue import BY_NAME

__all__ = [
    "CALLBACK",
    "CLIENT",
    "GENERATION_OF",
    "MEMBER",
    "NAME",
    "NEWEST",
    "WHO",
    "counted",
    "counted_worst",
    "highest_worst",
    "mean",
    "mean_worst",
    "reporting",
    "total",
    "worst_of",
]

CALLBACK = "kafka_rebalance_member_callback_seconds"
GENERATION_OF = "kafka_rebalance_member_generation"
CLIENT = ("cluster", "consumergroup", "client_id")
WHO = ("consumergroup", "client_id")
MEMBER = GROUP + ', client_id=~"$client_id"'
"""Label matchers of metrics with a member's label."""

NEWEST = gauge(GENERATION_OF, GROUP)
NAME = "{{consumergroup}} {{client_id}}"


def reporting(window: str, at: str = "") -> str:
    """Return a PromQL clause that selects processes which reported one of the selected members in the window.

    It is for metrics without a label for the member. A sidecar reports only the consumers of its pod, so this selects
    the member's own series; a gateway's series cover all its members. ``at``: ``@ end()`` for rankings.
    """
    return (
        f"and on (job, instance, consumergroup) max_over_time({GENERATION_OF}{{{MEMBER}}}[{window}]{at and ' ' + at})"
    )


def total(metric: str, *by: str) -> str:
    """Return the increase in the time range, summed over members."""
    return times_in(metric, _matchers(metric), *by, across="sum", only=_only(metric, "$__range"))


def counted(metric: str, legend: str, *by: str) -> Query:
    """Return the counter as bars, without zeros, because most error counters never increase."""
    went_up = bars_of(metric, _matchers(metric), *by, across="sum", only=_only(metric, "$__rate_interval"))
    return Query(f"{went_up} > 0", legend)


def worst_of(metric: str, *by: str, number: int = 10) -> str:
    """Return a clause that selects the series whose counter increased the most in the time range."""
    ranking = went_up(metric, _matchers(metric), *by, across="sum", only=_only(metric, "$__range", "@ end()"))
    return worst(number, "", ranking, *by)


def counted_worst(metric: str, legend: str, *by: str) -> Query:
    """Return the counter as bars; show only the series with the highest increases in the time range."""
    bars = bars_of(metric, _matchers(metric), *by, across="sum", only=_only(metric, "$__rate_interval"))
    return Query(f"({bars}{worst_of(metric, *by)}) > 0", legend)


def mean_worst(metric: str, legend: str, *by: str) -> Query:
    """Return the mean as points; show only the series with the most time in the time range."""
    points = mean(metric, legend, *by)
    return Query(f"{points.expression}{worst_of(f'{metric}_sum', *by)}", legend)


def highest_worst(metric: str, matchers: str, expression: str, legend: str, *by: str) -> Query:
    """Return the gauge; show only the series that were highest in the time range."""
    return Query(worst(10, expression, was_highest(metric, matchers, *by), *by), legend)


def mean(metric: str, legend: str, *by: str) -> Query:
    """Return the mean of the observations since the previous point; no point if there were none."""
    return Query(mean_of(metric, GROUP, *by, only=reporting("$__rate_interval")), legend)


def _matchers(metric: str) -> str:
    return MEMBER if _has_member(metric) else GROUP


def _only(metric: str, window: str, at: str = "") -> str:
    return "" if _has_member(metric) else reporting(window, at)


def _has_member(metric: str) -> bool:
    return "client_id" in BY_NAME[re.sub("_(count|sum)$", "", metric)].labels
