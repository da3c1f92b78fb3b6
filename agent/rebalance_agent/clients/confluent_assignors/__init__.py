"""A consumer with confluent-kafka's methods and the assignors of this package. Needs ``[confluent]``.

One `Consumer` consists of two clients, ``kafka`` and ``confluent_kafka``. kafka-python's consumer is the group member,
on its own thread: it joins, sends heartbeats, assigns and commits, and fetches no records. librdkafka reads the
assigned partitions on the application's thread.

- ``consumer``: defines `Consumer`. ``group_methods``, ``data_methods``: define the methods that need only the member,
  or only librdkafka.
- ``rebalancing``: runs the user's callbacks, and assigns partitions to librdkafka.
- ``offsets``: keeps owned partitions with stored and committed offsets. ``group_metadata``: encodes the member for
  transactions.
- ``member``: contains the group member and its threads. ``config``: divides one configuration between the two clients.
- ``kafka_errors``: converts kafka-python's exceptions to confluent-kafka's errors.
"""

from __future__ import annotations

from rebalance_agent.clients.confluent_assignors.consumer import Consumer

__all__ = ["Consumer"]
