"""confluent-kafka's consumer with librdkafka's own assignors, instrumented. Needs ``[confluent]``.

This package imports ``confluent_kafka`` and no other client. In these modules ``import confluent_kafka`` means the
library, not this package. librdkafka assigns partitions as before; `rebalance_agent.clients.confluent_assignors` adds
the strategies of this project.

- ``consumer``: defines `Consumer`; ``rebalance_hooks``: defines the methods that report rebalances;
  ``instrumented_proxy``: instruments an existing consumer; ``group_position``: reads a consumer's group, generation and
  ids; ``statistics``: reads librdkafka's reasons for rebalances; ``inconsistent_protocol``: explains why a group
  refuses a consumer.
"""

from __future__ import annotations

from rebalance_agent.clients.confluent_kafka.consumer import Consumer

__all__ = ["Consumer"]
