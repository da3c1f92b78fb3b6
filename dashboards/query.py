"""Questions to Prometheus: which series a board looks at, and how series of several observers become one."""

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
"""Label matchers of every query. ``cluster`` exists only with a ``cluster_name``: All matches its absence, too."""

GROUP = ROLE + ', consumergroup=~"$consumergroup"'
"""The same for boards that may show several groups."""

ONE_GROUP = ROLE + ', consumergroup="$consumergroup"'
"""The same for boards about one."""


@dataclass(frozen=True, slots=True)
class Query:
    """One target of a panel. ``now``: its value at the end of the time range instead of a line over it.

    ``legend``: Grafana's format, ``{{label}}``; empty for tables.
    """

    expression: str
    legend: str = ""
    now: bool = False
    rows: bool = False
    """The answer is a table's rows instead of series."""


def gauge(metric: str, matchers: str, *by: str) -> str:
    """A gauge: several observers say the same, so their maximum is it."""
    return f"max by ({_labels(by)}) ({metric}{{{matchers}}})"


def count_in(metric: str, matchers: str, *by: str, window: str = "$__range", across: str = "$across") -> str:
    """How often something was counted in a window: ``increase`` of each series first, then put together.

    ``across`` is what replicas of observers make right (sum or max); members' counters always add up: ``sum``.
    """
    return _across(f"increase({metric}{{{matchers}}}[{window}])", metric, by, across)


def times_in(counter: str, matchers: str, *by: str, window: str = "$__range", across: str = "$across") -> str:
    """The same for what is counted one by one: ``increase`` reaches a little beyond the samples and gives fractions."""
    return f"round({count_in(counter, matchers, *by, window=window, across=across)})"


def rate_of(metric: str, matchers: str, *by: str, across: str = "sum") -> str:
    """Counted per second."""
    return f"{across} by ({_labels(by)}) (rate({metric}{{{matchers}}}[$__rate_interval]))"


def quantile(share: float, metric: str, matchers: str, *by: str, window: str = "$__rate_interval") -> str:
    """A quantile of a histogram; that two observers tell the same observation twice does not change it."""
    labels = ", ".join(("le", *_split(by)))
    return f"histogram_quantile({share}, sum by ({labels}) (rate({metric}_bucket{{{matchers}}}[{window}])))"


def worst(number: int, expression: str, ranking: str) -> str:
    """Only the groups that ``ranking`` puts highest: the same all along a line, for it asks of the whole range."""
    return f"{expression} and on (cluster, consumergroup) topk({number}, {ranking})"


def went_up(counter: str, matchers: str) -> str:
    """A ranking: how much the counter went up within the time range."""
    return _across(f"increase({counter}{{{matchers}}}[$__range] @ end())", counter, (), "$across")


def was_highest(metric: str, matchers: str) -> str:
    """A ranking: the highest value within the time range."""
    return f"max by ({_labels(())}) (max_over_time({metric}{{{matchers}}}[$__range] @ end()))"


def _across(each: str, metric: str, by: tuple[str, ...], across: str) -> str:
    """Put series of several agents together; each agent's own are added up before, whatever ``across`` says."""
    row = BY_NAME.get(metric)
    inner = [label for label in row.labels if label not in _split(by)] if row else []
    own = f"sum without ({', '.join(inner)}) ({each})" if inner and across != "sum" else each
    return f"{across} by ({_labels(by)}) ({own})"


def _labels(by: tuple[str, ...]) -> str:
    return ", ".join(_split(by))


def _split(by: tuple[str, ...]) -> tuple[str, ...]:
    return by or ("cluster", "consumergroup")
