"""What all groups of one tracker share."""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.rebalances.starts import ClockOffset, PollLog
from rebalance_agent.rebalances.topics import TopicCatalogue

__all__ = ["Surroundings"]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The cluster around the groups: its id, its topics, the polls of it, and how its clock differs."""

    cluster_id: str
    settle_ms: int
    polls: PollLog
    offset: ClockOffset
    topics: TopicCatalogue
