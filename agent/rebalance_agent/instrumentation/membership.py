"""Where a consumer stands in its group, as its client knows it at one moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rebalance_agent.model.subscription import UNKNOWN_GENERATION

__all__ = ["Membership", "MembershipSource"]


@dataclass(frozen=True, slots=True)
class Membership:
    """Generation and ids of one member; ``generation`` is -1 while it is in none.

    ``tells_generation``: False where the client keeps its generation to itself; then only the member id says anything.
    """

    generation: int = UNKNOWN_GENERATION
    member_id: str = ""
    instance_id: str | None = None
    cluster_id: str = ""
    tells_generation: bool = True

    @property
    def joined(self) -> bool:
        """Whether the client is in a generation."""
        return bool(self.member_id) and (self.generation >= 0 or not self.tells_generation)


MembershipSource = Callable[[], Membership]
"""Asks the client where it stands now."""
