"""Reads StreamsGroupHeartbeat (KIP-1071), in which a member reports and gets tasks instead of partitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kafka.protocol.metadata import MetadataRequest

from rebalance_agent.gateway.groups.heartbeats.heartbeat_handler import (
    METADATA_VERSION,
    EpochHeartbeatHandler,
    Keyed,
    topics_described,
)
from rebalance_agent.gateway.groups.heartbeats.streams_topologies import sources_of
from rebalance_agent.gateway.transport.kafka_messages import Ask, OpenedFrame
from rebalance_agent.gateway.transport.request_head import RequestHead, client_id_end
from rebalance_agent.groupprotocol.requests.streams_group_heartbeat import (
    STREAMS_HEARTBEAT_KEY,
    STREAMS_HEARTBEAT_VERSIONS,
    decode_streams_heartbeat,
    decode_streams_heartbeat_answer,
)
from rebalance_agent.model.partitions import TopicPartitions

__all__ = ["StreamsHeartbeatHandler"]


class StreamsHeartbeatHandler(EpochHeartbeatHandler):
    """Handles the heartbeats of streams groups: a member owns the partitions that its active tasks read.

    A member sends the topology only when it joins. For a member that joined before the gateway saw it, partitions are
    known as soon as another member of the group joins through this gateway.
    """

    API = "StreamsGroupHeartbeat"
    API_KEY = STREAMS_HEARTBEAT_KEY
    VERSION_MAX = STREAMS_HEARTBEAT_VERSIONS[-1]

    def open_request(self, head: RequestHead, frame: bytes) -> OpenedFrame:
        """Read the request with our own schema, since kafka-python has no class for this API."""
        header = frame[: client_id_end(frame)]
        return OpenedFrame(header, decode_streams_heartbeat(head.api_version, frame), head.api_version)

    def open_response(self, head: RequestHead, frame: bytes) -> OpenedFrame:
        """See `open_request`."""
        return OpenedFrame(b"", decode_streams_heartbeat_answer(head.api_version, frame), head.api_version)

    def held(self, message: Any) -> Keyed | None:  # noqa: ANN401
        """See the base class."""
        return _active(message)

    def target(self, message: Any) -> Keyed | None:  # noqa: ANN401
        """See the base class."""
        return _active(message)

    def detail(self, message: Any) -> Mapping[str, tuple[str, ...]] | None:  # noqa: ANN401
        """Return the topics of each subtopology, if the request has a topology that can be used."""
        return None if message["topology"] is None else sources_of(message["topology"])

    def accepted(self, group: str, detail: Mapping[str, tuple[str, ...]] | None) -> None:
        """Store the topology of the group."""
        if detail is not None:
            self._shared.topologies.put(group, detail)

    async def learn(self, ask: Ask, message: Any, target: Keyed) -> None:  # noqa: ANN401
        """Request the partition counts of the topology's topics, and those that the pending target needs."""
        topologies, sources = self._shared.topologies, self.detail(message) or {}
        wanted = topologies.uncounted(topic for topics in sources.values() for topic in topics)
        wanted += [topic for topic in topologies.unclear(message["group_id"], target) if topic not in wanted]
        kind = MetadataRequest.MetadataRequestTopic
        topics = [kind(version=METADATA_VERSION, name=name, topic_id=None) for name in wanted]
        topologies.count(_counted(await topics_described(ask, topics)))

    def knows(self, group: str, partitions: Keyed) -> bool:
        """See the base class."""
        return self._shared.topologies.knows(group, partitions)

    def topics(self, group: str, partitions: Keyed) -> TopicPartitions:
        """See the base class."""
        return self._shared.topologies.partitions(group, partitions)


def _active(message: Mapping[str, Any]) -> Keyed | None:
    tasks = message["active_tasks"]
    return None if tasks is None else {each["subtopology_id"]: each["partitions"] for each in tasks}


def _counted(topics: Iterable[Any]) -> Mapping[str, int]:
    return {topic.name: 0 if topic.error_code else len(topic.partitions) for topic in topics if topic.name}
