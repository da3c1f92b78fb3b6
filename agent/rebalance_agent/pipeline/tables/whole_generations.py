"""Checks a generation with all its members, before its members become rows. Pure, without Spark."""

from __future__ import annotations

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.partitions import count_partitions

__all__ = ["require_whole"]


def require_whole(event: GenerationEvent) -> None:
    """Check what only all members of a generation together show.

    Raises:
        InvalidInputError: two members have one id, or fewer partitions are assigned or unassigned than there are.
    """
    if len({member.member_id for member in event.members}) < len(event.members):
        raise InvalidInputError("members", "must have different ids")
    assigned = sum(count_partitions(member.assigned) for member in event.members)
    if assigned + event.unassigned < sum(event.topics.values()):
        raise InvalidInputError(
            "unassigned", "is too small: assigned and unassigned partitions must add up to all partitions of the topics"
        )
