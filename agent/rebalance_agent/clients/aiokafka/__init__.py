"""aiokafka's consumer, instrumented, with the eager strategies of ``assignors`` by name. Needs ``[aiokafka]``.

This is the only package that imports ``aiokafka``.

- ``consumer``: defines `AIOKafkaConsumer`; ``rebalance_hooks``: defines the consumer's methods that report rebalances.
- ``assignors``: wraps strategies and assignors in aiokafka's interface.
- ``joining``: works around problems in aiokafka's group membership, in JoinGroup and SyncGroup.
- ``offset_hooks``: reports offsets and join times to the instrumentation.
- ``async_listener``: the rebalance listener; ``internal_topics``, ``cluster_metadata``: topics for the strategies.
- ``inconsistent_protocol``: explains why a group refuses a consumer.
"""

from __future__ import annotations

from rebalance_agent.clients.aiokafka.consumer import AIOKafkaConsumer

__all__ = ["AIOKafkaConsumer"]
