"""A collector for ``prometheus_client``: the metrics of a process's own consumers, in its own /metrics.

A program that serves /metrics needs no sidecar for them: pass `on_event`, or a `MemberCollector` of a registry, to its
consumers. The names are those of a sidecar (``kafka_rebalance_member_*``).
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
"""A collection counts as the consumers' heartbeat, and hours may pass without one."""


class MemberCollector(Collector):
    """Metrics of the consumers whose ``on_event`` it is. Thread-safe.

    Consumers lose their gauges when they leave, and their counters a day later, as in a sidecar.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        """No series before the first event; ``registry.register(collector)`` exports them."""
        self._metrics = MemberMetrics(clock or SystemClock(), _LIMITS)

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Count an event, as ``on_event`` gets it.

        Raises:
            InvalidInputError: it is not an event.
        """
        self._metrics.observe([event_from_json(event)])

    def describe(self) -> Iterable[Family]:
        """Yield the families without samples: a registry compares their names."""
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
    """Count an event in ``prometheus_client.REGISTRY``, which exports the metrics from the first one on.

    Raises:
        InvalidInputError: it is not an event.
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
