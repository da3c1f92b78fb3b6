"""The partitions that members keep in a rebalance, and those that cooperative members own when they join (KIP-429).

If a member joins without a partition of its previous assignment, it has lost this partition or never got that
assignment: the partition is stalled, even if the member gets it again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from rebalance_agent.model.generation_diff import Partition, owners
from rebalance_agent.model.group import GroupType, RebalanceProtocol
from rebalance_agent.model.partitions import pairs
from rebalance_agent.tracking.completed_generation import Generation

__all__ = ["claimants", "claimed_partitions", "given_and_unowned", "kept_partitions"]


def claimed_partitions(generation: Generation) -> Mapping[str, set[Partition]]:
    """Return member id -> partitions that it owned when it joined; empty if members do not report it."""
    cooperative = generation.protocol is RebalanceProtocol.COOPERATIVE and generation.group_type is GroupType.CLASSIC
    if not cooperative or generation.returned:
        return {}
    return {member.member_id: pairs(member.owned) for member in generation.members}


def claimants(claimed: Mapping[str, Collection[Partition]]) -> Mapping[Partition, Sequence[str]]:
    """Return partition -> ids of the members that owned it when they joined, from `claimed_partitions`."""
    members: dict[Partition, list[str]] = {}
    for member_id, partitions in claimed.items():
        for partition in partitions:
            members.setdefault(partition, []).append(member_id)
    return members


def given_and_unowned(before: Generation | None, generation: Generation) -> tuple[set[Partition], set[Partition]]:
    """Return the partitions that members of a classic group got or got back, and those that no member owns now."""
    had, has = owners(before.value if before else None), owners(generation.value)
    unowned = had.keys() - has.keys()
    if before is None or (generation.protocol is not RebalanceProtocol.COOPERATIVE and not generation.returned):
        return set(has), unowned
    claimed = claimed_partitions(generation)
    given = {
        partition
        for partition, owner in has.items()
        if partition not in had
        or had[partition].member_id != owner.member_id
        or partition not in claimed.get(owner.member_id, {partition})
    }
    return given, unowned


def kept_partitions(before: Generation | None, after: Generation) -> set[Partition]:
    """Return the partitions that a member kept without revoking them; in share groups it may be one of several owners.

    Partitions that the member revoked and got back are not included.
    """
    handovers = after.handovers.items()
    back = {
        partition
        for partition, handover in handovers
        if handover.earlier or (handover.left_unowned and handover.given_ms is not None)
    }
    had = {member.member_id: member for member in before.members} if before else {}
    had = {name: member for name, member in had.items() if name not in after.restarting}
    return {
        partition
        for member in after.members
        if member.member_id in had
        for partition in pairs(member.assigned) & pairs(had[member.member_id].assigned)
    } - back
