"""aiokafka's consumer, instrumented, with the eager strategies of ``assignors`` by name. Needs ``[aiokafka]``.

This is the only package that imports ``aiokafka``.

- ``consumer``: `AIOKafkaConsumer`; ``rebalance_hooks``: its methods that report.
- ``assignors``: strategies and assignors with aiokafka's interface.
- ``joining``: workarounds for aiokafka's group membership, on JoinGroup and SyncGroup.
- ``offset_hooks``: reports offsets and join times to the instrumentation.
- ``async_listener``: the rebalance listener; ``internal_topics``, ``cluster_metadata``: topics for the strategies.
- ``inconsistent_protocol``: explains why a group refuses a consumer.
"""

from __future__ import annotations

from rebalance_agent.clients.aiokafka.consumer import AIOKafkaConsumer

__all__ = ["AIOKafkaConsumer"]
