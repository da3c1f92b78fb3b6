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
    hosts: Collection[int]
    holders: Sequence[int]


def spread_copies(demands: Sequence[Demand], sizes: Sequence[int], loads: Sequence[int] = ()) -> list[tuple[int, ...]]:
    """The places of each unit's copies, ascending; loads are in proportion to ``sizes`` (of every place).

    ``loads``: what every place has already.
    """
    spread = _Spread(demands, sizes, loads)
    spread.keep()
    spread.fill()
    spread.even_out()
    return [tuple(sorted(hosts)) for hosts in spread.hosts]


class _Spread:
    def __init__(self, demands: Sequence[Demand], sizes: Sequence[int], loads: Sequence[int]) -> None:
        self._demands = demands
        self._sizes = sizes
        self._loads = list(loads) or [0] * len(sizes)
        # By active: how many copies of its units each place has.
        self._beside: dict[int, list[int]] = {demand.active: [0] * len(sizes) for demand in demands}
        # By place: units with a copy there. The newest come last, and a dict gives them back last.
        self._units_on: list[dict[int, None]] = [{} for _ in sizes]
        self.hosts: list[set[int]] = [set() for _ in demands]
        # Places in the order in which they take copies in turn: who is active for least comes first.
        actives = Counter(demand.active for demand in demands)
        self._order = sorted(range(len(sizes)), key=lambda host: actives[host] / sizes[host])
        # Where to look for an empty place next, and how empty the emptiest was when last looked at: loads only grow.
        self._turn = 0
        self._lowest = 0.0

    def keep(self) -> None:
        """Keep as many of the copies that there are as are wanted, the best ones."""
        for unit, demand in enumerate(self._demands):
            able = [host for host in demand.holders if host != demand.active and host in demand.hosts]
            for host in able[: demand.wanted]:
                self._put(unit, host)

    def fill(self) -> None:
        """Make the copies that are missing."""
        for unit, demand in enumerate(self._demands):
            while len(self.hosts[unit]) < demand.wanted:
                self._put(unit, self._emptiest(unit))

    def _emptiest(self, unit: int) -> int:
        """The emptiest place that may have a copy of ``unit``, and of those the one that has fewest beside it."""
        beside = self._beside[self._demands[unit].active]
        usual = sum(beside) // len(beside)
        best = (inf, 0, -1)
        for turn in chain(range(self._turn, len(beside)), range(self._turn)):
            host = self._order[turn]
            if not self._may_hold(unit, host):
                continue
            candidate = (self._burden(host, 1), beside[host], turn)
            best = min(best, candidate)
            if candidate[0] <= self._lowest and candidate[1] <= usual:
                # None is emptier, and it has no more than is usual: the others need not be looked at.
                self._turn = turn + 1
                return host
        self._lowest = min(self._burden(host, 1) for host in range(len(beside)))
        return self._order[best[2]]

    def even_out(self) -> None:
        """Move copies along chains while one ends at a place that is less full than the one that it began at."""
        hosts = range(len(self._sizes))
        moving = True
        while moving:
            moving = False
            lowest = min((self._burden(host, 1) for host in hosts), default=0.0)
            for host in sorted(hosts, key=lambda host: -self._burden(host, -1)):
                if self._burden(host, -1) <= lowest:
                    return
                if self._relieve(host):
                    moving = True
                    break

    def _relieve(self, full: int) -> bool:
        """Move one copy away from ``full`` by the shortest chain that evens the loads; whether there is one."""
        limit = self._burden(full, -1)
        left = [host for host in range(len(self._sizes)) if host != full]
        reached_by: dict[int, tuple[int, int]] = {}
        front = [full]
        while front and left:
            following = []
            for host in front:
                for unit in reversed(self._units_on[host]):
                    reached = [other for other in left if self._may_hold(unit, other)]
                    if reached:
                        reached_by.update((other, (host, unit)) for other in reached)
                        following += reached
                        left = [other for other in left if other not in reached_by]
                    if not left:
                        break
            emptiest = min(following, key=lambda host: (self._burden(host, 1), host), default=full)
            if emptiest != full and self._burden(emptiest, 1) < limit:
                self._shift(emptiest, full, reached_by)
                return True
            front = following
        return False

    def _shift(self, empty: int, full: int, reached_by: dict[int, tuple[int, int]]) -> None:
        host = empty
        while host != full:
            origin, unit = reached_by[host]
            self._take(unit, origin)
            self._put(unit, host)
            host = origin

    def _may_hold(self, unit: int, host: int) -> bool:
        demand = self._demands[unit]
        return host != demand.active and host not in self.hosts[unit] and host in demand.hosts

    def _burden(self, host: int, step: int) -> float:
        # Twice the middle of a step of load, for the size; see allotment on why floats are exact enough here.
        return (2 * self._loads[host] + step) / self._sizes[host]

    def _put(self, unit: int, host: int) -> None:
        self.hosts[unit].add(host)
        self._units_on[host][unit] = None
        self._loads[host] += 1
        self._beside[self._demands[unit].active][host] += 1

    def _take(self, unit: int, host: int) -> None:
        self.hosts[unit].remove(host)
        del self._units_on[host][unit]
        self._loads[host] -= 1
        self._beside[self._demands[unit].active][host] -= 1
