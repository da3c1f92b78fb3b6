"""Reads ConsumerGroupHeartbeat (KIP-848), in which partitions have topic ids."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from rebalance_agent.gateway.groups.heartbeats.heartbeat_handler import (
    NAMES_MAX,
    EpochHeartbeatHandler,
    Keyed,
    topics_described,
)
from rebalance_agent.gateway.transport.kafka_messages import Ask
from rebalance_agent.groupprotocol.requests.consumer_group_heartbeat import CONSUMER_HEARTBEAT
from rebalance_agent.groupprotocol.wire.primitives import uuid_text
from rebalance_agent.model.partitions import TopicPartitions

__all__ = ["ConsumerHeartbeatHandler"]


class ConsumerHeartbeatHandler(EpochHeartbeatHandler):
    """Handles the heartbeats of consumer groups; see the base class."""

    API = CONSUMER_HEARTBEAT

    def held(self, group: str, message: Any) -> Keyed | None:  # noqa: ANN401, ARG002
        """See the base class."""
        partitions = message["topic_partitions"]
        return None if partitions is None else _by_id(partitions)

    def target(self, group: str, message: Any) -> Keyed | None:  # noqa: ANN401, ARG002
        """See the base class."""
        assignment = message["assignment"]
        return None if assignment is None else _by_id(assignment["topic_partitions"])

    async def learn(self, ask: Ask, message: Any, detail: None, target: Keyed) -> None:  # noqa: ANN401, ARG002
        """Request the ids of newly subscribed topics, and the names of assigned topic ids."""
        names_by_id, subscribed = self._shared.topic_names, message["subscribed_topic_names"]
        new = sorted(set(subscribed) - set(names_by_id.values())) if subscribed else []
        ids = sorted(target.keys() - names_by_id.keys())
        names_by_id.update(_named(await topics_described(ask, new, map(_uuid, ids))))
        while len(names_by_id) > NAMES_MAX:
            del names_by_id[next(iter(names_by_id))]

    def knows(self, group: str, partitions: Keyed) -> bool:  # noqa: ARG002
        """See the base class."""
        return partitions.keys() <= self._shared.topic_names.keys()

    def topics(self, group: str, partitions: Keyed) -> TopicPartitions:  # noqa: ARG002
        """See the base class."""
        names_by_id = self._shared.topic_names
        named = sorted((names_by_id[topic_id], topic_id) for topic_id in partitions.keys() & names_by_id.keys())
        return {name: tuple(sorted(set(partitions[topic_id]))) for name, topic_id in named if partitions[topic_id]}


def _by_id(partitions: Iterable[Mapping[str, Any]]) -> Keyed:
    return {topic["topic_id"]: topic["partitions"] for topic in partitions}


def _uuid(text: str) -> uuid.UUID:
    return uuid.UUID(bytes=base64.urlsafe_b64decode(f"{text}=="))


def _named(topics: Iterable[Any]) -> Mapping[str, str]:
    return {
        uuid_text(topic.topic_id.bytes): topic.name
        for topic in topics
        if topic.name and topic.topic_id is not None and not topic.error_code
    }
