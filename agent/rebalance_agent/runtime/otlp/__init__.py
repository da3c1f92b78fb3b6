"""Exports metrics and traces with OTLP over HTTP.

``opentelemetry``, ``requests`` and its ``urllib3`` are imported only if OTLP is on.

- ``otlp_environment``: reads which exports the standard environment variables enable.
- ``configured_push``: creates the push of metrics that these variables configure; ``metrics_push``: exports metrics in
  a thread; ``otlp_points``: converts samples of the catalogue's metrics to the SDK's types.
- ``passed_telemetry``: forwards the metrics that clients push to a gateway to the OTLP endpoint; ``waiting_pushes``:
  queues them.
- ``collector_session``: sends requests to the collector; its answers take bounded time and memory.
- ``exporter_log``: captures the log messages of the SDK's exporters, which log each failed attempt.
- ``otlp_spans``: converts spans to the SDK's types for ``trace_sink``; ``otlp_resource``: describes this process.
"""
