"""Where a consumer stands in its group, as its client knows it at one moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rebalance_agent.model.subscription import UNKNOWN_GENERATION

__all__ = ["Membership", "MembershipSource"]


@dataclass(frozen=True, slots=True)
class Membership:
    """Generation and ids of one member; ``generation`` is -1 while it is in none."""

    generation: int = UNKNOWN_GENERATION
    member_id: str = ""
    instance_id: str | None = None
    cluster_id: str = ""

    @property
    def joined(self) -> bool:
        """Whether the client is in a generation."""
        return self.generation >= 0 and bool(self.member_id)


MembershipSource = Callable[[], Membership]
"""Asks the client where it stands now."""
