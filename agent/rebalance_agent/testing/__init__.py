"""Public helpers for tests: an embedded Kafka. Nothing here is imported by the agent itself.

Not here: fakes of Kafka clients' behaviour. A test that needs a broker gets a real one.
"""

from __future__ import annotations

from rebalance_agent.artifacts.errors import ArtifactError
from rebalance_agent.testing.errors import BrokerError
from rebalance_agent.testing.kafka.embedded import EmbeddedKafka
from rebalance_agent.testing.kafka.listeners import Listener, Tls

__all__ = ["ArtifactError", "BrokerError", "EmbeddedKafka", "Listener", "Tls"]
