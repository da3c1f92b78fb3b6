"""kafka-python's consumer, instrumented, with the strategies of ``assignors`` by name. Needs ``[kafka-python]``.

This package imports ``kafka`` and no other client.

- ``consumer``: defines `KafkaConsumer`; ``rebalance_hooks``: defines the consumer's methods that report rebalances.
- ``assignor_list``: builds the consumer's list of assignors; ``assignor``: wraps a strategy as an assignor of
  kafka-python.
- ``joining``, ``subscriptions``: work around problems in kafka-python's group membership.
- ``offset_hooks``: reports offsets and join times to the instrumentation.
- ``admin_thread``: asks the cluster for ``lags``, ``internal_topics`` and ``inconsistent_protocol``.
- ``cluster_metadata``: reads partition counts and racks of topics.
"""

from __future__ import annotations

from rebalance_agent.clients.kafka_python.assignor import StrategyAssignor
from rebalance_agent.clients.kafka_python.consumer import KafkaConsumer

__all__ = ["KafkaConsumer", "StrategyAssignor"]
