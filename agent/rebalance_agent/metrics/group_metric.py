"""Defines a metric of groups: a catalogue row with the function that reads the values from a group's view."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from rebalance_agent.metrics.metric import ExporterRole, Metric, MetricType
from rebalance_agent.model.episode import Source
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.tracking.views import Counters, GroupView, StallHistogram

__all__ = [
    "FOLDED",
    "GROUP_LABEL",
    "ExportedGroup",
    "GroupMetric",
    "Owners",
    "Sample",
    "SeriesLimits",
    "Topics",
    "Value",
    "Values",
    "client_labels",
    "counter",
    "gauge",
    "labelled",
    "polled",
    "running",
]

GROUP_LABEL = ("consumergroup",)

FOLDED = "_folded"
"""Label value ``client_id`` of members beyond ``max_member_series``, and ``topic`` of topics beyond
``max_topic_series`` and ``max_lag_topics``."""

Value = float | StallHistogram

Values = Sequence[tuple[tuple[str, ...], Value]]
"""The values of the labels after ``consumergroup``, and the value of the series with these labels."""


class Sample(NamedTuple):
    """One series: label values in the order of the metric's labels, and its value."""

    labels: tuple[str, ...]
    value: Value


@dataclass(frozen=True, slots=True)
class SeriesLimits:
    """Limits on the series that are exported.

    Three limits apply to each group. ``max_member_series``: different (client id, host) pairs. ``max_topic_series``:
    topics with numbers of members and partitions. ``top_topics``: topics with a spread below 1. ``topic_shown``:
    whether a topic's name may become a label. ``page_bytes_max``: bytes of all groups together; if the groups would
    exceed this limit, the largest groups have no series.
    """

    max_member_series: int = 100
    max_topic_series: int = 0
    top_topics: int = 5
    topic_shown: Callable[[str], bool] = lambda _topic: True
    page_bytes_max: int = 100_000_000


Owners = dict[tuple[str, str], tuple[int | None, int]]
"""(client id, host) -> the highest number of partitions of one member with these labels (None if some are not known),
and the number of these members. Tuples, since groups have thousands of members."""


Topics = dict[str, tuple[int, int]]
"""Topic -> the number of members that own partitions of it, and the number of these partitions."""


class ExportedGroup:
    """A group's view with the limits for its export."""

    def __init__(self, view: GroupView, limits: SeriesLimits) -> None:
        """``view`` is only read."""
        self.view = view
        self.limits = limits

    @property
    def owners(self) -> Owners:
        """The members by their labels: at most ``max_member_series`` entries, and one entry for all other members."""
        return self._owners[0]

    @property
    def topics(self) -> Topics:
        """The assigned topics: at most ``max_topic_series``, and one entry for all others; empty if the limit is 0."""
        return self._topics[0]

    @property
    def folded(self) -> int:
        """The number of (client id, host) pairs and topics that were folded to keep within the limits."""
        return self._owners[1] + self._topics[1]

    @cached_property
    def _topics(self) -> tuple[Topics, int]:
        if not self.limits.max_topic_series:
            return {}, 0
        members, partitions = Counter[str](), Counter[str]()
        for member in self.view.members:
            for topic, numbers in (member.assigned or {}).items():
                members[topic] += 1
                partitions[topic] += len(numbers)
        ranked = sorted(filter(self.limits.topic_shown, partitions), key=lambda topic: (-partitions[topic], topic))
        shown = sorted(ranked[: self.limits.max_topic_series])
        topics = {topic: (members[topic], partitions[topic]) for topic in shown}
        if beyond := partitions.keys() - topics.keys():
            with_any = sum(not beyond.isdisjoint(member.assigned or ()) for member in self.view.members)
            topics[FOLDED] = (with_any, sum(partitions[topic] for topic in beyond))
        return topics, len(beyond)

    @cached_property
    def _owners(self) -> tuple[Owners, int]:
        owners: Owners = {}
        for member in self.view.members:
            labels = client_labels(member.client_id, member.host)
            partitions = None if member.assigned is None else count_partitions(member.assigned)
            owners[labels] = _joined(owners[labels], partitions, 1) if labels in owners else (partitions, 1)
        beyond = len(owners) - self.limits.max_member_series
        if beyond <= 0:
            return dict(sorted(owners.items())), 0
        # The most loaded members keep their names, because operators look for these members.
        ranked = sorted(owners.items(), key=lambda owner: (-(owner[1][0] or 0), owner[0]))
        kept = dict(sorted(ranked[: self.limits.max_member_series]))
        folded = (FOLDED, "")
        for _, owner in ranked[self.limits.max_member_series :]:
            kept[folded] = _joined(kept[folded], *owner) if folded in kept else owner
        return kept, beyond


