"""What runs as a process: puts the other rooms together.

- ``processes``: observer, sidecar and gateway, and what every process needs (logs, signals, schedule).
- ``watch``: the parts that watch one cluster; the observer, `whatif`, `verify` and `explain` use them.
- ``settings``: every setting, from flags, environment, file and defaults.
- ``sinks``: where events go: Kafka, a file, a webhook.
- ``listeners``: the HTTP listeners and what secures them.
- ``preflight``: rights and the checks of `rebalance-agent check`.
- ``startup``: the startup probe of a sidecar.
"""
