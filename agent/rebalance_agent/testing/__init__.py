"""Contains helpers for tests: an embedded Kafka (public), a simulated coordinator, and synthetic histories.

Only the demo and the command ``pipeline synthesize`` import this package; contracts in ``pyproject.toml`` check this.
The package has no fakes of Kafka clients or brokers: a test that needs a broker gets a real broker.

- ``kafka``: defines `EmbeddedKafka`; ``pytest_plugin``: defines a pytest fixture for it; ``errors``: `BrokerError`.
- ``simulation``: simulates the classic group coordinator and its members.
- ``synthetic``: generates event histories of whole fleets.
"""

from __future__ import annotations

from rebalance_agent.artifacts.errors import ArtifactError
from rebalance_agent.testing.errors import BrokerError
from rebalance_agent.testing.kafka.embedded import EmbeddedKafka
from rebalance_agent.testing.kafka.listeners import Listener, Tls

__all__ = ["ArtifactError", "BrokerError", "EmbeddedKafka", "Listener", "Tls"]
