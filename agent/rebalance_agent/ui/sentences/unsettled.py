"""Writes sentences on rebalances that cannot be explained yet: an unsettled one, and a running one. Pure."""

from __future__ import annotations

from collections import Counter

from rebalance_agent.api.shapes import GroupSummary
from rebalance_agent.model.epoch_groups import Pending, PendingMember
from rebalance_agent.model.group import GroupState
from rebalance_agent.model.member_changes import member_name
from rebalance_agent.ui.sentences.named_members import ID_TAIL
from rebalance_agent.ui.words import duration, listed, moment, plural, printable, shortened, stalled_partitions_text

__all__ = ["pending_text", "running_text", "unsettled_text"]

NAMED_MAX = 3
"""Maximum number of members named in a sentence."""


def unsettled_text(group: GroupSummary) -> str:
    """Return a sentence on the group's last completed rebalance if it has not settled; otherwise an empty string."""
    if group.unsettled_ms is None:
        return ""
    return (
        f"A rebalance completed at {moment(group.unsettled_ms)}. It will be explained when it has settled, usually "
        "5 to 15 s later."
    )


def running_text(group: GroupSummary, now_ms: int) -> str:
    """Return a sentence on the rebalance that is running at ``now_ms`` (epoch ms); empty if no rebalance is running."""
    if group.running is None:
        return ""
    seconds = max(0, now_ms - group.running.started_ms) / 1000
    stalled, waits = stalled_partitions_text(group.running), pending_text(group)
    text = f"A rebalance has been running for {duration(seconds)}: {stalled}."
    return f"{text} It is {waits}." if waits else text


def pending_text(group: GroupSummary) -> str:
    """Return what the running rebalance waits for: ``waiting for orders-2 to revoke 3 partitions``; empty if unknown.

    Only coordinators that assign (KIP-848) record the members that have not reached the new assignment.
    """
    if group.running is None:
        return ""
    if (pending := group.running.pending) is None:
        return "waiting for the coordinator's assignment" if group.state is GroupState.ASSIGNING else ""
    if not pending.members:
        return ""
    if pending.members == 1:
        (member,) = pending.named
        action = f"revoke {plural(member.partitions, 'partition')}" if member.partitions else "take its new assignment"
        return f"waiting for {_name(member)} to {action}"
    names = _names(pending)
    rest = pending.members - len(names)
    return f"waiting for {plural(pending.members, 'member')}: {listed([*names, f'{rest} more'] if rest else names)}"


def _names(pending: Pending) -> list[str]:
    """Return the first members' names (equal names with the end of the member id), and what each has to revoke."""
    members = pending.named[:NAMED_MAX]
    times = Counter(map(_name, members))
    return [
        _name(each)
        + (f" ({each.member_id[-ID_TAIL:]})" if times[_name(each)] > 1 else "")
        + (f" (has to revoke {plural(each.partitions, 'partition')})" if each.partitions else "")
        for each in members
    ]


def _name(member: PendingMember) -> str:
    return shortened(printable(member_name(member.client_id, member.instance_id) or member.member_id), 60)
