"""From a group's view to the samples of its metrics, as `group_rows` reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rebalance_agent.metrics.group_metric import ExportedGroup, Sample, SeriesLimits
from rebalance_agent.metrics.group_rows import GROUP_ROWS
from rebalance_agent.metrics.metric import Metric
from rebalance_agent.tracking.views import GroupView

__all__ = ["GroupSamples", "group_samples", "running_samples"]

_VALUES = tuple((metric, metric.value) for metric in GROUP_ROWS if metric.value)
_SAMPLES = tuple((metric, metric.samples) for metric in GROUP_ROWS if metric.samples)
_RUNNING = tuple((metric, metric.running) for metric in GROUP_ROWS if metric.running)


class GroupSamples(NamedTuple):
    """Samples by metric, and how many (client id, host) pairs were folded to stay within the limits."""

    by_metric: Mapping[Metric, tuple[Sample, ...]]
    folded: int


def group_samples(view: GroupView, limits: SeriesLimits) -> GroupSamples:
    """Everything of a group that changes only with its view; see `running_samples` for what time changes."""
    exported, group = ExportedGroup(view, limits), (view.group,)
    by_metric: dict[Metric, tuple[Sample, ...]] = {
        metric: (Sample(group, number),) for metric, value in _VALUES if (number := value(view)) is not None
    }
    for metric, samples in _SAMPLES:
        by_metric[metric] = tuple([Sample(group + labels, number) for labels, number in samples(exported)])
    return GroupSamples(by_metric, exported.folded)


def running_samples(view: GroupView, now_ms: int) -> Iterator[tuple[Metric, Sample]]:
    """Yield the samples that change while the view does not: ages, partition-seconds, and the slowest member."""
    for metric, running in _RUNNING:
        for labels, value in running(view, now_ms):
            yield metric, Sample((view.group, *labels), value)
