"""What all groups of one tracker share."""

from __future__ import annotations

from dataclasses import dataclass, field

from rebalance_agent.tracking.cluster_topics import ClusterTopics
from rebalance_agent.tracking.member_reports import Allowance
from rebalance_agent.tracking.patterns.copartition import Copartitioned
from rebalance_agent.tracking.poll_evidence import ClockOffset, PollEvidence

__all__ = ["TrackerContext"]


@dataclass(frozen=True, slots=True)
class TrackerContext:
    """The cluster around the groups: its id, its topics, the polls of it, how its clock differs.

    ``copartitioned``: what is declared of its groups.
    """

    cluster_id: str
    settle_ms: int
    polls: PollEvidence
    offset: ClockOffset
    topics: ClusterTopics
    copartitioned: Copartitioned
    reports: Allowance = field(default_factory=Allowance)
