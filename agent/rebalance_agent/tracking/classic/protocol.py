"""Infers the rebalance protocol of a classic group, which records do not name."""

from __future__ import annotations

from rebalance_agent.model.group import GroupSnapshot, RebalanceProtocol, is_cooperative
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.tracking.completed_generation import Generation

__all__ = ["infer_protocol"]


def infer_protocol(before: Generation | None, value: GroupSnapshot) -> RebalanceProtocol:
    """Infer a classic group's rebalance protocol, eager or cooperative, from its records (KIP-429).

    Cooperative members send their owned partitions when they rejoin, under an assignor with a cooperative name. Eager
    members have revoked all their partitions by then, and cooperative members may have lost all of them (franz-go does
    after each error). Some eager assignors send owned partitions as a hint, so these alone prove nothing.
    """
    if value.protocol_type != "consumer" or not value.protocol:
        return before.protocol if before and not value.members else RebalanceProtocol.UNKNOWN
    if not is_cooperative(value.protocol):
        return RebalanceProtocol.EAGER
    if any(count_partitions(member.owned) for member in value.members):
        return RebalanceProtocol.COOPERATIVE
    if before is None:
        return RebalanceProtocol.UNKNOWN
    ids = {member.member_id for member in value.members}
    stayed = [member for member in before.members if member.member_id in ids and count_partitions(member.assigned)]
    if stayed:
        proven = before.protocol is RebalanceProtocol.COOPERATIVE and any(count_partitions(one.owned) for one in stayed)
        return RebalanceProtocol.COOPERATIVE if proven else RebalanceProtocol.EAGER
    return before.protocol if before.value.protocol == value.protocol else RebalanceProtocol.UNKNOWN
