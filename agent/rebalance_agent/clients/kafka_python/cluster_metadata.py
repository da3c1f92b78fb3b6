"""Reads partition counts and racks of topics from kafka-python's cluster metadata, by its public methods."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kafka import TopicPartition

from rebalance_agent.instrumentation.assignor_shapes import partition_counts
from rebalance_agent.model.subscription import TopicMetadata

__all__ = ["topic_metadata"]


def topic_metadata(cluster: Any, members: Iterable[Any]) -> dict[str, TopicMetadata]:  # noqa: ANN401 - untyped
    """Return topic -> metadata of the members' topics that exist; with replica racks if any member names a rack."""
    members = list(members)
    topics = partition_counts(cluster, (topic for member in members for topic in member.metadata.topics))
    racks = {broker.node_id: broker.rack for broker in cluster.brokers() if broker.rack}
    if not racks or not any(member.metadata.rack_id for member in members):
        return topics
    return {
        topic: TopicMetadata(
            metadata.partitions,
            tuple(
                _replica_racks(cluster, TopicPartition(topic, number), racks) for number in range(metadata.partitions)
            ),
        )
        for topic, metadata in topics.items()
    }


def _replica_racks(cluster: Any, partition: TopicPartition, racks: dict[int, str]) -> tuple[str, ...]:  # noqa: ANN401
    return tuple(sorted({rack for node, rack in racks.items() if cluster.is_replica_node(partition, node)}))
