"""kafka-python's consumer, instrumented, with the strategies of ``assignors`` by name. Needs ``[kafka-python]``.

It imports ``kafka`` and no other client.

- ``consumer``: `KafkaConsumer`; ``rebalance_hooks``: its methods that report.
- ``assignor_list``: its assignors; ``assignor``: a strategy as one of them.
- ``joining``, ``subscriptions``: workarounds for kafka-python's group membership.
- ``offset_hooks``: reports offsets and join times to the instrumentation.
- ``admin_thread``: asks the cluster for ``lags``, ``internal_topics`` and ``inconsistent_protocol``.
- ``cluster_metadata``: partition counts and racks of topics.
"""

from __future__ import annotations

from rebalance_agent.clients.kafka_python.assignor import StrategyAssignor
from rebalance_agent.clients.kafka_python.consumer import KafkaConsumer

__all__ = ["KafkaConsumer", "StrategyAssignor"]
