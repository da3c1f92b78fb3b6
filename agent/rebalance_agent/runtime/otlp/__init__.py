"""Exports with OTLP over HTTP. It imports ``opentelemetry`` and ``requests`` only if OTLP is enabled.

- ``otlp_environment``: the exports that the standard environment variables enable.
- ``configured_push``: creates the push of metrics that these variables configure; ``metrics_push``: its thread;
  ``otlp_points``: converts samples of the catalogue's metrics to the SDK's types.
- ``passed_telemetry``: forwards to the endpoint the metrics that clients push to a gateway.
- ``exporter_log``: captures log messages of the SDK's exporters, which log each attempt.
- ``otlp_spans``: spans in the SDK's types, for the sink ``trace_sink``; ``otlp_resource``: the process as their source.
"""
