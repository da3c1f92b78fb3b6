"""What the brokers' own assignors give members: balanced and sticky ("uniform"), by ranges, or shared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rebalance_agent.assignors.strategy_registry import strategy
from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.model.subscription import GroupSubscription, MemberSubscription, TopicMetadata

__all__ = ["Targets", "by_range", "shared", "uniform"]

Targets = dict[str, set[Partition]]
"""Member id -> what it is to have."""


def uniform(partitions: Sequence[Partition], members: Sequence[str], had: Mapping[str, set[Partition]]) -> Targets:
    """As even as can be, and of that as few moves as can be; in the order of the members."""
    if not members:
        return {}
    least, more = divmod(len(partitions), len(members))
    known = set(partitions)
    kept = {name: sorted(had.get(name, set()) & known) for name in members}
    # The larger shares go to those that have most.
    larger = set(sorted(members, key=lambda name: -len(kept[name]))[:more])
    targets = {name: set(kept[name][: least + (name in larger)]) for name in members}
    free = iter(sorted(known.difference(*targets.values())))
    for name in members:
        while len(targets[name]) < least + (name in larger):
            targets[name].add(next(free))
    return targets


def by_range(counts: Mapping[str, int], members: Sequence[str]) -> Targets:
    """The brokers' range assignor: each topic's partitions in stretches, as our own strategy gives them."""
    group = GroupSubscription(
        {topic: TopicMetadata(count) for topic, count in counts.items()},
        tuple(MemberSubscription(name, tuple(counts)) for name in members),
    )
    made = strategy("range").assign(group).members if members else {}
    return {
        name: {(topic, number) for topic, numbers in mine.items() for number in numbers} for name, mine in made.items()
    }


def shared(partitions: Sequence[Partition], members: Sequence[str]) -> Targets:
    """A share group's: every partition has a member, and every member has a partition, if need be a shared one."""
    targets: Targets = {name: set() for name in members}
    for place in range(max(len(partitions), len(members)) if members and partitions else 0):
        targets[members[place % len(members)]].add(partitions[place % len(partitions)])
    return targets
