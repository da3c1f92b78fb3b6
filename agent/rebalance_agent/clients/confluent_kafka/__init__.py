"""confluent-kafka: its consumer with librdkafka's own assignors, instrumented. Needs ``[confluent]``.

It imports ``confluent_kafka`` and no other client.
"""

from __future__ import annotations

from rebalance_agent.clients.confluent_kafka.consumer import Consumer

__all__ = ["Consumer"]
