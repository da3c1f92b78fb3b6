"""Catalogue rows as ``prometheus_client`` instruments, for metrics that a process counts as things happen."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.metrics import MetricWrapperBase

from rebalance_agent.metrics.export.dialects import Dialect
from rebalance_agent.metrics.export.text import TextFormat
from rebalance_agent.metrics.metric import Metric, MetricType

__all__ = ["Instruments"]

_Instrument = TypeVar("_Instrument", bound=MetricWrapperBase)


class Instruments:
    """The instruments of some rows, in their own registry. Thread-safe.

    Counters and histograms whose labels are all closed sets start with every series at 0. A gauge has no series until
    it is first set: what was never measured is absent, not 0.
    """

    def __init__(self, rows: Iterable[Metric], text: TextFormat | None = None) -> None:
        """``rows``: in the order of /metrics."""
        self.registry = CollectorRegistry()
        self._format = text or TextFormat()
        self._lock = threading.Lock()
        self._rows = tuple(rows)
        self._instruments: dict[Metric, MetricWrapperBase] = {}
        for row in self._rows:
            if row.kind is MetricType.COUNTER:
                _at_zero(row, self.counter(row))
            elif row.kind is MetricType.HISTOGRAM:
                _at_zero(row, self.histogram(row))

    def counter(self, row: Metric) -> Counter:
        """The row's counter."""
        return self._of(row, Counter)

    def gauge(self, row: Metric) -> Gauge:
        """The row's gauge; also for an info row, which is a gauge of 1."""
        return self._of(row, Gauge)

    def histogram(self, row: Metric) -> Histogram:
        """The row's histogram."""
        return self._of(row, Histogram)

    def text(self, dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
        """Metric families with headers, without the metrics that have no sample."""
        parts: list[bytes] = []
        for row in self._rows:
            with self._lock:
                instrument = self._instruments.get(row)
            if instrument and (lines := self._lines(instrument)):
                parts += (self._format.header(row, dialect), lines)
        return b"".join(parts)

    def _lines(self, instrument: MetricWrapperBase) -> bytes:
        # The ``_created`` samples that prometheus_client adds have no row in the catalogue and are optional in
        # OpenMetrics.
        samples = [
            (sample.name, tuple(sample.labels.items()), sample.value)
            for family in instrument.collect()
            for sample in family.samples
            if not sample.name.endswith("_created")
        ]
        return self._format.lines(samples)

    def _of(self, row: Metric, kind: type[_Instrument]) -> _Instrument:
        with self._lock:
            instrument = self._instruments.get(row)
            if instrument is None:
                more: dict[str, Any] = {"buckets": row.buckets} if row.kind is MetricType.HISTOGRAM else {}
                instrument = kind(row.name, row.help, row.labels, registry=self.registry, **more)
                self._instruments[row] = instrument
        if not isinstance(instrument, kind):
            raise TypeError(f"{row.name} is a {row.kind}, not a {kind.__name__}")
        return instrument


def _at_zero(row: Metric, instrument: MetricWrapperBase) -> None:
    if row.labels and all(label in row.values for label in row.labels):
        for values in itertools.product(*(row.values[label] for label in row.labels)):
            instrument.labels(*values)
