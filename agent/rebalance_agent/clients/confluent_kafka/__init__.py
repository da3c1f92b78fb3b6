"""confluent-kafka's consumer with librdkafka's own assignors, instrumented. Needs ``[confluent]``.

It imports ``confluent_kafka`` and no other client; in these modules ``import confluent_kafka`` is the library.
librdkafka assigns partitions as before; `rebalance_agent.clients.confluent_assignors` brings our strategies.

- ``consumer``: `Consumer`; ``rebalance_hooks``: its methods that report; ``instrumented_proxy``: the same for an
  existing consumer; ``group_position``: its group, generation and ids; ``statistics``: librdkafka's reasons;
  ``inconsistent_protocol``: explains why a group refuses a consumer.
"""

from __future__ import annotations

from rebalance_agent.clients.confluent_kafka.consumer import Consumer

__all__ = ["Consumer"]
