"""Models the brokers' own assignors: uniform (balanced and sticky), range, and that of share groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rebalance_agent.assignors.strategy_registry import strategy
from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.model.partitions import pairs
from rebalance_agent.model.subscription import GroupSubscription, MemberSubscription, TopicMetadata

__all__ = ["Targets", "by_range", "shared", "uniform"]

Targets = dict[str, set[Partition]]
"""Member id -> its target assignment."""


def uniform(partitions: Sequence[Partition], members: Sequence[str], previous: Mapping[str, set[Partition]]) -> Targets:
    """Return a balanced assignment with the fewest moves from ``previous``; the order of ``members`` breaks ties."""
    if not members:
        return {}
    share, larger_shares = divmod(len(partitions), len(members))
    existing = set(partitions)
    kept = {name: sorted(previous.get(name, set()) & existing) for name in members}
    # The larger shares go to the members that have the most partitions.
    larger = set(sorted(members, key=lambda name: -len(kept[name]))[:larger_shares])
    targets = {name: set(kept[name][: share + (name in larger)]) for name in members}
    free = iter(sorted(existing.difference(*targets.values())))
    for name in members:
        while len(targets[name]) < share + (name in larger):
            targets[name].add(next(free))
    return targets


def by_range(counts: Mapping[str, int], members: Sequence[str]) -> Targets:
    """Return the brokers' range assignment: contiguous partitions of each topic, like this package's ``range``."""
    group = GroupSubscription(
        {topic: TopicMetadata(count) for topic, count in counts.items()},
        tuple(MemberSubscription(name, tuple(counts)) for name in members),
    )
    assignment = strategy("range").assign(group).members if members else {}
    return {name: pairs(partitions) for name, partitions in assignment.items()}


def shared(partitions: Sequence[Partition], members: Sequence[str]) -> Targets:
    """Return a share group's assignment: each partition has a member, each member a (possibly shared) partition."""
    targets: Targets = {name: set() for name in members}
    for index in range(max(len(partitions), len(members)) if members and partitions else 0):
        targets[members[index % len(members)]].add(partitions[index % len(partitions)])
    return targets
