"""Changes between two generations of a group: members that joined or left, subscriptions, and owners of partitions.

Members of both generations are matched by ``group.instance.id`` (KIP-345), or else by member id.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from rebalance_agent.model.group import GroupSnapshot, Member
from rebalance_agent.model.member_changes import identity, member_changes
from rebalance_agent.model.partitions import TopicPartitions, count_partitions, pairs, pairs_of

__all__ = ["GenerationDiff", "Identified", "Owners", "Partition", "diff_generations", "owners"]

Partition = tuple[str, int]
"""Topic and partition number."""

Owners = Mapping[Partition, Member]
"""Partition -> its owner, or one of its owners if there are several (see `GenerationDiff`)."""

REMEMBERED_MAX = 4
"""Maximum number of generations whose owners are cached: for each rebalance, a dozen calls in turn need two
generations' owners."""


@dataclass(frozen=True, slots=True)
class GenerationDiff:
    """The changes from ``before`` to ``after``.

    - ``joined``, ``gone``: members of only one of the two generations.
    - ``replaced``: (old, new) with one instance id and two member ids: a static member that returned.
    - ``resubscribed``: (old, new) of one member with other topics.
    - ``taken``: partitions that a member had and no longer has.
    - ``given``: partitions that a member has and did not have.
    - ``moved``: partitions with owners before and after, none of them in both.
    - ``noop``: partitions had owners, and all owners are unchanged.

    A partition may have several owners: in a share group (KIP-932), or with a redundant strategy.
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


def owners(group: GroupSnapshot | None, preferred: Collection[str] = ()) -> Owners:
    """Return the owner of each assigned partition; the result is empty without a group.

    If a partition has several owners, the result has the last owner in member order, preferably one of ``preferred``
    (member ids).
    """
    if group is None:
        return {}
    by_partition = _remembered_owners(Identified(group))
    if preferred and len(by_partition) < sum(count_partitions(member.assigned) for member in group.members):
        return _owners_of(sorted(group.members, key=lambda member: member.member_id in preferred))
    return by_partition


class Identified(NamedTuple):
    """The key of a cache: a generation, and the generation before it if that is needed.

    Keys compare by object identity: comparing all members would take as long as computing the cached result.
    """

    after: GroupSnapshot
    before: GroupSnapshot | None = None

    def __eq__(self, other: object) -> bool:
        """Whether ``other`` has the same objects."""
        return isinstance(other, Identified) and self.before is other.before and self.after is other.after

    def __hash__(self) -> int:
        """Return the hash of the objects' identities."""
        return hash((id(self.before), id(self.after)))


@lru_cache(REMEMBERED_MAX)
def _remembered_owners(identified: Identified) -> Owners:
    return MappingProxyType(_owners_of(identified.after.members))


def _owners_of(members: Iterable[Member]) -> dict[Partition, Member]:
    return {
        partition: member
        for member in members
        for topic, numbers in member.assigned.items()
        for partition in pairs_of(topic, numbers)
    }


def diff_generations(before: GroupSnapshot | None, after: GroupSnapshot) -> GenerationDiff:
    """Compare two generations; ``before`` None means that the group had no members."""
    changes = member_changes(before.members if before else (), after.members)
    had, has = _shares(before), _shares(after)
    taken, given, kept = set[Partition](), set[Partition](), set[Partition]()
    unchanged: list[str] = []
    for name in {**had, **has}:
        if (was := had.get(name, ())) == (now := has.get(name, ())):
            unchanged.append(name)
            continue
        old, new = _partitions(was), _partitions(now)
        taken |= old - new
        given |= new - old
        kept |= old & new
    moved = (taken & given) - kept
    for name in unchanged if moved else ():
        moved -= _partitions(has[name])
    return GenerationDiff(
        joined=changes.joined,
        gone=changes.gone,
        replaced=changes.replaced,
        resubscribed=tuple(pair for pair in changes.stayed if _topics(pair[0]) != _topics(pair[1])),
        assignor_changed=bool(before and before.protocol and after.protocol and before.protocol != after.protocol),
        taken=frozenset(taken),
        given=frozenset(given),
        moved=frozenset(moved),
        noop=not taken and not given and any(any(share.values()) for shares in had.values() for share in shares),
    )


_Shares = Mapping[str, list[TopicPartitions]]
"""Identity -> the assignments of its members: one mapping, unless a generation has an identity twice."""


def _shares(group: GroupSnapshot | None) -> _Shares:
    shares: dict[str, list[TopicPartitions]] = {}
    for member in group.members if group else ():
        shares.setdefault(identity(member), []).append(member.assigned)
    return shares


def _partitions(shares: Sequence[TopicPartitions]) -> set[Partition]:
    return pairs(shares[0]) if len(shares) == 1 else set[Partition]().union(*map(pairs, shares))


def _topics(member: Member) -> frozenset[str]:
    return frozenset(member.subscription.topics) if member.subscription else frozenset()
