"""Bounds of the best placement: each member's lowest and highest load, and how many partitions can stay in place.

Assume that every member could take any partition. All assignments of the real group are possible in this relaxed group,
so the relaxed optimum is at least as good, and simple arithmetic yields this optimum. An assignment of the real group
that reaches the relaxed optimum is therefore the best, however it was found.

If fair shares have levels (see ``shares``), this holds for each level separately: in the best balance, topics to which
only members of higher levels subscribe go to exactly those members, which get nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rebalance_agent.assignors.balance.counts import NO_EXTRA

__all__ = ["Bounds", "bounds"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Loads of the best balance by member: from ``min_loads`` to ``max_loads``, which differ by at most 1.

    ``kept`` is an upper bound of the partitions that stay in place.
    """

    min_loads: list[int]
    max_loads: list[int]
    kept: int


def bounds(
    members: Sequence[int], floors: Sequence[int], ranks: Sequence[int], owned: Sequence[int], partitions: int
) -> Bounds | None:
    """Return the bounds if each of ``members`` could take any of ``partitions``; None if floors or ranks do not fit.

    Members of the lowest ranks get one partition more: all members of a rank before any member of the next. If not all
    members of a rank can get one more, those that own more than their floor keep it. Members outside ``members`` stay
    at 0.
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
