"""Client telemetry (KIP-714): the gateway asks unmodified clients for their own metrics, and exports them.

- ``client_subscription``: which clients are asked, and for which metrics.
- ``pushed_bytes``: decompresses a client's push, within bounds; ``push_error``: why a push is refused.
- ``otlp_reader``: reads the few fields needed from OTLP metrics.
- ``labelled_metrics``: adds the client's names to the metrics that are passed on to a collector.
- ``client_values``: maps a client's metrics to our series.
- ``telemetry_clients``: the clients that push, and their series; ``known_clients``: the libraries of all members.
- ``telemetry_frames``: the requests of one connection.
"""
