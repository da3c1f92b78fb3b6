"""Reads StreamsGroupHeartbeat (KIP-1071), in which a member reports and gets tasks instead of partitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rebalance_agent.gateway.groups.heartbeats.heartbeat_handler import (
    EpochHeartbeatHandler,
    Keyed,
    topics_described,
)
from rebalance_agent.gateway.groups.heartbeats.streams_topologies import Sources, sources_of
from rebalance_agent.gateway.transport.kafka_messages import Ask
from rebalance_agent.groupprotocol.epoch_facts import partitions_by
from rebalance_agent.groupprotocol.requests.streams_group_heartbeat import STREAMS_HEARTBEAT
from rebalance_agent.model.partitions import TopicPartitions

__all__ = ["StreamsHeartbeatHandler"]


class StreamsHeartbeatHandler(EpochHeartbeatHandler):
    """Handles the heartbeats of streams groups: a member owns the partitions that its active tasks read.

    A member sends the topology only when it joins. For a member that joined before it used the gateway, partitions are
    known as soon as another member of the group joins through this gateway.
    """

    API = STREAMS_HEARTBEAT

    def held(self, group: str, message: Any) -> Keyed | None:  # noqa: ANN401
        """Return the active tasks in a message; None if there are none, or more than a member can have."""
        if message["active_tasks"] is None:
            return None
        tasks = partitions_by(message["active_tasks"], "subtopology_id")
        return tasks if self._shared.topologies.bounded(group, tasks) else None

    def target(self, group: str, message: Any) -> Keyed | None:  # noqa: ANN401
        """Return the active tasks: requests and responses have the same field."""
        return self.held(group, message)

    def detail(self, message: Any) -> Sources | None:  # noqa: ANN401
        """Return the topics of each subtopology, if the request has a topology."""
        return None if message["topology"] is None else sources_of(message["topology"])

    def accepted(self, group: str, detail: Sources | None) -> None:
        """Store the topology of the group."""
        if detail is not None:
            self._shared.topologies.put(group, detail, self._shared.clock.monotonic())

    async def learn(self, ask: Ask, message: Any, detail: Sources | None, target: Keyed) -> None:  # noqa: ANN401
        """Count the partitions of a new topology's topics, of a pending target's, and regularly of all."""
        topologies, group = self._shared.topologies, message["group_id"]
        wanted = {topic for topics in (detail or {}).values() for topic in topics}
        wanted |= topologies.due(group, self._shared.clock.monotonic()) | topologies.topics(group, target)
        topologies.count(_counted(await topics_described(ask, sorted(wanted))))

    def certain(self, group: str, partitions: Keyed) -> bool:
        """See the base class."""
        return self.knows(group, partitions) and not self._shared.topologies.outdated(group, partitions)

    def knows(self, group: str, partitions: Keyed) -> bool:
        """See the base class."""
        return self._shared.topologies.knows(group, partitions)

    def topics(self, group: str, partitions: Keyed) -> TopicPartitions:
        """See the base class."""
        return self._shared.topologies.partitions(group, partitions)


def _counted(topics: Iterable[Any]) -> Mapping[str, int]:
    return {topic.name: 0 if topic.error_code else len(topic.partitions) for topic in topics if topic.name}
