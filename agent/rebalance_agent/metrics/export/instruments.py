"""Creates ``prometheus_client`` instruments from catalogue rows, for metrics that a process counts itself."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.metrics import MetricWrapperBase

from rebalance_agent.metrics.export.dialects import Dialect
from rebalance_agent.metrics.export.text import TextFormat
from rebalance_agent.metrics.metric import Metric, MetricType

__all__ = ["Instruments", "Sample"]

_Instrument = TypeVar("_Instrument", bound=MetricWrapperBase)

Sample = tuple[str, tuple[tuple[str, str], ...], float]
"""The name, the labels and the value of a sample."""

_Series = tuple[str, tuple[tuple[str, str], ...]]
"""The name and the labels of a sample."""


class Instruments:
    """The instruments of some rows, in their own registry. Thread-safe.

    If all labels of a counter or histogram have fixed sets of values, every series starts at 0. A gauge has no series
    until it is first set: a value that was never measured is absent, not 0.

    With ``zero_first``, every other series of a counter or histogram is also 0 the first time that a reader (such as a
    dialect) gets the series, because ``rate()`` and ``increase()`` ignore the value with which a series first appears.
    From the next time on, the reader gets the actual value.
    """

    def __init__(self, rows: Iterable[Metric], text: TextFormat | None = None, *, zero_first: bool = False) -> None:
        """``rows``: in the order of /metrics."""
        self.registry = CollectorRegistry()
        self._format = text or TextFormat()
        self._lock = threading.Lock()
        self._rows = tuple(rows)
        self._instruments: dict[Metric, MetricWrapperBase] = {}
        self._zero_first = zero_first
        self._shown: dict[Hashable, frozenset[_Series]] = {}
        for row in self._rows:
            if row.kind is MetricType.COUNTER:
                _at_zero(row, self.counter(row))
            elif row.kind is MetricType.HISTOGRAM:
                _at_zero(row, self.histogram(row))

    def counter(self, row: Metric) -> Counter:
        """Return the row's counter."""
        return self._of(row, Counter)

    def gauge(self, row: Metric) -> Gauge:
        """Return the row's gauge. An info row is also a gauge, with the value 1."""
        return self._of(row, Gauge)

    def histogram(self, row: Metric) -> Histogram:
        """Return the row's histogram."""
        return self._of(row, Histogram)

    def text(self, dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
        """Return metric families with headers, without the metrics that have no samples."""
        parts: list[bytes] = []
        for row, samples in self.families(dialect):
            parts += (self._format.header(row, dialect), self._format.lines(samples))
        return b"".join(parts)

    def families(self, reader: Hashable) -> Iterator[tuple[Metric, list[Sample]]]:
        """Yield rows with their samples for ``reader``, without rows that have no samples; must be read to the end."""
        shown: set[_Series] = set()
        before = self._shown.get(reader, frozenset())
        for row in self._rows:
            with self._lock:
                instrument = self._instruments.get(row)
            if instrument and (samples := _samples(instrument)):
                if self._zero_first and row.kind in (MetricType.COUNTER, MetricType.HISTOGRAM):
                    series = {sample[:2] for sample in samples}
                    samples = [(*sample[:2], sample[2] if sample[:2] in before else 0.0) for sample in samples]
                    shown |= series
                yield row, samples
        self._shown[reader] = frozenset(shown)  # a series that was removed and returns starts at 0 again

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


def _samples(instrument: MetricWrapperBase) -> list[Sample]:
    # The ``_created`` samples that prometheus_client adds have no row in the catalogue and are optional in OpenMetrics.
    return [
        (sample.name, tuple(sample.labels.items()), sample.value)
        for family in instrument.collect()
        for sample in family.samples
        if not sample.name.endswith("_created")
    ]


def _at_zero(row: Metric, instrument: MetricWrapperBase) -> None:
    if row.labels and all(label in row.values for label in row.labels):
        for values in itertools.product(*(row.values[label] for label in row.labels)):
            instrument.labels(*values)
