"""Defines a ``prometheus_client`` collector that exports the metrics of a process's consumers in its own /metrics.

A program that serves /metrics needs no sidecar for these metrics: pass `on_event`, or a `MemberCollector` of a
registry, to its consumers. The metrics have the same names as in a sidecar (``kafka_rebalance_member_*``).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from prometheus_client import REGISTRY
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.metrics.export.member_metrics import MemberLimits, MemberMetrics
from rebalance_agent.metrics.member_rows import MEMBER_ROWS
from rebalance_agent.metrics.metric import Metric
from rebalance_agent.metrics.short_names import short_name
from rebalance_agent.model.event_json import event_from_json
from rebalance_agent.visible_names import visible

__all__ = ["MemberCollector", "on_event"]

_LIMITS = MemberLimits(lifeless_seconds=MemberLimits().silent_seconds)
"""A collection counts as the consumers' heartbeat, and hours may pass without a collection."""


class MemberCollector(Collector):
    """Metrics of the consumers that use this object as their ``on_event``. Thread-safe.

    When a consumer leaves, its gauges are removed; a day later its counters are removed, as in a sidecar.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        """Start without series; the first event adds some, and ``registry.register(collector)`` exports them."""
        self._metrics = MemberMetrics(clock or SystemClock(), _LIMITS)

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Count an event in the form in which ``on_event`` gets events.

        Raises:
            InvalidInputError: the argument is not an event.
        """
        self._metrics.observe([event_from_json(event)])

    def describe(self) -> Iterable[Family]:
        """Yield the families without samples, because a registry compares the names of families."""
        return map(_family, MEMBER_ROWS)

    def collect(self) -> Iterable[Family]:
        """Yield the families that have samples, for one scrape. A counter is 0 in the first scrape that has it."""
        self._metrics.all_alive()  # the collector runs in the consumers' process
        for row, samples in self._metrics.families("collector"):
            family = _family(row)
            for name, labels, value in samples:
                family.add_sample(name, {label: visible(short_name(text)) for label, text in labels}, value)
            yield family


def on_event(event: Mapping[str, Any]) -> None:
    """Count an event in ``prometheus_client.REGISTRY``, which exports the metrics from the first event on.

    Raises:
        InvalidInputError: the argument is not an event.
        ValueError: the registry has metrics with these names already.
    """
    _registered()(event)


@functools.cache
def _registered() -> MemberCollector:
    collector = MemberCollector()
    REGISTRY.register(collector)
    return collector


def _family(row: Metric) -> Family:
    return Family(row.name.removesuffix("_total"), row.help, row.kind)
