"""The agent's processes: composes the other packages into observer, sidecar and gateway.

- ``processes``: observer, sidecar and gateway, and their common parts (logs, signals, memory).
- ``watch``: the data path of one cluster; the observer, `whatif`, `verify` and `explain` use it.
- ``settings``: every setting, from flags, environment, file and defaults.
- ``sinks``: publishes events to Kafka, to a file, to a webhook, or as spans to a collector.
- ``otlp``: exports metrics and spans to an OpenTelemetry collector.
- ``listeners``: the HTTP listeners and the gateway's addresses.
- ``preflight``: the checks of `rebalance-agent check`.
- ``scheduling``: repeats calls at intervals.
- ``startup``: the startup probe of a sidecar.
"""
