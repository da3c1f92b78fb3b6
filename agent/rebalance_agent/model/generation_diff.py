"""What changed between two generations of a classic group: who came and went, what they want, who owns what.

A member is the same one in both if its ``group.instance.id`` is (KIP-345), else if its member id is.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from rebalance_agent.model.group import GroupSnapshot, Member
from rebalance_agent.model.partitions import pairs

__all__ = ["GenerationDiff", "Owners", "Partition", "diff_generations", "identity", "owners"]

Partition = tuple[str, int]
"""Topic and partition number."""

Owners = dict[Partition, Member]
"""Partition -> the member that it is assigned to; of several (see `GenerationDiff`) one."""


@dataclass(frozen=True, slots=True)
class GenerationDiff:
    """The difference, from ``before`` to ``after``.

    - ``joined``, ``gone``: members that only one of the two has.
    - ``replaced``: (old, new) with one instance id and two member ids: a static member that came back.
    - ``resubscribed``: (old, new) of the same member with other topics.
    - ``taken``: partitions that are no longer with a member that had them.
    - ``given``: partitions with a member that did not have them.
    - ``moved``: partitions that changed hands: had and have owners, and none of them is the same.
    - ``noop``: there were owners, and everyone owns what they owned.

    A partition may have several owners: in a share group (KIP-932), or by a redundant strategy.
    """

    joined: tuple[Member, ...]
    gone: tuple[Member, ...]
    replaced: tuple[tuple[Member, Member], ...]
    resubscribed: tuple[tuple[Member, Member], ...]
    assignor_changed: bool
    taken: frozenset[Partition]
    given: frozenset[Partition]
    moved: frozenset[Partition]
    noop: bool


def identity(member: Member) -> str:
    """What stays the same when a member restarts: its instance id, or else its member id."""
    return member.member_id if member.instance_id is None else member.instance_id


def owners(group: GroupSnapshot | None, rather: Collection[str] = ()) -> Owners:
    """Who was given what; nobody has anything where there is no group. Of several the last, ``rather`` one of these."""
    members = () if group is None else group.members
    return {
        (topic, number): member
        for member in (sorted(members, key=lambda member: member.member_id in rather) if rather else members)
        for topic, numbers in member.assigned.items()
        for number in numbers
    }


def diff_generations(before: GroupSnapshot | None, after: GroupSnapshot) -> GenerationDiff:
    """Compare two generations; None before means that nobody was there."""
    old = {identity(member): member for member in before.members} if before else {}
    new = {identity(member): member for member in after.members}
    both = [(old[name], new[name]) for name in old if name in new]
    had, has = _holders(before), _holders(after)
    taken = frozenset(partition for partition, names in had.items() if names - has.get(partition, set()))
    given = frozenset(partition for partition, names in has.items() if names - had.get(partition, set()))
    return GenerationDiff(
        joined=tuple(member for name, member in new.items() if name not in old),
        gone=tuple(member for name, member in old.items() if name not in new),
        replaced=tuple(pair for pair in both if pair[0].member_id != pair[1].member_id),
        resubscribed=tuple(pair for pair in both if _topics(pair[0]) != _topics(pair[1])),
        assignor_changed=bool(before and before.protocol and after.protocol and before.protocol != after.protocol),
        taken=taken,
        given=given,
        moved=frozenset(partition for partition in taken & given if not had[partition] & has[partition]),
        noop=bool(had) and not taken and not given,
    )


def _holders(group: GroupSnapshot | None) -> dict[Partition, set[str]]:
    """Partition -> the identities of all that it is assigned to."""
    found: dict[Partition, set[str]] = {}
    for member in group.members if group else ():
        for partition in pairs(member.assigned):
            found.setdefault(partition, set()).add(identity(member))
    return found


def _topics(member: Member) -> frozenset[str]:
    return frozenset(member.subscription.topics) if member.subscription else frozenset()
