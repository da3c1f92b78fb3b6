"""Internal topics, checked before anyone is assigned: what a strategy writes and reads besides what is subscribed to.

Whoever runs a strategy calls `wanted_topics` to know which topics' metadata it needs, and `prepare` before ``assign``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from rebalance_agent.assignors.strategy import Strategy
from rebalance_agent.errors import InternalTopicError
from rebalance_agent.model.subscription import GroupSubscription, TopicMetadata

__all__ = ["PROBLEMS_MAX", "TopicAdmin", "prepare", "wanted_topics"]

PROBLEMS_MAX = 100
"""Problems that one error spells out; of more it says how many there are."""


class TopicAdmin(Protocol):
    """What may create topics. Replication, retention and the like are its business."""

    def create_topics(self, topics: Mapping[str, int]) -> None:
        """Create ``topics`` (name -> partitions) and return when they are there.

        Raises:
            RebalanceAgentError: one of them cannot be created, or is there with another partition count.
        """
        ...


def wanted_topics(strategy: Strategy, group: GroupSubscription) -> Mapping[str, int]:
    """Internal topic -> the partitions that ``strategy`` needs it to have for ``group``; 0 where that is not known.

    Raises:
        AssignmentError: a configured value is not what its setting takes.
    """
    return {} if strategy.internal_topics is None else strategy.internal_topics(strategy.roster(group))


def prepare(strategy: Strategy, group: GroupSubscription, admin: TopicAdmin | None = None) -> GroupSubscription:
    """``group`` with all internal topics there: missing ones are created by ``admin``, if everything else is right.

    Raises:
        InternalTopicError: topics are missing and there is no ``admin``, or have a wrong partition count; names each.
        AssignmentError: a configured value is not what its setting takes.
        RebalanceAgentError: ``admin`` cannot create a topic.
    """
    wanted = wanted_topics(strategy, group)
    existing_counts = {topic: group.topics[topic].partitions if topic in group.topics else 0 for topic in wanted}
    missing = {topic: count for topic, count in wanted.items() if count and not existing_counts[topic]}
    problems = [
        _problem(topic, count, existing_counts[topic])
        for topic, count in sorted(wanted.items())
        if not count or (existing_counts[topic] != count and (existing_counts[topic] or admin is None))
    ]
    if problems:
        more = f"; and {len(problems) - PROBLEMS_MAX} more" if len(problems) > PROBLEMS_MAX else ""
        raise InternalTopicError(f"{strategy.name}: {'; '.join(problems[:PROBLEMS_MAX])}{more}")
    if not missing or admin is None:
        return group
    admin.create_topics(missing)
    created = {topic: TopicMetadata(count) for topic, count in missing.items()}
    return replace(group, topics={**group.topics, **created})


def _problem(topic: str, wanted: int, found: int) -> str:
    if not wanted:
        return f"internal topic {topic}: wanted partitions unknown; none of the topics that decide it has metadata"
    if not found:
        return f"internal topic {topic}: wanted {wanted} partitions, not found; create it, or assign with an admin"
    return (
        f"internal topic {topic}: wanted {wanted} partitions, found {found}; delete it to have it made anew (its data "
        "would be lost), or bring the topics that decide its count to agree with it"
    )
