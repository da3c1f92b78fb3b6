"""Client telemetry (KIP-714): the gateway asks unmodified clients for their own numbers, and exports them.

- ``client_subscription``: which clients are asked, and for what.
- ``pushed_bytes``: unpacks what a client pushes, within bounds; ``push_error``: why a push is not taken.
- ``otlp_reader``: reads the few fields of OTLP's metrics that are needed.
- ``labelled_metrics``: adds the client's names to what is passed on to a collector.
- ``client_values``: a client's metric -> a series of ours.
- ``telemetry_clients``: the clients that push, and their series; ``known_clients``: the libraries of all members.
- ``telemetry_frames``: the requests of one connection.
"""
