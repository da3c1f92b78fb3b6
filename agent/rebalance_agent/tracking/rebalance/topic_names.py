"""Replaces topic ids in a generation by names: records of consumer and share groups contain ids, some of new topics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rebalance_agent.model.group import Member
from rebalance_agent.model.subscription import ConsumerAssignment
from rebalance_agent.tracking.cluster_topics import ClusterTopics
from rebalance_agent.tracking.completed_generation import Generation, subscribed_topics

__all__ = ["with_topic_names"]


def with_topic_names(generation: Generation, cluster_topics: ClusterTopics) -> Generation:
    """Return the generation with the names that are known by now for its ``unnamed`` topic ids."""
    names = {
        topic_id: cluster_topics.name(topic_id) for topic_id in generation.unnamed if cluster_topics.has_name(topic_id)
    }
    if not names:
        return generation
    members = tuple(_member(member, names) for member in generation.members)
    value = replace(generation.value, members=members)
    now = cluster_topics.sizes_in(subscribed_topics(value), value)
    generation.first_commits.rename(cluster_topics.name)
    return replace(
        generation,
        value=value,
        topics=_sizes(generation.topics, names, now),
        handovers={(names.get(topic, topic), number): way for (topic, number), way in generation.handovers.items()},
        unnamed=generation.unnamed - names.keys(),
    )


def _sizes(then: Mapping[str, int], names: Mapping[str, str], now: Mapping[str, int]) -> dict[str, int]:
    """Return the counts in ``then``, and counts in ``now`` only for new names, since other topics may have grown."""
    sizes = {names[topic]: count for topic, count in then.items() if topic in names}
    counted = {topic: max(count, sizes.get(topic, 0)) for topic, count in then.items() if topic not in names}
    return dict(sorted({**now, **counted}.items()))


def _member(member: Member, names: Mapping[str, str]) -> Member:
    assigned = {names.get(topic, topic): numbers for topic, numbers in member.assigned.items()}
    return replace(member, assignment=ConsumerAssignment(-1, {topic: assigned[topic] for topic in sorted(assigned)}))
