"""kafka-python: its consumer, instrumented, with the strategies of ``assignors`` by name. Needs ``[kafka-python]``.

It imports ``kafka`` and no other client.
"""

from __future__ import annotations

from rebalance_agent.clients.kafka_python.assignor import StrategyAssignor
from rebalance_agent.clients.kafka_python.consumer import KafkaConsumer

__all__ = ["KafkaConsumer", "StrategyAssignor"]
