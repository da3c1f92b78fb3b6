"""Instrumentation of a consumer's own process: times callbacks and ``assign()``, and posts events to the sidecar.

It imports no Kafka client (the adapters in ``clients`` do), and its failures never reach the consumer. Exceptions of
the user's own code pass through unchanged.

- ``hooks``: `Instrumentation`, the entry point. A client's adapter creates one per consumer.
- ``membership``: the member's generation and ids, as the member's client reports them.
- ``rebalance_listener``, ``timed``: wrap the user's rebalance listener.
- ``instrumented_assignor``: wraps an assignor. ``assignor_shapes`` reads the assignor's arguments and results;
  ``assign_decision`` describes one call and its assessment.
- ``consumer_progress``: counts records that are consumed again when partitions change owners.
- ``event_builder``: builds the events.
- ``leading``, ``led_members``: report the generations that the consumer leads.
- ``delivery``: queues events; daemon threads post them to the sidecar and call the application's ``on_event``. It also
  reports processes without events.
- ``client_tls``: creates the TLS contexts of these posts, and of other clients.
- ``warmup``: does Python's one-time work when a consumer is created, not during a rebalance.
- ``suppress``: logs our own failures instead of raising them.
"""

from __future__ import annotations

from rebalance_agent.instrumentation.delivery.event_callback import OnEvent
from rebalance_agent.instrumentation.delivery.reporter import Reporter
from rebalance_agent.instrumentation.hooks import Instrumentation
from rebalance_agent.instrumentation.membership import Membership

__all__ = ["Instrumentation", "Membership", "OnEvent", "Reporter"]
