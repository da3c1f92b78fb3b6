"""Finds the members that a running rebalance waits for, from the records of a group whose coordinator assigns."""

from __future__ import annotations

from rebalance_agent.model.epoch_groups import CurrentAssignment, MemberState, Pending, PendingMember
from rebalance_agent.model.partitions import beyond, count_partitions
from rebalance_agent.tracking.epoch.epoch_records import EpochGroupRecords

__all__ = ["pending_members"]

COMPARED_MAX = 100
"""Maximum number of members whose partitions are compared with their targets: initially, all members of a group are
pending."""


def pending_members(records: EpochGroupRecords) -> Pending | None:
    """Return the members that the newest epoch waits for; None while this epoch has no target assignment.

    A member reaches the epoch of its target assignment when it has revoked the partitions that other members are to get
    (KIP-848). If all members have reached it, the epoch waits for members that have not taken their new partitions yet.
    """
    if records.epoch is None or records.target_epoch < records.epoch.epoch:
        return None
    currents = {member_id: records.current(member_id) for member_id in records.members}
    newest = records.epoch.epoch
    behind = [name for name, current in currents.items() if current is None or 0 <= current.epoch < newest]
    if not behind:
        taking = (name for name, current in currents.items() if current and current.state is not MemberState.STABLE)
        return Pending.of([_pending(records, name, 0) for name in taking])
    compared = len(behind) <= COMPARED_MAX
    return Pending.of(
        [_pending(records, name, _to_revoke(records, name, currents[name], compared=compared)) for name in behind]
    )


def _to_revoke(
    records: EpochGroupRecords, name: str, current: CurrentAssignment | None, *, compared: bool
) -> int | None:
    """Count the partitions that the member has yet to give up; if not ``compared``, only those it must revoke."""
    if records.unread:
        return None
    if current is None:
        return 0
    return count_partitions(beyond(current.held, records.targeted(name)) if compared else current.revoking)


def _pending(records: EpochGroupRecords, name: str, partitions: int | None) -> PendingMember:
    member = records.members[name]
    return PendingMember(name, member.instance_id, member.client_id, member.client_host, partitions)
