"""What a strategy promises each member, in whole partitions: the measure for skew, imbalance and needless moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor

from rebalance_agent.assignors.balance.counts import NO_EXTRA
from rebalance_agent.assignors.balance.draft import draft
from rebalance_agent.assignors.balance.levels import one_density, shows_one_level
from rebalance_agent.assignors.balance.shares import fair_densities
from rebalance_agent.assignors.roster import Roster

__all__ = ["Promise", "by_count", "by_weight"]


@dataclass(frozen=True, slots=True)
class Promise:
    """By member: it gets ``floors`` partitions for certain, and at most one more.

    Who gets one more goes by ``ranks``, lowest first, as far as subscriptions allow; equal ranks, equal right.
    Members of equal ``standing`` are promised alike: the balance is the same if they swap what they have.
    ``levels``: where fair shares come in levels, the place of a member's, lower densities first; none is one for all.
    Strategies that balance something else than partitions promise a ceiling: ``floors`` without any one more.
    """

    standing: tuple[int, ...]
    floors: tuple[int, ...]
    ranks: tuple[int, ...]
    levels: tuple[int, ...] = ()

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
    if roster.cache.count_promise is None:
        roster.cache.count_promise = _fair(roster, [1] * len(roster.members), _by_floors)
    count_promise: Promise = roster.cache.count_promise
    return count_promise


def by_weight(roster: Roster, weights: Sequence[int]) -> Promise:
    """Shares in proportion to ``weights``, rounded by largest remainder within each level of `fair_densities`."""
    if len(set(weights)) <= 1:
        return by_count(roster)
    return _fair(roster, weights, lambda densities: _by_remainders(densities, weights))


def _fair(roster: Roster, weights: Sequence[int], rounded: Callable[[Sequence[Fraction]], Promise]) -> Promise:
    """The fair densities, ``rounded``: those of one level where that is plain to see."""
    promise = rounded(one_density(roster, weights))
    if roster.uniform():
        return promise
    attempt = draft(roster, promise.floors, promise.ranks)
    if attempt is not None and shows_one_level(roster, weights, attempt.placement):
        return promise
    return rounded(fair_densities(roster.partitions, roster.subscribers, weights))


def _by_floors(shares: Sequence[Fraction]) -> Promise:
    # There are few levels and many members, who share one Fraction: it is rounded once, and compared once.
    shared = {id(share): share for share in shares}
    floors = {key: floor(share) for key, share in shared.items()}
    ranks = {key: floors[key] if share > floors[key] else NO_EXTRA for key, share in shared.items()}
    keys = list(map(id, shares))
    low = tuple(map(floors.__getitem__, keys))
    # Levels of one whole load may trade what they have above it: they are one level here.
    return Promise((0,) * len(shares), low, tuple(map(ranks.__getitem__, keys)), low if len(set(low)) > 1 else ())


def _by_remainders(densities: Sequence[Fraction], weights: Sequence[int]) -> Promise:
    # A lower level cannot take from a higher one, so ranking lower levels first keeps every level's total in place.
    level = {density: index for index, density in enumerate(sorted(set(densities)))}
    floors: list[int] = []
    keys: list[tuple[int, int]] = []
    for density, weight in zip(densities, weights, strict=True):
        low, remainder = divmod(density.numerator * weight, density.denominator)
        floors.append(low)
        keys.append((level[density], -remainder))
    order = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    ranks = tuple(order[key] if key[1] else NO_EXTRA for key in keys)
    return Promise(tuple(weights), tuple(floors), ranks, tuple(map(level.__getitem__, densities)))
