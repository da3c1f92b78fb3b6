"""A strategy of this package as an assignor of kafka-python, one instance per consumer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor, RebalanceProtocol
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from rebalance_agent.assignors import Strategy
from rebalance_agent.clients.kafka_python.cluster_metadata import topic_metadata
from rebalance_agent.clients.participant import Participant
from rebalance_agent.groupprotocol.consumer_protocol import NEWEST_VERSION
from rebalance_agent.instrumentation.assign_decision import AssignDecision
from rebalance_agent.instrumentation.assignor_shapes import group_of
from rebalance_agent.model.group import RebalanceProtocol as Protocol
from rebalance_agent.model.partitions import TopicPartitions, topic_partitions

__all__ = ["HeldPartitions", "StrategyAssignor"]

HeldPartitions = Callable[[], TopicPartitions]
"""Returns the partitions that the consumer keeps while it joins: none under the eager protocol."""


class StrategyAssignor(AbstractPartitionAssignor):  # type: ignore[misc] # kafka-python is untyped
    """``strategy`` with the methods of kafka-python's assignors, for the consumer of ``participant``."""

    def __init__(self, strategy: Strategy, participant: Participant, held: HeldPartitions = dict) -> None:
        """Run ``strategy``; ``held`` is called before every join if the strategy is cooperative."""
        self._strategy = strategy
        self._participant = participant
        self._held = held
        self.decision: AssignDecision | None = None

    @property
    def name(self) -> str:
        """The strategy's name in the group protocol."""
        return self._strategy.name

    def supported_protocols(self) -> list[RebalanceProtocol]:
        """Return the protocols that the strategy supports; a cooperative one supports both (KIP-429).

        A consumer uses the protocol that all strategies of its list support: with an eager one in it, the eager one.
        """
        eager = [RebalanceProtocol.EAGER]
        return eager if self._strategy.protocol is Protocol.EAGER else [RebalanceProtocol.COOPERATIVE, *eager]

    def metadata(self, topics: Iterable[str]) -> bytes:
        """Return the member's ``ConsumerProtocolSubscription``, encoded."""
        held = None if self._strategy.protocol is Protocol.EAGER else self._held()
        return self._participant.subscription(self._strategy, topics, held=held)

    def assign(self, cluster: Any, members: Iterable[Any]) -> dict[str, ConsumerProtocolAssignment]:  # noqa: ANN401
        """Assign for the group, and keep the result as ``decision``.

        Raises:
            AssignmentError: the topics do not meet the strategy's requirements.
        """
        members = list(members)
        topics = topic_metadata(cluster, members)
        self.decision = self._participant.decide(self._strategy, topics, group_of(topics, members, "").members)
        assignment = self.decision.assignment
        return {
            member_id: ConsumerProtocolAssignment(
                NEWEST_VERSION,
                [(topic, list(numbers)) for topic, numbers in partitions.items()],
                assignment.user_data.get(member_id),
            )
            for member_id, partitions in assignment.members.items()
        }

    def on_assignment(self, assignment: Any, generation: int) -> None:  # noqa: ANN401
        """Keep ``assignment`` for the next subscription."""
        owned = topic_partitions((partition.topic, partition.partition) for partition in assignment.partitions())
        self._participant.received(owned, generation, self._strategy, assignment.user_data)
