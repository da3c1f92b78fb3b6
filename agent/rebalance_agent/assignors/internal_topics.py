"""Checks, before an assignment, whether a strategy's internal topics exist; members do not subscribe to these.

Callers use `wanted_topics` to find out which topics' metadata a strategy needs, and call `prepare` before ``assign``.
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
"""Maximum number of problems listed in one error; the error states how many more there are."""


class TopicAdmin(Protocol):
    """Creates topics. The implementation chooses replication factor, retention and other configuration."""

    def create_topics(self, topics: Mapping[str, int]) -> None:
        """Create ``topics`` (name -> partitions); return when they exist.

        Raises:
            RebalanceAgentError: a topic cannot be created, or exists with another partition count.
        """
        ...


def wanted_topics(strategy: Strategy, group: GroupSubscription) -> Mapping[str, int]:
    """Return internal topic -> partitions that ``strategy`` needs for ``group``; 0 if the number is not known.

    Raises:
        AssignmentError: a configured value is not valid for its setting.
    """
    return {} if strategy.internal_topics is None else strategy.internal_topics(strategy.roster(group))


def prepare(strategy: Strategy, group: GroupSubscription, admin: TopicAdmin | None = None) -> GroupSubscription:
    """Return ``group`` with all internal topics; ``admin`` creates missing ones if there is no other problem.

    Raises:
        InternalTopicError: topics are missing and there is no ``admin``, or have a wrong partition count; names each.
        AssignmentError: a configured value is not valid for its setting.
        RebalanceAgentError: ``admin`` cannot create a topic.
    """
    wanted_counts = wanted_topics(strategy, group)
    existing_counts = {topic: group.topics[topic].partitions if topic in group.topics else 0 for topic in wanted_counts}
    missing = {topic: count for topic, count in wanted_counts.items() if count and not existing_counts[topic]}
    problems = [
        _problem(topic, count, existing_counts[topic])
        for topic, count in sorted(wanted_counts.items())
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


def _problem(topic: str, wanted_count: int, existing_count: int) -> str:
    if not wanted_count:
        return f"internal topic {topic} has an unknown partition count; none of the topics that decide it has metadata"
    if not existing_count:
        return (
            f"internal topic {topic} needs {wanted_count} partitions, but does not exist; create it, or call "
            "`prepare` with an admin, which creates it"
        )
    return (
        f"internal topic {topic} needs {wanted_count} partitions, but has {existing_count}; delete it, so that it is "
        "created again (its data is lost), or correct the topics that decide its count"
    )
