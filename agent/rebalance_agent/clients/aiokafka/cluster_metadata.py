"""What aiokafka's cluster metadata says of the topics that a group subscribes to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from rebalance_agent.instrumentation.assignor_shapes import partition_counts
from rebalance_agent.model.subscription import MemberSubscription, TopicMetadata

__all__ = ["topic_metadata"]


def topic_metadata(cluster: Any, members: Sequence[MemberSubscription]) -> dict[str, TopicMetadata]:  # noqa: ANN401 - untyped
    """The topics of ``members`` that have metadata; with their replicas' racks, if any member names a rack."""
    topics = partition_counts(cluster, (topic for member in members for topic in member.topics))
    racks = {broker.nodeId: broker.rack for broker in cluster.brokers() if broker.rack}
    if not racks or not any(member.rack for member in members):
        return topics
    return {topic: replace(known, racks=_racks(cluster, topic, known, racks)) for topic, known in topics.items()}


def _racks(cluster: Any, topic: str, known: TopicMetadata, racks: dict[int, str]) -> tuple[tuple[str, ...], ...]:  # noqa: ANN401
    # aiokafka has no public way to a partition's replicas, only to its leader.
    partitions = cluster._partitions[topic]  # noqa: SLF001
    replicas: Iterable[Iterable[int]] = (
        partitions[number].replicas if number in partitions else () for number in range(known.partitions)
    )
    return tuple(tuple(sorted({racks[node] for node in nodes if node in racks})) for nodes in replicas)
