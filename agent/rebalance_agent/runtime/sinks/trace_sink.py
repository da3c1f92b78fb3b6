"""Sends events as spans over OTLP, as the last step of the sink ``otlp``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Protocol

import requests
import structlog
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult

from rebalance_agent.cluster.backoff import Backoff
from rebalance_agent.model.event_json import event_from_json, json_object
from rebalance_agent.runtime.otlp.collector_session import CollectorSession
from rebalance_agent.runtime.otlp.exporter_log import ExporterLog
from rebalance_agent.runtime.otlp.otlp_resource import process_resource
from rebalance_agent.runtime.otlp.otlp_spans import otlp_span
from rebalance_agent.runtime.sinks.queued_sink import DeliveryError
from rebalance_agent.traces.event_traces import EventTraces

__all__ = ["SPANS_MAX", "TraceSink"]

SPANS_MAX = 512
"""Maximum number of spans in one request: the SDK's default for ``OTEL_BSP_MAX_EXPORT_BATCH_SIZE``."""

WAIT_MAX_S = 30.0
"""Longest pause between attempts, in seconds."""

_AGAIN = frozenset({
    HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
})  # fmt: skip
"""Statuses after which the same request may be accepted later: those in OTLP's specification, and 408."""


class _Exporter(Protocol):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult: ...

    def shutdown(self) -> None: ...


class TraceSink:
    """Delivers events as spans, in order. Until the collector answers, events wait in the sink's queue."""

    def __init__(
        self,
        make: Callable[[requests.Session], _Exporter] = lambda session: OTLPSpanExporter(session=session),
        backoff: Callable[[], Backoff] = lambda: Backoff(first_s=0.5, max_s=WAIT_MAX_S),
    ) -> None:
        """``make``: creates the SDK's exporter, which the environment configures and which posts with the session."""
        session = CollectorSession()
        session.hooks["response"] = [self._answered]
        self._exporter, self._backoff = make(session), backoff
        self._resource = process_resource()
        self._traces = EventTraces()
        self._reasons = ExporterLog(OTLPSpanExporter.__module__)
        self._status = 0
        self._log = structlog.get_logger("rebalance_agent.otlp")

    def deliver(self, lines: Sequence[bytes], given_up: threading.Event) -> None:
        """Export the spans of events until the collector accepts or refuses them, or ``given_up`` is set.

        Raises:
            DeliveryError: the spans were not accepted.
        """
        events = (event_from_json(json_object(line)) for line in lines)
        spans = [otlp_span(span, self._resource) for event in events for span in self._traces.spans(event)]
        for begin in range(0, len(spans), SPANS_MAX):
            self._export(spans[begin : begin + SPANS_MAX], given_up)

    def close(self) -> None:
        """Close the exporter's connections."""
        self._exporter.shutdown()

    def _export(self, spans: Sequence[ReadableSpan], given_up: threading.Event) -> None:
        backoff, waited = self._backoff(), False
        while True:
            self._status = 0
            with self._reasons:
                if self._exporter.export(spans) is SpanExportResult.SUCCESS:
                    break
            reason = f"the collector responded with {self._status}" if self._status else self._reasons.reason
            if self._status and self._status not in _AGAIN:
                raise DeliveryError(reason)
            if not waited:
                waited = True
                self._log.warning("otlp_spans_wait", reason=reason)
            if given_up.wait(backoff.next()):
                raise DeliveryError(reason)
        if waited:
            self._log.info("otlp_spans_exported_again")

    def _answered(self, response: requests.Response, *_: object, **__: object) -> None:
        """Record the status of each answer, because the exporter returns only whether the export succeeded."""
        self._status = response.status_code
