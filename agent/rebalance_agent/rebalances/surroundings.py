"""What all groups of one tracker share."""

from __future__ import annotations

from dataclasses import dataclass, field

from rebalance_agent.rebalances.copartition import Copartitioned
from rebalance_agent.rebalances.memberlog import Allowance
from rebalance_agent.rebalances.starts import ClockOffset, PollLog
from rebalance_agent.rebalances.topics import TopicCatalogue

__all__ = ["Surroundings"]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The cluster around the groups: its id, its topics, the polls of it, how its clock differs.

    ``copartitioned``: what is declared of its groups.
    """

    cluster_id: str
    settle_ms: int
    polls: PollLog
    offset: ClockOffset
    topics: TopicCatalogue
    copartitioned: Copartitioned
    reports: Allowance = field(default_factory=Allowance)
