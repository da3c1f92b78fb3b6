"""PromQL of the boards: selected series, and how series of several observers are combined."""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.metrics.catalogue import BY_NAME

__all__ = [
    "GROUP",
    "ONE_GROUP",
    "ROLE",
    "Query",
    "count_in",
    "gauge",
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
"""The same for boards of several groups."""

ONE_GROUP = ROLE + ', consumergroup="$consumergroup"'
"""The same for boards of one group."""


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


def gauge(metric: str, matchers: str, *by: str) -> str:
    """Return a gauge: several observers have the same value, so their maximum is used."""
    return f"max by ({_labels(by)}) ({metric}{{{matchers}}})"


def count_in(metric: str, matchers: str, *by: str, window: str = "$__range", across: str = "$across") -> str:
    """Return the increase of a counter in a window: ``increase`` of each series, then combined.

    ``across``: how counters of several observers are combined (sum or max); members' counters are always summed.
    """
    return _across(f"increase({metric}{{{matchers}}}[{window}])", metric, by, across)


def times_in(counter: str, matchers: str, *by: str, window: str = "$__range", across: str = "$across") -> str:
    """Return the same as an integer: ``increase`` extrapolates beyond the samples and gives fractions."""
    return f"round({count_in(counter, matchers, *by, window=window, across=across)})"


def rate_of(metric: str, matchers: str, *by: str, across: str = "sum") -> str:
    """Return the rate per second."""
    return f"{across} by ({_labels(by)}) (rate({metric}{{{matchers}}}[$__rate_interval]))"


def quantile(share: float, metric: str, matchers: str, *by: str, window: str = "$__rate_interval") -> str:
    """Return a quantile of a histogram; the same observation from two observers does not change it."""
    labels = ", ".join(("le", *_split(by)))
    return f"histogram_quantile({share}, sum by ({labels}) (rate({metric}_bucket{{{matchers}}}[{window}])))"


def worst(number: int, expression: str, ranking: str) -> str:
    """Return the groups with the highest ``ranking``, which is computed once over the whole time range."""
    return f"{expression} and on (cluster, consumergroup) topk({number}, {ranking})"


def went_up(counter: str, matchers: str) -> str:
    """Return a ranking: the increase of the counter in the time range."""
    return _across(f"increase({counter}{{{matchers}}}[$__range] @ end())", counter, (), "$across")


def was_highest(metric: str, matchers: str) -> str:
    """Return a ranking: the highest value in the time range."""
    return f"max by ({_labels(())}) (max_over_time({metric}{{{matchers}}}[$__range] @ end()))"


def _across(each: str, metric: str, by: tuple[str, ...], across: str) -> str:
    """Combine series of several agents; the series of one agent are always summed first."""
    row = BY_NAME.get(metric)
    inner = [label for label in row.labels if label not in _split(by)] if row else []
    own = f"sum without ({', '.join(inner)}) ({each})" if inner and across != "sum" else each
    return f"{across} by ({_labels(by)}) ({own})"


def _labels(by: tuple[str, ...]) -> str:
    return ", ".join(_split(by))


def _split(by: tuple[str, ...]) -> tuple[str, ...]:
    return by or ("cluster", "consumergroup")
