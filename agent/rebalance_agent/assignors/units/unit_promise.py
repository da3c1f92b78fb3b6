"""The promise of strategies that assign units, in partitions."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_agent.assignors.balance.counts import NO_EXTRA
from rebalance_agent.assignors.balance.promise import Promise
from rebalance_agent.assignors.roster import Roster
from rebalance_agent.assignors.units.units import UnitKind

__all__ = ["promise_units"]


def promise_units(roster: Roster, kinds: Sequence[UnitKind]) -> Promise:
    """Return the most partitions that a member has in any assignment that is balanced in units.

    Units have different numbers of partitions, so no promise in partitions states a balance in units exactly: every
    balanced assignment keeps this one, and most that keep it are balanced. It does not depend on ownership.
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
        # With equal subscriptions, all kinds together are rounded up once; else each kind on its own.
        extra_units = -(-total // sharers) - units[member] if roster.uniform() else len(weights)
        ceilings.append(sure[member] + sum(sorted(weights, reverse=True)[: max(extra_units, 0)]))
    return Promise((0,) * len(ceilings), tuple(ceilings), (NO_EXTRA,) * len(ceilings))
