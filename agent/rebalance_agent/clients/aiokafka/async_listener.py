"""aiokafka's rebalance listener around the timed one. aiokafka knows revocation only, and calls it for losses, too."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from rebalance_agent.instrumentation.event_builder import HasTopicPartition
from rebalance_agent.instrumentation.rebalance_listener import RebalanceListener

__all__ = ["AiokafkaListener"]


class AiokafkaListener:
    """Tells a loss from a revocation: a consumer that is in no generation any more has lost what it had.

    Of the user's own methods, ``on_partitions_lost`` runs then, if there is one (KIP-429), else
    ``on_partitions_revoked`` as ever. What they return, coroutines too, goes on to aiokafka.
    """

    def __init__(self, timed: RebalanceListener, joined: Callable[[], bool]) -> None:
        """Call ``timed``; ``joined`` asks whether the consumer is in a generation."""
        self._timed = timed
        self._joined = joined

    def on_partitions_revoked(self, revoked: Collection[HasTopicPartition]) -> Any:  # noqa: ANN401
        """The consumer gives ``revoked`` back, or they are gone already."""
        lost = bool(revoked) and not self._joined()
        return self._timed.on_partitions_lost(revoked) if lost else self._timed.on_partitions_revoked(revoked)

    def on_partitions_assigned(self, assigned: Collection[HasTopicPartition]) -> Any:  # noqa: ANN401
        """The consumer has got ``assigned``."""
        return self._timed.on_partitions_assigned(assigned)
