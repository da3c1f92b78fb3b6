"""Checks a generation with all its members before the members become rows. Pure, without Spark."""

from __future__ import annotations

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.partitions import count_partitions

__all__ = ["require_whole"]


def require_whole(event: GenerationEvent) -> None:
    """Check a generation for contradictions that only all of its members together can show.

    Raises:
        InvalidInputError: two members have the same id in the tables, or some partitions are neither assigned nor
        unassigned.
    """
    if len({_stored(member.member_id) for member in event.members}) < len(event.members):
        raise InvalidInputError("members", "must have different ids")
    assigned = sum(count_partitions(member.assigned) for member in event.members)
    if assigned + event.unassigned < sum(event.topics.values()):
        raise InvalidInputError(
            "unassigned", "is too small: assigned and unassigned partitions must add up to all partitions of the topics"
        )


def _stored(name: str) -> bytes:
    """Return a name as Java stores it in a table: like Python, it replaces each lone surrogate by a question mark."""
    return name.encode("utf-8", "replace")
