"""A consumer with confluent-kafka's methods and the assignors of this package. Needs ``[confluent]``.

One `Consumer` consists of two clients, ``kafka`` and ``confluent_kafka``. kafka-python's consumer is the group member,
on its own thread: it joins, sends heartbeats, assigns and commits, and fetches no records. librdkafka reads the
assigned partitions on the application's thread.

- ``consumer``: `Consumer`. ``group_methods``, ``data_methods``: its methods that need only the member, or only
  librdkafka.
- ``rebalancing``: runs the user's callbacks, and assigns partitions to librdkafka.
- ``offsets``: owned partitions with stored and committed offsets. ``group_metadata``: the member for transactions.
- ``member``: the group member and its threads. ``config``: one configuration divided between both clients.
- ``kafka_errors``: kafka-python's exceptions as confluent-kafka's errors.
"""

from __future__ import annotations

from rebalance_agent.clients.confluent_assignors.consumer import Consumer

__all__ = ["Consumer"]
