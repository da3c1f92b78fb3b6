"""Computes the samples of a group's metrics from the group's view and the rows of `group_rows`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rebalance_agent.metrics.group_metric import ExportedGroup, SeriesLimits, Values
from rebalance_agent.metrics.group_rows import GROUP_ROWS
from rebalance_agent.metrics.group_values import members_until_ms
from rebalance_agent.metrics.metric import Metric
from rebalance_agent.tracking.evidence.known_times import FOREVER_MS
from rebalance_agent.tracking.views import GroupView

__all__ = ["GroupSamples", "constant_until_ms", "group_samples", "running_samples"]

_VALUES = tuple((metric, metric.value) for metric in GROUP_ROWS if metric.value)
_SAMPLES = tuple((metric, metric.samples) for metric in GROUP_ROWS if metric.samples)
_RUNNING = tuple((metric, metric.running) for metric in GROUP_ROWS if metric.running)


class GroupSamples(NamedTuple):
    """Values by metric, and the number of (client id, host) pairs that were folded to keep within the limits."""

    by_metric: Mapping[Metric, Values]
    folded: int


def group_samples(view: GroupView, limits: SeriesLimits) -> GroupSamples:
    """Return all samples of a group that change only with its view; `running_samples` yields the other samples."""
    exported = ExportedGroup(view, limits)
    by_metric: dict[Metric, Values] = {
        metric: (((), number),) for metric, value in _VALUES if (number := value(view)) is not None
    }
    for metric, samples in _SAMPLES:
        by_metric[metric] = samples(exported)
    return GroupSamples(by_metric, exported.folded)


def constant_until_ms(view: GroupView, now_ms: int) -> int:
    """Return until which time (epoch ms) `running_samples` stay equal, except rows that run ``at_rest``; 0: now."""
    if not view.at_rest:
        return 0
    until_ms = members_until_ms(view, now_ms)
    return FOREVER_MS if until_ms is None else until_ms


def running_samples(view: GroupView, now_ms: int) -> Iterator[tuple[Metric, Values]]:
    """Yield the values that change although the view does not: ages, partition-seconds, and members by name."""
    for metric, running in _RUNNING:
        if values := running(view, now_ms):
            yield metric, values
