"""Reads the arguments and results of assignors by attribute names (kafka-python's), for any class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rebalance_agent.model.partitions import TopicPartitions, topic_partitions
from rebalance_agent.model.subscription import UNKNOWN_GENERATION, GroupSubscription, MemberSubscription, TopicMetadata

__all__ = ["assignment_of", "group_of", "partition_counts"]


def partition_counts(cluster: Any, topics: Iterable[str]) -> dict[str, TopicMetadata]:  # noqa: ANN401 - by its shape
    """Topic -> metadata with the partition count, for the ``topics`` that ``cluster.partitions_for_topic`` returns."""
    counts = {topic: len(cluster.partitions_for_topic(topic) or ()) for topic in sorted(set(topics))}
    return {topic: TopicMetadata(count) for topic, count in counts.items() if count}


def group_of(topics: Mapping[str, TopicMetadata], members: Iterable[Any], group: str) -> GroupSubscription:
    """Return an assignor's input. Each member has a ``member_id`` and a decoded subscription as ``metadata``."""
    return GroupSubscription(topics, tuple(map(_member, members)), group)


def assignment_of(assignments: Mapping[str, Any]) -> dict[str, TopicPartitions]:
    """Member id -> partitions, from an assignor's result, whose values list (topic, partition) by ``partitions()``."""
    return {
        member_id: topic_partitions((topic, partition) for topic, partition in assignment.partitions())
        for member_id, assignment in assignments.items()
    }


def _member(member: Any) -> MemberSubscription:  # noqa: ANN401
    subscription = member.metadata
    return MemberSubscription(
        member_id=member.member_id,
        topics=tuple(subscription.topics),
        instance_id=getattr(member, "group_instance_id", None),
        owned=topic_partitions(
            (row.topic, number)
            for row in getattr(subscription, "owned_partitions", None) or ()
            for number in row.partitions
        ),
        generation=getattr(subscription, "generation_id", UNKNOWN_GENERATION),
        rack=getattr(subscription, "rack_id", None) or None,
        user_data=subscription.user_data or None,
    )
