"""A member's generation and ids, as the member's client reports them at one moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rebalance_agent.model.subscription import UNKNOWN_GENERATION

__all__ = ["Membership", "MembershipSource"]


@dataclass(frozen=True, slots=True)
class Membership:
    """Generation and ids of one member; ``generation`` is -1 while the member is in no generation.

    ``tells_generation`` is False if the client does not expose its generation. In this case, a member with a member id
    counts as joined.
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
"""A function that returns the member's current generation and ids."""
