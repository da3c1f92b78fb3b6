"""What strategies that give out units promise each member, in partitions."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_agent.assignors.balance.counts import NO_EXTRA
from rebalance_agent.assignors.balance.promise import Promise
from rebalance_agent.assignors.roster import Roster
from rebalance_agent.assignors.units.units import UnitKind

__all__ = ["promise_units"]


def promise_units(roster: Roster, kinds: Sequence[UnitKind]) -> Promise:
    """The most that a member has in any assignment that is balanced in units.

    A unit weighs as many partitions as it has, so no promise in partitions says exactly what a balance in units is:
    every balanced assignment keeps this one, and most that keep it are balanced. It depends on nothing that is owned.
    """
    partitions = roster.partitions
    sure = [0] * len(roster.members)
    units = [0] * len(roster.members)
    extras: list[list[int]] = [[] for _ in roster.members]
    for kind in kinds:
        floor, rest = divmod(kind.units, len(kind.members))
        # Lower numbers are in more topics, where counts differ: the heaviest units come first.
        load = sum(min(floor, partitions[topic]) for topic in kind.topics)
        weight = sum(floor < partitions[topic] for topic in kind.topics)
        for member in kind.members:
            sure[member] += load
            units[member] += floor
            if rest:
                extras[member].append(weight)
    total, sharers = sum(kind.units for kind in kinds), len(set().union(*(kind.members for kind in kinds))) or 1
    ceilings = []
    for member, weights in enumerate(extras):
        # Where subscriptions are equal, all kinds together are rounded up once; else each is for itself.
        extra_units = -(-total // sharers) - units[member] if roster.uniform() else len(weights)
        ceilings.append(sure[member] + sum(sorted(weights, reverse=True)[: max(extra_units, 0)]))
    return Promise((0,) * len(ceilings), tuple(ceilings), (NO_EXTRA,) * len(ceilings))
