"""The promise of a strategy to each member, in whole partitions: the measure of skew, imbalance and needless moves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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
    """The promise to each member: at least ``floors`` partitions, and at most one more.

    ``ranks`` decide which members get one more, lowest first, as far as subscriptions allow; members of equal rank are
    equal. Members of equal ``standing`` have equal promises: the balance is the same if these members swap their
    partitions. ``levels``: the index of each member's level if fair shares have levels, lower densities first; empty
    means one level. Strategies that balance something other than partitions promise an upper bound (`at_most`).
    """

    standing: tuple[int, ...]
    floors: tuple[int, ...]
    ranks: tuple[int, ...]
    levels: tuple[int, ...] = ()

    @classmethod
    def at_most(cls, ceilings: Iterable[int], standing: tuple[int, ...] | None = None) -> Promise:
        """Return the promise of an upper bound: floors without one more, which members need not reach."""
        floors = tuple(ceilings)
        return cls(standing or (0,) * len(floors), floors, (NO_EXTRA,) * len(floors))

    def targets(self, loads: Sequence[int]) -> list[int]:
        """Return the most that each member may have if ``loads`` keep this promise; equal within a rank."""
        raised = {
            rank for rank, load, low in zip(self.ranks, loads, self.floors, strict=True) if rank >= 0 and load > low
        }
        return [low + (rank in raised) for low, rank in zip(self.floors, self.ranks, strict=True)]

    def strain(self, loads: Sequence[int]) -> int | None:
        """Return the sum of ranks of members with one more, lowest in the best balance; None if out of bounds."""
        total = 0
        for load, low, rank in zip(loads, self.floors, self.ranks, strict=True):
            if load == low:
                continue
            if load != low + 1 or rank == NO_EXTRA:
                return None
            total += rank
        return total


def by_count(roster: Roster) -> Promise:
    """Return the promise of the best balance of partition counts that the subscriptions allow.

    The lexicographically best whole loads are within one of the fair shares (Frank and Murota, 2022, on decreasingly
    minimal elements), and of two members that could take one more, the member with the lower floor takes it.
    """
    if roster.cache.count_promise is None:
        roster.cache.count_promise = _fair(roster, [1] * len(roster.members), _by_floors)
    count_promise: Promise = roster.cache.count_promise
    return count_promise


def by_weight(roster: Roster, weights: Sequence[int]) -> Promise:
    """Return the promise of shares in proportion to ``weights``, rounded by largest remainder within each level.

    The levels are those of `fair_densities`.
    """
    if len(set(weights)) <= 1:
        return by_count(roster)
    return _fair(roster, weights, lambda densities: _by_remainders(densities, weights))


def _fair(roster: Roster, weights: Sequence[int], rounded: Callable[[Sequence[Fraction]], Promise]) -> Promise:
    """Return the fair densities, ``rounded``: those of one level if a draft shows that there is only one."""
    promise = rounded(one_density(roster, weights))
    if roster.uniform():
        return promise
    attempt = draft(roster, promise.floors, promise.ranks)
    if attempt is not None and shows_one_level(roster, weights, attempt.placement):
        return promise
    return rounded(fair_densities(roster.partitions, roster.subscribers, weights))


def _by_floors(shares: Sequence[Fraction]) -> Promise:
    # Many members share the Fraction of their level: it is rounded and compared once per object.
    shared = {id(share): share for share in shares}
    floors = {key: floor(share) for key, share in shared.items()}
    ranks = {key: floors[key] if share > floors[key] else NO_EXTRA for key, share in shared.items()}
    keys = list(map(id, shares))
    low = tuple(map(floors.__getitem__, keys))
    # Levels with one floor may exchange what they have above it: they are one level here.
    return Promise((0,) * len(shares), low, tuple(map(ranks.__getitem__, keys)), low if len(set(low)) > 1 else ())


def _by_remainders(densities: Sequence[Fraction], weights: Sequence[int]) -> Promise:
    # A lower level cannot take from a higher one, so ranking lower levels first keeps the total of every level.
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
