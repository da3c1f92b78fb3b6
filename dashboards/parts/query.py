"""Writes the PromQL of the boards: selects series, and combines the series of several observers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rebalance_agent.metrics.catalogue import BY_NAME

__all__ = [
    "BAR",
    "CLOSED",
    "GROUP",
    "ONE_GROUP",
    "ROLE",
    "Query",
    "bars_of",
    "count_in",
    "gauge",
    "labels_of",
    "mean_of",
    "quantile",
    "rate_of",
    "times_in",
    "was_highest",
    "went_up",
    "worst",
]

ROLE = 'job=~"$job", instance=~"$instance", cluster=~"$cluster"'
"""Label matchers of every query. ``cluster`` exists only with a ``cluster_name``; All also matches its absence."""

GROUP = ROLE + ', consumergroup=~"$consumergroup"'
"""The same matchers, for boards of several groups."""

ONE_GROUP = ROLE + ', consumergroup="$consumergroup"'
"""The same matchers, for boards of one group."""


CLOSED = frozenset(label for metric in BY_NAME.values() for label in metric.values)
"""Labels with a few, fixed values: a legend with one of them is short."""

_LABEL = re.compile(r"\{\{(\w+)\}\}")

BAR = "3m"
"""The minimum distance between points of bars: three scrapes at a scrape interval of 60 s."""


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a panel. ``now``: the value at the end of the time range instead of a line.

    ``legend``: Grafana's format, ``{{label}}``; empty for tables.
    """

    expression: str
    legend: str = ""
    now: bool = False
    rows: bool = False
    """The result has the rows of a table instead of series."""


def labels_of(legend: str) -> list[str]:
    """Return the labels in a legend's format."""
    return _LABEL.findall(legend)


def gauge(metric: str, matchers: str, *by: str) -> str:
    """Return a gauge. Several observers export the same value, so the maximum is used."""
    return f"max by ({_labels(by)}) ({metric}{{{matchers}}})"


def count_in(
    metric: str, matchers: str, *by: str, window: str = "$__range", across: str = "$across", only: str = ""
) -> str:
    """Return the increase of a counter in a window: ``increase`` of each series, then combined.

    ``across``: how counters of several observers are combined (sum or max); members' counters are always summed.
    ``only``: an operator with its right side that selects from the series, before they are combined.
    """
    return _across(f"increase({metric}{{{matchers}}}[{window}]){_after(only)}", metric, by, across)


def times_in(counter: str, matchers: str, *by: str, across: str = "$across", only: str = "") -> str:
    """Return the increase in the time range, rounded to an integer, because ``increase`` extrapolates to fractions."""
    return f"round({count_in(counter, matchers, *by, across=across, only=only)})"


def bars_of(counter: str, matchers: str, *by: str, across: str = "$across", only: str = "") -> str:
    """Return the increase since the previous point, as an integer: the points add up to the counter.

    The window of a point is one scrape longer than the distance between points. Consecutive windows therefore share one
    sample, and no increase between two samples is lost or counted twice. ``increase`` extrapolates to the whole window,
    which the ratio corrects. This holds if points are at least three scrapes apart (`BAR`); otherwise Grafana makes the
    window longer.
    """
    counted = count_in(counter, matchers, *by, window="$__rate_interval", across=across, only=only)
    return f"round({counted} * $__interval_ms / $__rate_interval_ms)"


def mean_of(metric: str, matchers: str, *by: str, only: str = "") -> str:
    """Return the mean of a histogram's observations since the previous point; no point if there were none.

    Unlike a quantile, it does not depend on buckets, and a single observation is shown with its own value.
    """
    labels = ", ".join(_split(by))
    total, number = (
        f"sum by ({labels}) (rate({metric}_{part}{{{matchers}}}[$__rate_interval]){_after(only)})"
        for part in ("sum", "count")
    )
    return f"{total} / ({number} > 0)"


def rate_of(metric: str, matchers: str, *by: str, across: str = "sum") -> str:
    """Return the rate per second."""
    return f"{across} by ({_labels(by)}) (rate({metric}{{{matchers}}}[$__rate_interval]))"


def quantile(share: float, metric: str, matchers: str, *by: str, window: str = "$__rate_interval") -> str:
    """Return a quantile of a histogram; the same observation from two observers does not change it."""
    labels = ", ".join(("le", *_split(by)))
    return f"histogram_quantile({share}, sum by ({labels}) (rate({metric}_bucket{{{matchers}}}[{window}])))"


def worst(number: int, expression: str, ranking: str, *by: str) -> str:
    """Return the series with the highest ``ranking``, which is computed once over the whole time range.

    ``by``: labels that the ranking has, those of a group if none are given.
    """
    return f"{expression} and on ({_labels(by)}) topk({number}, {ranking})"


def went_up(counter: str, matchers: str, *by: str, across: str = "$across", only: str = "") -> str:
    """Return a ranking: the increase of the counter in the time range."""
    return _across(f"increase({counter}{{{matchers}}}[$__range] @ end()){_after(only)}", counter, by, across)


def was_highest(metric: str, matchers: str, *by: str) -> str:
    """Return a ranking: the highest value in the time range."""
    return f"max by ({_labels(by)}) (max_over_time({metric}{{{matchers}}}[$__range] @ end()))"


def _across(each: str, metric: str, by: tuple[str, ...], across: str) -> str:
    """Combine series of several agents; the series of one agent are always summed first."""
    row = BY_NAME.get(metric)
    inner = [label for label in row.labels if label not in _split(by)] if row else []
    own = f"sum without ({', '.join(inner)}) ({each})" if inner and across != "sum" else each
    return f"{across} by ({_labels(by)}) ({own})"


def _after(only: str) -> str:
    return f" {only}" if only else ""


def _labels(by: tuple[str, ...]) -> str:
    return ", ".join(_split(by))


def _split(by: tuple[str, ...]) -> tuple[str, ...]:
    return by or ("cluster", "consumergroup")
