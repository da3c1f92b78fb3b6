"""A deploy as seen in a group: the members of one workload, replaced one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rebalance_agent.model.group_event import GroupEvent

__all__ = ["RolloutEvent"]


@dataclass(frozen=True, slots=True)
class RolloutEvent(GroupEvent):
    """The members of a group were replaced one after the other: the sum of those rebalances.

    `tracking.patterns.rollouts` detects it. Published when it is detected, and again with ``closed`` and a higher
    revision when it has ended; the numbers cover the time until then. It spans ``started_ms`` to ``timestamp_ms`` and
    ``first_generation`` to ``last_generation``: from the first to the last rebalance in which a member was replaced.
    ``members``: members of the group before the rollout; ``members_replaced``: the number of replacements. A member
    that a second deploy replaces again counts again.
    ``stall_seconds``: the longest stall of one rebalance, None if none was measured. ``workload`` and images are
    those that sidecars reported: ``from_images`` of members that left, ``to_images`` of their successors.
    """

    KIND: ClassVar[str] = "rollout"

    started_ms: int
    first_generation: int
    last_generation: int
    closed: bool
    rebalances: int
    members: int
    members_replaced: int
    stalled_partition_seconds: float
    stall_seconds: float | None = None
    workload: str | None = None
    from_images: tuple[str, ...] = ()
    to_images: tuple[str, ...] = ()
    revision: int = 0
