"""Reads partition counts and racks of topics from aiokafka's cluster metadata."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from rebalance_agent.instrumentation.assignor_shapes import partition_counts
from rebalance_agent.model.subscription import MemberSubscription, TopicMetadata

__all__ = ["topic_metadata"]


def topic_metadata(cluster: Any, members: Sequence[MemberSubscription]) -> dict[str, TopicMetadata]:  # noqa: ANN401 - untyped
    """Return topic -> metadata of the members' topics that exist; with replica racks if any member names a rack."""
    topics = partition_counts(cluster, (topic for member in members for topic in member.topics))
    racks = {broker.nodeId: broker.rack for broker in cluster.brokers() if broker.rack}
    if not racks or not any(member.rack for member in members):
        return topics
    return {
        topic: replace(metadata, racks=_racks(cluster, topic, metadata.partitions, racks))
        for topic, metadata in topics.items()
    }


def _racks(cluster: Any, topic: str, count: int, racks: dict[int, str]) -> tuple[tuple[str, ...], ...]:  # noqa: ANN401
    # aiokafka's public API has a partition's leader, but not its replicas.
    partitions = cluster._partitions[topic]  # noqa: SLF001
    replicas: Iterable[Iterable[int]] = (
        partitions[number].replicas if number in partitions else () for number in range(count)
    )
    return tuple(tuple(sorted({racks[node] for node in nodes if node in racks})) for nodes in replicas)
