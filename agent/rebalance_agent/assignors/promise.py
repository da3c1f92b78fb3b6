"""What a strategy promises each member, in whole partitions: the measure for skew, imbalance and needless moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor

from rebalance_agent.assignors.roster import Roster
from rebalance_agent.assignors.shares import fair_densities

__all__ = ["NO_EXTRA", "Promise", "by_count", "by_weight"]

NO_EXTRA = -1
"""The rank of a member whose share is whole: it never gets one more."""


@dataclass(frozen=True, slots=True)
class Promise:
    """By member: it gets ``floors`` partitions for certain, and at most one more.

    Who gets one more goes by ``ranks``, lowest first, as far as subscriptions allow; equal ranks, equal right.
    Members of equal ``standing`` are promised alike: the balance is the same if they swap what they have.
    """

    standing: tuple[int, ...]
    floors: tuple[int, ...]
    ranks: tuple[int, ...]

    def targets(self, loads: Sequence[int]) -> list[int]:
        """The most that each member may have when ``loads`` keep this promise: all of a rank may have what one has."""
        raised = {
            rank for rank, load, low in zip(self.ranks, loads, self.floors, strict=True) if rank >= 0 and load > low
        }
        return [low + (rank in raised) for low, rank in zip(self.floors, self.ranks, strict=True)]

    def strain(self, loads: Sequence[int]) -> int | None:
        """The sum of the ranks that ``loads`` raise by one, least in the best balance; None if out of bounds."""
        total = 0
        for load, low, rank in zip(loads, self.floors, self.ranks, strict=True):
            if load == low:
                continue
            if load != low + 1 or rank == NO_EXTRA:
                return None
            total += rank
        return total


def by_count(roster: Roster) -> Promise:
    """The best balance of partition counts that the subscriptions allow.

    The lexicographically best whole loads lie within one of the fair shares (Frank and Murota, 2022, on decreasingly
    minimal elements), and of two members that could take one more, the one with the lower floor does.
    """
    shares = fair_densities(roster.partitions, roster.subscribers, [1] * len(roster.members))
    floors = tuple(floor(share) for share in shares)
    ranks = tuple(low if share > low else NO_EXTRA for share, low in zip(shares, floors, strict=True))
    return Promise((0,) * len(shares), floors, ranks)


def by_weight(roster: Roster, weights: Sequence[int]) -> Promise:
    """Shares in proportion to ``weights``, rounded by largest remainder within each level of `fair_densities`."""
    if len(set(weights)) <= 1:
        return by_count(roster)
    densities = fair_densities(roster.partitions, roster.subscribers, weights)
    shares = [density * weight for density, weight in zip(densities, weights, strict=True)]
    floors = tuple(floor(share) for share in shares)
    remainders = [share - low for share, low in zip(shares, floors, strict=True)]
    # A lower level cannot take from a higher one, so ranking lower levels first keeps every level's total in place.
    keys = [(density, -remainder) for density, remainder in zip(densities, remainders, strict=True)]
    order = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    ranks = tuple(order[key] if remainder else NO_EXTRA for key, remainder in zip(keys, remainders, strict=True))
    return Promise(tuple(weights), floors, ranks)
