"""Defines the objects that all members of a simulation share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rebalance_agent.model.subscription import TopicMetadata
from rebalance_agent.testing.simulation.action_queue import ActionQueue
from rebalance_agent.testing.simulation.group_coordinator import Coordinator
from rebalance_agent.testing.simulation.stalled_partitions import StalledPartitions
from rebalance_agent.testing.simulation.timeline_recorder import TimelineRecorder

__all__ = ["SharedState"]


@dataclass(frozen=True, slots=True)
class SharedState:
    """Time, coordinator, recorders, and the current topics of a simulation."""

    actions: ActionQueue
    stalled: StalledPartitions
    recorder: TimelineRecorder
    coordinator: Coordinator
    latency_ms: int
    topics: dict[str, TopicMetadata]

    @property
    def now_ms(self) -> int:
        """The simulated time."""
        return self.actions.now_ms

    def send(self, request: Callable[[], None]) -> None:
        """Deliver a request after the latency."""
        self.actions.after(self.latency_ms, request)

    def counts(self, topics: Iterable[str]) -> dict[str, int]:
        """Return topic -> current number of partitions, 0 for a topic that does not exist."""
        return {topic: self.topics[topic].partitions if topic in self.topics else 0 for topic in topics}
