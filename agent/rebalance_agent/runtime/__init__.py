"""Runs the agent's processes: composes the other packages into the observer, the sidecar and the gateway.

- ``processes``: runs observer, sidecar and gateway; contains their common parts (logs, signals, memory).
- ``watch``: watches one cluster, for the observer, `whatif`, `verify` and `explain`.
- ``settings``: reads every setting from flags, environment, file and defaults.
- ``sinks``: publishes events to Kafka, to a file, to a webhook, or as spans to a collector.
- ``otlp``: exports metrics and spans to an OpenTelemetry collector.
- ``listeners``: creates the HTTP listeners and finds the gateway's addresses.
- ``preflight``: makes the checks of `rebalance-agent check`.
- ``scheduling``: repeats calls at intervals.
- ``startup``: is the startup probe of a sidecar.
"""
