"""How many partitions of each topic every member gets: the promise kept, with as many kept in place as that allows.

Partitions of one topic are interchangeable but for who owned them, so all is decided on counts. Where subscriptions are
equal it is arithmetic. Where they differ, a `draft` that proves itself best is as good as a search, and much faster;
without proof, the search of `exact` decides.
"""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_agent.assignors.balance.counts import NO_EXTRA, Placement
from rebalance_agent.assignors.balance.draft import draft
from rebalance_agent.assignors.balance.exact import cheapest_flow
from rebalance_agent.assignors.balance.promise import Promise
from rebalance_agent.assignors.roster import Roster

__all__ = ["best", "fill", "place"]


def fill(promise: Promise, owned: Sequence[int], partitions: int) -> tuple[int, ...]:
    """Each member's load where subscriptions are equal: ranks decide, then who owns it already, then member order."""
    loads = list(promise.floors)
    candidates = [member for member, rank in enumerate(promise.ranks) if rank != NO_EXTRA]
    candidates.sort(key=lambda member: (promise.ranks[member], owned[member] <= loads[member]))
    for member in candidates[: partitions - sum(loads)]:
        loads[member] += 1
    return tuple(loads)


def place(
    roster: Roster,
    floors: Sequence[int],
    ranks: Sequence[int],
    unassigned: int = 0,
    levels: Sequence[int] = (),
) -> Placement | None:
    """Place all but ``unassigned`` partitions; None when floors and ranks cannot be met.

    ``levels`` (see `Promise`) only help to find it fast.
    """
    attempt = None if unassigned else draft(roster, floors, ranks, levels)
    if attempt is not None and attempt.proven:
        return attempt.placement
    return cheapest_flow(roster, floors, ranks, unassigned)


def best(roster: Roster, promise: Promise) -> tuple[tuple[int, ...], int] | None:
    """Loads that keep ``promise``, and how many partitions can then stay in place; None if it cannot be kept."""
    if roster.uniform():
        owned = roster.owned_counts()
        loads = fill(promise, owned, sum(roster.partitions))
        return loads, sum(map(min, owned, loads))
    placement = place(roster, promise.floors, promise.ranks, levels=promise.levels)
    return None if placement is None else (tuple(placement.loads), placement.kept)
