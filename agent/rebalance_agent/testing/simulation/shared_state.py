"""The objects that all members of a simulation share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rebalance_agent.model.subscription import TopicMetadata
from rebalance_agent.testing.simulation.action_queue import Agenda
from rebalance_agent.testing.simulation.group_coordinator import Coordinator
from rebalance_agent.testing.simulation.stalled_partitions import StalledPartitions
from rebalance_agent.testing.simulation.timeline_recorder import Chronicle

__all__ = ["World"]


@dataclass(frozen=True, slots=True)
class World:
    """Time, coordinator, recorders, and the current topics of a simulation."""

    agenda: Agenda
    stalled: StalledPartitions
    chronicle: Chronicle
    coordinator: Coordinator
    latency_ms: int
    topics: dict[str, TopicMetadata]

    @property
    def now_ms(self) -> int:
        """The simulated time."""
        return self.agenda.now_ms

    def send(self, request: Callable[[], None]) -> None:
        """Deliver a request after the latency."""
        self.agenda.after(self.latency_ms, request)

    def counts(self, topics: Iterable[str]) -> dict[str, int]:
        """Topic -> current number of partitions, 0 for a topic that does not exist."""
        return {topic: self.topics[topic].partitions if topic in self.topics else 0 for topic in topics}
