"""Computes how many partitions of each topic every member gets: keeps the promise, with the fewest moves.

Partitions of one topic differ only in their owners, so counts decide everything. With equal subscriptions this is
simple arithmetic. With mixed subscriptions, a `draft` is used if it is proven to be the best; otherwise the slower
search of `exact`.
"""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_agent.assignors.balance.counts import NO_EXTRA, Placement
from rebalance_agent.assignors.balance.draft import draft
from rebalance_agent.assignors.balance.exact import cheapest_flow
from rebalance_agent.assignors.balance.promise import Promise
from rebalance_agent.assignors.roster import Roster

__all__ = ["best_loads", "fill", "place_partitions"]


def fill(promise: Promise, owned: Sequence[int], partitions: int) -> tuple[int, ...]:
    """Return each member's load with equal subscriptions; rank, ownership and order select those with one more."""
    loads = list(promise.floors)
    candidates = [member for member, rank in enumerate(promise.ranks) if rank != NO_EXTRA]
    candidates.sort(key=lambda member: (promise.ranks[member], owned[member] <= loads[member]))
    for member in candidates[: partitions - sum(loads)]:
        loads[member] += 1
    return tuple(loads)


def place_partitions(
    roster: Roster,
    floors: Sequence[int],
    ranks: Sequence[int],
    unassigned: int = 0,
    levels: Sequence[int] = (),
) -> Placement | None:
    """Place all but ``unassigned`` partitions; return None if floors and ranks cannot be met.

    ``levels`` (see `Promise`) only speed up the computation.
    """
    attempt = None if unassigned else draft(roster, floors, ranks, levels)
    if attempt is not None and attempt.proven:
        return attempt.placement
    return cheapest_flow(roster, floors, ranks, unassigned)


def best_loads(roster: Roster, promise: Promise) -> tuple[tuple[int, ...], int] | None:
    """Return loads that keep ``promise``, and how many partitions can then stay; None if it cannot be kept."""
    if roster.uniform():
        owned = roster.owned_counts()
        loads = fill(promise, owned, sum(roster.partitions))
        return loads, sum(map(min, owned, loads))
    placement = place_partitions(roster, promise.floors, promise.ranks, levels=promise.levels)
    return None if placement is None else (tuple(placement.loads), placement.kept)
