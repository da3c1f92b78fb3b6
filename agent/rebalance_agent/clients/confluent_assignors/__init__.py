"""confluent-kafka's consumer with the assignors of this package. Needs ``[confluent]``.

One `Consumer` is two clients (``kafka`` and ``confluent_kafka``) and the threads between them:

- ``member``, ``membership``: kafka-python's consumer, in a thread of its own, is the member of the group: it joins,
  sends heartbeats, assigns and commits. It fetches no record.
- ``consumer``, ``rebalancing``: librdkafka reads what the group gave the member, on the application's thread.
- ``handover``: a rebalance waits there until the application has run its callback. ``pollwatch``: how long it may.
- ``offsets``, ``committer``: what is owned, stored and committed.
- ``settings``, ``security``: one configuration for both clients; what cannot be translated is refused by name.
"""

from __future__ import annotations

from rebalance_agent.clients.confluent_assignors.consumer import Consumer

__all__ = ["Consumer"]
