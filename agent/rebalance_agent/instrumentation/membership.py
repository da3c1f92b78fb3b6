"""A member's generation and ids as its client reports them at one moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rebalance_agent.model.subscription import UNKNOWN_GENERATION

__all__ = ["Membership", "MembershipSource"]


@dataclass(frozen=True, slots=True)
class Membership:
    """Generation and ids of one member; ``generation`` is -1 while the member is in none.

    ``tells_generation`` is False if the client does not expose its generation. Then a member with an id counts as
    joined.
    """

    generation: int = UNKNOWN_GENERATION
    member_id: str = ""
    instance_id: str | None = None
    cluster_id: str = ""
    tells_generation: bool = True

    @property
    def joined(self) -> bool:
        """Whether the member is in a generation."""
        return bool(self.member_id) and (self.generation >= 0 or not self.tells_generation)


MembershipSource = Callable[[], Membership]
"""Function that returns the member's current generation and ids."""
