"""Handles client telemetry (KIP-714): asks unmodified clients for their own metrics, and exports these metrics.

- ``client_subscription``: decides which clients are asked for telemetry, and for which metrics.
- ``pushed_bytes``: decompresses a client's push, within size limits; ``push_error``: the reasons for refusing a push.
- ``otlp_reader``: reads the few fields that are needed from OTLP metrics.
- ``labelled_metrics``: adds attributes that identify the client to metrics that are forwarded to a collector.
- ``client_values``: maps a client's metrics to the gateway's series.
- ``telemetry_clients``: stores the values that clients push, and exports their series; ``known_clients``: exports the
  client library and poll limit of each member.
- ``telemetry_frames``: answers the telemetry requests of one connection.
"""