@dataclass(frozen=True, slots=True, eq=False)
class GroupMetric(Metric):
    """A row with a function that reads the metric's values from a group's view.

    The function is one of three. ``value``: returns one series, which changes only with the view; None if it is absent.
    ``samples``: returns several such series. ``running``: returns series that time changes as well; its second argument
    is now in epoch milliseconds. ``at_rest``: whether time changes them even while the group is at rest. ``series``:
    the maximum number of the metric's series for a group type, as `group_rows.GROUP_SERIES_MAX` counts them.
    """

    value: Callable[[GroupView], float | None] | None = None
    samples: Callable[[ExportedGroup], Values] | None = None
    running: Callable[[GroupView, int], Values] | None = None
    at_rest: bool = False
    series: Callable[[GroupType], int] = field(default=lambda _type: 1)


def client_labels(client_id: str, host: str) -> tuple[str, str]:
    """Return the values of the labels ``client_id`` and ``host``; brokers name hosts with a leading slash."""
    return client_id, host.removeprefix("/")


def polled(view: GroupView) -> bool:
    """Return whether the group is known only from polls."""
    return view.source is Source.ADMIN


def gauge(
    name: str,
    text: str,
    unit: str = "",
    *,
    value: Callable[[GroupView], float | None],
    series: Callable[[GroupType], int] = lambda _type: 1,
) -> GroupMetric:
    """Return a gauge with one series per group; the series is absent if ``value`` returns None."""
    name = f"kafka_rebalance_{name}"
    return GroupMetric(
        name, MetricType.GAUGE, ExporterRole.OBSERVER, text, GROUP_LABEL, unit, value=value, series=series
    )


def counter(
    name: str,
    text: str,
    unit: str,
    *,
    value: Callable[[Counters], float | None],
    series: Callable[[GroupType], int] = lambda _type: 1,
) -> GroupMetric:
    """Return a counter with one series per group, absent as in `gauge` and for polled groups: polls miss rebalances."""

    def unless_polled(view: GroupView) -> float | None:
        return None if view.source is Source.ADMIN else value(view.counters)

    name = f"kafka_rebalance_{name}_total"
    return GroupMetric(
        name, MetricType.COUNTER, ExporterRole.OBSERVER, text, GROUP_LABEL, unit, value=unless_polled, series=series
    )


def labelled(
    name: str,
    kind: MetricType,
    text: str,
    labels: dict[str, tuple[str, ...]] | tuple[str, ...],
    unit: str = "",
    *,
    samples: Callable[[ExportedGroup], Values],
    series: Callable[[GroupType], int],
    buckets: tuple[float, ...] = (),
) -> GroupMetric:
    """Return a metric with more labels; ``labels``: their names, or a mapping from names to fixed sets of values."""
    values = labels if isinstance(labels, dict) else {}
    return GroupMetric(
        name,
        kind,
        ExporterRole.OBSERVER,
        text,
        (*GROUP_LABEL, *labels),
        unit,
        {label: closed for label, closed in values.items() if closed},
        buckets,
        samples=samples,
        series=series,
    )


def running(
    name: str,
    kind: MetricType,
    text: str,
    unit: str,
    labels: tuple[str, ...] = GROUP_LABEL,
    closed: Mapping[str, tuple[str, ...]] | None = None,
    *,
    running: Callable[[GroupView, int], Values],
    at_rest: bool = False,
    series: int = 1,
) -> GroupMetric:
    """Return a metric whose value changes with time; ``closed``: label -> the fixed set of its values."""
    return GroupMetric(
        name,
        kind,
        ExporterRole.OBSERVER,
        text,
        labels,
        unit,
        closed or {},
        running=running,
        at_rest=at_rest,
        series=lambda _type: series,
    )


def _joined(owner: tuple[int | None, int], partitions: int | None, members: int) -> tuple[int | None, int]:
    most, so_far = owner
    highest = None if most is None or partitions is None else max(most, partitions)
    return highest, so_far + members
