"""Delivery of a process's events to its sidecar, in the background: the consumer never waits for it.

- ``reporter``: queues a consumer's events in the bounded ``outbox`` and sends them on a daemon thread.
- ``endpoint``: posts a batch over HTTP. ``heartbeat``: reports processes without events.

Not here: what is reported (``event_builder``), and the TLS of the posts (``client_tls``).
"""
