"""A strategy of ours as an assignor of kafka-python's: an instance per consumer, without state of its own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor, RebalanceProtocol
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from rebalance_agent.assignors import Strategy
from rebalance_agent.clients.kafka_python.cluster import topic_metadata
from rebalance_agent.groupprotocol.consumer import NEWEST_VERSION, encode_subscription
from rebalance_agent.instrumentation.decision import Decision
from rebalance_agent.instrumentation.shapes import group_of
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.subscription import ConsumerSubscription

__all__ = ["Ownership", "StrategyAssignor"]

_logger = logging.getLogger(__name__)

Ownership = Callable[[], tuple[TopicPartitions, int]]
"""Asks the consumer what it owns, and since which generation."""


class StrategyAssignor(AbstractPartitionAssignor):  # type: ignore[misc] # kafka-python is untyped
    """``strategy`` in kafka-python's words.

    Subscriptions are version 3: generation (KIP-792) and rack (KIP-881) travel, and so do the owned partitions under
    eager strategies, too, as a hint for the leader; nothing is withheld for it.
    """

    def __init__(
        self, strategy: Strategy, config: Mapping[str, str], ownership: Ownership, *, group: str, rack: str | None
    ) -> None:
        """Run ``strategy`` for one member of ``group`` with this ``config``, in ``rack``.

        Raises:
            AssignmentError: a setting is not a whole number within its bounds.
        """
        strategy.user_data(config, {})
        self._strategy = strategy
        self._config = config
        self._ownership = ownership
        self._group = group
        self._rack = rack
        self.decision: Decision | None = None

    @property
    def name(self) -> str:
        """The name that the group's coordinator knows the strategy by."""
        return self._strategy.name

    def supported_protocols(self) -> list[RebalanceProtocol]:
        """Eager or cooperative: each form has a name of its own."""
        return [RebalanceProtocol[self._strategy.protocol.name]]

    def metadata(self, topics: Iterable[str]) -> bytes:
        """The member's ``ConsumerProtocolSubscription``, encoded."""
        owned, generation = self._ownership()
        return encode_subscription(
            ConsumerSubscription(
                version=NEWEST_VERSION,
                topics=tuple(sorted(topics)),
                user_data=self._strategy.user_data(self._config, owned),
                owned_partitions=owned,
                generation_id=generation,
                rack_id=self._rack,
            )
        )

    def assign(self, cluster: Any, members: Iterable[Any]) -> dict[str, ConsumerProtocolAssignment]:  # noqa: ANN401
        """Decide for the group; what was decided stays as ``decision``."""
        members = list(members)
        topics = topic_metadata(cluster, members)
        group = group_of(topics, members, self._group)
        assignment = self._strategy.assign(group)
        self.decision = Decision(group, assignment, self._strategy)
        for member_id, problem in assignment.user_data_errors.items():
            _logger.warning("group %s, member %s: user data not used: %s", self._group, member_id, problem)
        if assignment.unknown_topics:
            # kafka-python asks for them now, and rebalances once more when it knows them.
            _logger.info("group %s: no metadata yet for topics %s", self._group, ", ".join(assignment.unknown_topics))
        return {
            member_id: ConsumerProtocolAssignment(
                NEWEST_VERSION, [(topic, list(numbers)) for topic, numbers in given.items()], None
            )
            for member_id, given in assignment.members.items()
        }

    def on_assignment(self, assignment: Any, generation: int) -> None:  # noqa: ANN401
        """Nothing: what is owned is asked of the consumer when it matters."""
