"""aiokafka: its consumer, instrumented, with the eager strategies of ``assignors`` by name. Needs ``[aiokafka]``.

The only package that imports ``aiokafka``.
"""

from __future__ import annotations

from rebalance_agent.clients.aiokafka.consumer import AIOKafkaConsumer

__all__ = ["AIOKafkaConsumer"]
