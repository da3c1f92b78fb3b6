"""aiokafka's rebalance listener around the timed one. aiokafka reports lost partitions as revoked ones."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from rebalance_agent.instrumentation.event_builder import HasTopicPartition
from rebalance_agent.instrumentation.rebalance_listener import RebalanceListener

__all__ = ["AiokafkaListener"]


class AiokafkaListener:
    """Distinguishes lost from revoked partitions: a consumer in no generation has lost its partitions.

    Then the user's ``on_partitions_lost`` is called, or if there is none ``on_partitions_revoked`` (KIP-429). Results,
    coroutines included, are returned to aiokafka.
    """

    def __init__(self, timed: RebalanceListener, joined: Callable[[], bool]) -> None:
        """Call ``timed``; ``joined`` returns whether the consumer is in a generation."""
        self._timed = timed
        self._joined = joined

    def on_partitions_revoked(self, revoked: Collection[HasTopicPartition]) -> Any:  # noqa: ANN401
        """Call the revoked or the lost callback with ``revoked``."""
        lost = bool(revoked) and not self._joined()
        return self._timed.on_partitions_lost(revoked) if lost else self._timed.on_partitions_revoked(revoked)

    def on_partitions_assigned(self, assigned: Collection[HasTopicPartition]) -> Any:  # noqa: ANN401
        """Call the assigned callback."""
        return self._timed.on_partitions_assigned(assigned)
