"""Fields that all events about a group share, derived from the coordinator's records."""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.model.episode import Source
from rebalance_agent.model.group import GroupType

__all__ = ["GroupEvent"]


@dataclass(frozen=True, slots=True)
class GroupEvent:
    """An event of one group; ``timestamp_ms`` is by the coordinator's clock."""

    event_id: str
    cluster_id: str
    group: str
    timestamp_ms: int
    source: Source
    group_type: GroupType
