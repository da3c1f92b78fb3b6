"""Exports with OTLP over HTTP, with the SDK of ``opentelemetry`` and ``requests``, imported only if OTLP is on.

- ``otlp_environment``: what the standard variables turn on.
- ``configured_push``: the push of metrics that they configure; ``metrics_push``: its thread; ``otlp_points``: samples
  of the catalogue's metrics in the SDK's types.
- ``passed_telemetry``: passes metrics that clients push to a gateway on to the endpoint.
- ``exporter_log``: captures log messages of the SDK's exporters, which log each attempt.
- ``otlp_spans``: spans in the SDK's types, for the sink ``trace_sink``; ``otlp_resource``: the process as their source.
"""
