"""Pushes all metrics over OTLP from a separate thread, so that no other thread waits for the collector."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import structlog
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics.export import Metric as OtlpMetric
from opentelemetry.sdk.metrics.export import MetricExportResult, MetricsData, ResourceMetrics, ScopeMetrics

from rebalance_agent.clock import Clock
from rebalance_agent.metrics.export.agent_metrics import AgentMetrics
from rebalance_agent.metrics.export.dialects import Dialect, Page
from rebalance_agent.metrics.export.parsed_text import parsed_families
from rebalance_agent.runtime.otlp.collector_session import CollectorSession
from rebalance_agent.runtime.otlp.exporter_log import ExporterLog
from rebalance_agent.runtime.otlp.otlp_points import POINTS_MAX, otlp_metrics
from rebalance_agent.runtime.otlp.otlp_resource import SCOPE, process_resource

__all__ = ["MetricsPush"]

STOP_S = 2.0
"""Longest wait for the last export at stop, in seconds."""

_NS = 1_000_000


class _Exporter(Protocol):
    def export(self, metrics_data: MetricsData) -> MetricExportResult: ...

    def shutdown(self) -> None: ...


class MetricsPush:
    """Exports the pages every ``interval_seconds``, and once more at the end.

    Nothing is queued: a failed export is counted, and the next one contains all counts.
    """

    def __init__(
        self,
        pages: Sequence[Page],
        counts: AgentMetrics,
        clock: Clock,
        interval_seconds: float,
        exporter: _Exporter | None = None,
    ) -> None:
        """``exporter``: by default the SDK's exporter, which the environment configures."""
        self._pages, self._counts, self._clock = tuple(pages), counts, clock
        self._interval_seconds = interval_seconds
        self._exporter = exporter or OTLPMetricExporter(session=CollectorSession())
        self._resource = process_resource()
        self._start_ns = clock.now_ms() * _NS
        self._reasons = ExporterLog(OTLPMetricExporter.__module__)
        self._failing = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="otlp-metrics", daemon=True)
        self._log = structlog.get_logger("rebalance_agent.otlp")

    def start(self) -> None:
        """Start exporting."""
        self._thread.start()

    def stop(self) -> None:
        """Export once more, unless the last export failed; wait at most `STOP_S` seconds."""
        self._stop.set()
        self._thread.join(STOP_S)

    def _run(self) -> None:
        while not self._stop.wait(self._interval_seconds):
            self.export()
        if not self._failing:
            self.export()
        self._exporter.shutdown()

    def export(self) -> bool:
        """Export all metrics now; return whether the collector accepted them."""
        try:
            with self._reasons:
                accepted = all(map(self._exported, _requests(self._metrics())))
        except Exception:  # noqa: BLE001 - the thread must continue: the next export may be accepted
            self._log.exception("otlp_export_raised")
            accepted = False
        self._counts.otlp_exported("accepted" if accepted else "failed")
        if accepted and self._failing:
            self._log.info("otlp_metrics_exported_again")
        elif not accepted and not self._failing:
            self._log.warning("otlp_metrics_not_exported", reason=self._reasons.reason)
        self._failing = not accepted
        return accepted

    def _metrics(self) -> Iterator[OtlpMetric]:
        now_ns = self._clock.now_ms() * _NS
        for page in self._pages:
            text = page(Dialect.PUSHED)
            for row, samples in parsed_families(text if isinstance(text, list) else [text]):
                yield from otlp_metrics(row, samples, self._start_ns, now_ns)

    def _exported(self, metrics: Sequence[OtlpMetric]) -> bool:
        data = MetricsData([ResourceMetrics(self._resource, [ScopeMetrics(SCOPE, metrics, "")], "")])
        return self._exporter.export(data) is MetricExportResult.SUCCESS


def _requests(metrics: Iterable[OtlpMetric]) -> Iterator[list[OtlpMetric]]:
    """Yield the metrics in groups of about `POINTS_MAX` points, one group for each request."""
    together: list[OtlpMetric] = []
    points = 0
    for metric in metrics:
        together.append(metric)
        points += len(metric.data.data_points)
        if points >= POINTS_MAX:
            yield together
            together, points = [], 0
    if together:
        yield together
