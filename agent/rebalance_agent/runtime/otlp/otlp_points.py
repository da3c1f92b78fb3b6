"""Converts samples of the catalogue's metrics to OpenTelemetry's types; names, labels and values are as in /metrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, pairwise
from typing import cast

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    NumberDataPoint,
    Sum,
)
from opentelemetry.sdk.metrics.export import Metric as OtlpMetric

from rebalance_agent.metrics.export.parsed_text import ParsedSample
from rebalance_agent.metrics.metric import Metric, MetricType

__all__ = ["CONVENTIONS", "POINTS_MAX", "otlp_metrics"]

POINTS_MAX = 5_000
"""Maximum number of points in one request (about a megabyte); collectors accept requests of several megabytes by
default."""

CONVENTIONS = {
    "consumergroup": "messaging.consumer.group.name",
    "topic": "messaging.destination.name",
    "client_id": "messaging.client.id",
}
"""Label -> the attribute of the semantic conventions that points have in addition to the label."""

_Labels = tuple[tuple[str, str], ...]


def otlp_metrics(row: Metric, samples: Iterable[ParsedSample], start_ns: int, now_ns: int) -> Iterator[OtlpMetric]:
    """Yield the samples of one metric in parts of at most `POINTS_MAX` points.

    ``start_ns``: when counters began to count; ``now_ns``: when they were read. Both are in nanoseconds since the
    epoch.
    """
    if row.kind is MetricType.HISTOGRAM:
        buckets = _histograms(samples, start_ns, now_ns)
        while part := list(islice(buckets, POINTS_MAX)):
            yield OtlpMetric(row.name, row.help, row.unit, Histogram(part, AggregationTemporality.CUMULATIVE))
        return
    numbers = (NumberDataPoint(_attributes(sample.labels), start_ns, now_ns, float(sample.value)) for sample in samples)
    while points := list(islice(numbers, POINTS_MAX)):
        counted = Sum(points, AggregationTemporality.CUMULATIVE, is_monotonic=True)
        yield OtlpMetric(row.name, row.help, row.unit, counted if row.kind is MetricType.COUNTER else Gauge(points))


def _histograms(samples: Iterable[ParsedSample], start_ns: int, now_ns: int) -> Iterator[HistogramDataPoint]:
    """Yield a point for each series, whose samples come together: ascending buckets, then sum and count in any order.

    The lowest and the highest value are unknown, so both are None, which the encoder leaves out.
    """
    bounds: list[float] = []
    totals = [0.0]
    ends: dict[str, float] = {}
    unknown = cast("float", None)
    for name, labels, value in samples:
        kind = name.rpartition("_")[2]
        if kind == "bucket":
            bounds.append(float(labels["le"]))
            totals.append(value)
        else:
            ends[kind] = value
        if ends.keys() == {"sum", "count"}:
            counts = [int(until - before) for before, until in pairwise(totals)]
            attributes, count = _attributes(labels), int(ends["count"])
            yield HistogramDataPoint(
                attributes, start_ns, now_ns, count, ends["sum"], counts, bounds[:-1], min=unknown, max=unknown
            )
            bounds, totals, ends = [], [0.0], {}


def _attributes(labels: Mapping[str, str]) -> dict[str, str]:
    more = {CONVENTIONS[name]: value for name, value in labels.items() if name in CONVENTIONS}
    return {**labels, **more}
