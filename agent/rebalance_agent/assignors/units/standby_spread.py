"""Where standby copies go: never to the active's place, spread as evenly as can be, and kept where they are.

First every unit keeps the copies that it has, then each missing one goes to the emptiest place, of equally empty ones
to the one that has the fewest copies of units with the same active: if an active goes, its units then find heirs in
many places. What is uneven after that is evened out along chains (from a full place to another, and from there another
copy to an emptier one) until no chain is left, which is the most even spread there is: such spreads are the integral
points of a base polyhedron, where what no exchange can better is best. ``allotment`` spreads what rounding leaves over
in the same way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import chain
from math import inf
from typing import NamedTuple

__all__ = ["NOWHERE", "Demand", "spread_copies"]

NOWHERE = -1
"""The active's place of what has no active."""


class Demand(NamedTuple):
    """One unit's copies: how many are wanted, its active's place, who may take one, who has one (best first).

    At least ``wanted`` of ``places`` are not ``active``.
    """

    wanted: int
    active: int
    places: Collection[int]
    holders: Sequence[int]


def spread_copies(demands: Sequence[Demand], sizes: Sequence[int], loads: Sequence[int] = ()) -> list[tuple[int, ...]]:
    """The places of each unit's copies, ascending; loads are in proportion to ``sizes`` (of every place).

    ``loads``: what every place has already.
    """
    spread = _Spread(demands, sizes, loads)
    spread.keep()
    spread.fill()
    spread.even_out()
    return [tuple(sorted(places)) for places in spread.places]


class _Spread:
    def __init__(self, demands: Sequence[Demand], sizes: Sequence[int], loads: Sequence[int]) -> None:
        self._demands = demands
        self._sizes = sizes
        self._loads = list(loads) or [0] * len(sizes)
        # By active: how many copies of its units each place has.
        self._beside: dict[int, list[int]] = {demand.active: [0] * len(sizes) for demand in demands}
        # By place: units with a copy there. The newest come last, and a dict gives them back last.
        self._on: list[dict[int, None]] = [{} for _ in sizes]
        self.places: list[set[int]] = [set() for _ in demands]
        # Places in the order in which they take copies in turn: who is active for least comes first.
        actives = Counter(demand.active for demand in demands)
        self._order = sorted(range(len(sizes)), key=lambda place: actives[place] / sizes[place])
        # Where to look for an empty place next, and how empty the emptiest was when last looked at: loads only grow.
        self._turn = 0
        self._lowest = 0.0

    def keep(self) -> None:
        """Keep as many of the copies that there are as are wanted, the best ones."""
        for unit, demand in enumerate(self._demands):
            able = [place for place in demand.holders if place != demand.active and place in demand.places]
            for place in able[: demand.wanted]:
                self._put(unit, place)

    def fill(self) -> None:
        """Make the copies that are missing."""
        for unit, demand in enumerate(self._demands):
            while len(self.places[unit]) < demand.wanted:
                self._put(unit, self._emptiest(unit))

    def _emptiest(self, unit: int) -> int:
        """The emptiest place that may have a copy of ``unit``, and of those the one that has fewest beside it."""
        beside = self._beside[self._demands[unit].active]
        usual = sum(beside) // len(beside)
        best = (inf, 0, -1)
        for turn in chain(range(self._turn, len(beside)), range(self._turn)):
            place = self._order[turn]
            if not self._may(unit, place):
                continue
            found = (self._burden(place, 1), beside[place], turn)
            best = min(best, found)
            if found[0] <= self._lowest and found[1] <= usual:
                # None is emptier, and it has no more than is usual: the others need not be looked at.
                self._turn = turn + 1
                return place
        self._lowest = min(self._burden(place, 1) for place in range(len(beside)))
        return self._order[best[2]]

    def even_out(self) -> None:
        """Move copies along chains while one ends at a place that is less full than the one that it began at."""
        places = range(len(self._sizes))
        moving = True
        while moving:
            moving = False
            lowest = min((self._burden(place, 1) for place in places), default=0.0)
            for place in sorted(places, key=lambda place: -self._burden(place, -1)):
                if self._burden(place, -1) <= lowest:
                    return
                if self._relieve(place):
                    moving = True
                    break

    def _relieve(self, full: int) -> bool:
        """Move one copy away from ``full`` by the shortest chain that evens the loads; whether there is one."""
        limit = self._burden(full, -1)
        left = [place for place in range(len(self._sizes)) if place != full]
        came: dict[int, tuple[int, int]] = {}
        front = [full]
        while front and left:
            following = []
            for place in front:
                for unit in reversed(self._on[place]):
                    reached = [other for other in left if self._may(unit, other)]
                    if reached:
                        came.update((other, (place, unit)) for other in reached)
                        following += reached
                        left = [other for other in left if other not in came]
                    if not left:
                        break
            emptiest = min(following, key=lambda place: (self._burden(place, 1), place), default=full)
            if emptiest != full and self._burden(emptiest, 1) < limit:
                self._shift(emptiest, full, came)
                return True
            front = following
        return False

    def _shift(self, empty: int, full: int, came: dict[int, tuple[int, int]]) -> None:
        place = empty
        while place != full:
            origin, unit = came[place]
            self._take(unit, origin)
            self._put(unit, place)
            place = origin

    def _may(self, unit: int, place: int) -> bool:
        demand = self._demands[unit]
        return place != demand.active and place not in self.places[unit] and place in demand.places

    def _burden(self, place: int, step: int) -> float:
        # Twice the middle of a step of load, for the size; see allotment on why floats are exact enough here.
        return (2 * self._loads[place] + step) / self._sizes[place]

    def _put(self, unit: int, place: int) -> None:
        self.places[unit].add(place)
        self._on[place][unit] = None
        self._loads[place] += 1
        self._beside[self._demands[unit].active][place] += 1

    def _take(self, unit: int, place: int) -> None:
        self.places[unit].remove(place)
        del self._on[place][unit]
        self._loads[place] -= 1
        self._beside[self._demands[unit].active][place] -= 1
