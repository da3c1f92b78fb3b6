"""Converts spans to OpenTelemetry's types."""

from __future__ import annotations

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from rebalance_agent.runtime.otlp.otlp_resource import SCOPE
from rebalance_agent.traces.span import Span

__all__ = ["otlp_span"]

_NS = 1_000_000
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)


def otlp_span(span: Span, resource: Resource) -> ReadableSpan:
    """Return the span in the type that the SDK's exporters accept."""
    return ReadableSpan(
        span.name,
        context=_context(span.trace_id, span.span_id),
        parent=_context(span.trace_id, span.parent_id) if span.parent_id else None,
        resource=resource,
        attributes=span.attributes,
        links=[Link(_context(link.trace_id, link.span_id)) for link in span.links],
        kind=SpanKind.INTERNAL,
        status=Status(StatusCode.ERROR, span.error) if span.error else Status(),
        start_time=span.start_ms * _NS,
        end_time=span.end_ms * _NS,
        instrumentation_scope=SCOPE,
    )


def _context(trace_id: str, span_id: str) -> SpanContext:
    # Remote: any process may have written the linked span.
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=_SAMPLED)
