"""What a consumer's own process tells of its rebalances: callbacks timed, ``assign()`` timed and judged, events sent.

Nothing in here knows a Kafka client (``clients`` does), and nothing in here may hurt the consumer that it watches:

- ``hooks``: `Instrumentation`, the one entry point; a client's adapter makes one per consumer.
- ``listener``, ``assignor``: wrappers around the user's rebalance listener and assignors. What the user's own code
  raises passes through unchanged; what ours raises never gets out.
- ``reporter``: events into a bounded ``outbox``, out of it by a daemon thread that lives while there is something to
  send; ``endpoint`` is the HTTP of it.
- ``rehearsal``: what Python does only the first time, done when a consumer is made.
- ``shapes``: what assignors are given and give back, read by its shape.
"""

from __future__ import annotations

from rebalance_agent.instrumentation.hooks import Instrumentation
from rebalance_agent.instrumentation.membership import Membership
from rebalance_agent.instrumentation.reporter import Reporter

__all__ = ["Instrumentation", "Membership", "Reporter"]
