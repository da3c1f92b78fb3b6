"""Describes gaps in a group's present assignment: partitions without an owner, and broken co-partitioning. Pure."""

from __future__ import annotations

from rebalance_agent.api.shapes import GroupSummary
from rebalance_agent.ui.words import plural

__all__ = ["copartition_text", "gaps_text", "unowned_text"]


def unowned_text(group: GroupSummary) -> str:
    """Return ``3 partitions have no owner``; empty if all have one, or if the group rebalances or has no members."""
    number = group.unassigned
    if not number or not group.members or group.running:
        return ""
    return f"{plural(number, 'partition')} {'has' if number == 1 else 'have'} no owner"


def copartition_text(group: GroupSummary) -> str:
    """Return ``co-partitioning is broken: ...``; empty if it is not, or if the group is not in ``copartitioned``."""
    if not group.copartition_breaks:
        return ""
    number = plural(group.copartition_breaks, "partition number")
    return f"co-partitioning is broken: {number} with different owners in different topics"


def gaps_text(group: GroupSummary) -> str:
    """Return all gaps of the group's assignment in one line; empty if there is none."""
    return "; ".join(filter(None, (unowned_text(group), copartition_text(group))))
