"""The certificate of the best placement: each member's least and most load, and a limit on what can stay in place.

Imagine that every member could take any partition. That group is easier to balance than the real one, everything that
is possible in the real one is possible in it, and its optimum is arithmetic. So an assignment of the real group that is
as good as that optimum is best, however it was found, and nothing needs to be searched to prove it.

Where fair shares come in levels (see ``shares``), all this holds for each level on its own: the best balance gives the
topics that only members of a higher level may take to exactly those members, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rebalance_agent.assignors.balance.counts import NO_EXTRA

__all__ = ["Bounds", "bounds"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """The best loads are from ``least`` to ``most``, one more at the most; no more than ``kept`` stays in place."""

    min_loads: list[int]
    max_loads: list[int]
    kept: int


def bounds(
    members: Sequence[int], floors: Sequence[int], ranks: Sequence[int], owned: Sequence[int], partitions: int
) -> Bounds | None:
    """What floors and ranks come to if each of ``members`` could take any of ``partitions``; None if they do not fit.

    The lowest ranks get one more, all of a rank before any of the next. Within the rank where it runs out, those who
    own more than their floor keep one more if they are the ones to get it. Others than ``members`` are left at 0.
    """
    min_loads, max_loads = [0] * len(floors), [0] * len(floors)
    members_by_rank: dict[int, list[int]] = {}
    for member in members:
        min_loads[member] = max_loads[member] = floors[member]
        if ranks[member] != NO_EXTRA:
            members_by_rank.setdefault(ranks[member], []).append(member)
    spare = partitions - sum(min_loads)
    kept = 0
    for rank in sorted(members_by_rank):
        if spare <= 0:
            break
        members_of_rank = members_by_rank[rank]
        for member in members_of_rank:
            max_loads[member] += 1
        if len(members_of_rank) <= spare:
            for member in members_of_rank:
                min_loads[member] += 1
        else:
            kept = min(spare, sum(owned[member] > min_loads[member] for member in members_of_rank))
        spare -= min(spare, len(members_of_rank))
    if spare:
        return None
    return Bounds(min_loads, max_loads, kept + sum(min(owned[member], min_loads[member]) for member in members))
