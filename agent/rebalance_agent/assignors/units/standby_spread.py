"""Spreads standby copies over hosts: never on the active's host, as evenly as possible, and with few moves.

First every unit keeps its existing copies. Then each missing copy goes to the emptiest host. Of equally empty hosts, it
goes to the host with the fewest copies of units with the same active, so that many hosts can take over when an active
fails. Finally copies move along chains (a copy from a full host to a second host, another copy from there to an emptier
host) until no chain evens the loads further. The result is the most even spread: spreads are the integral points of a
base polyhedron, where a spread that no exchange improves is optimal. ``unit_assignment`` spreads the units left over by
rounding in the same way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import chain
from math import inf
from typing import NamedTuple

__all__ = ["NOWHERE", "Demand", "spread_copies"]

NOWHERE = -1
"""The value of `Demand.active` for a unit without an active host."""


class Demand(NamedTuple):
    """The ``wanted`` copies of one unit; ``hosts``: may take a copy; ``holders``: have a copy, the best first.

    ``active``: the host of the unit's active. At least ``wanted`` of the ``hosts`` are not ``active``.
    """

    wanted: int
    active: int
    hosts: Collection[int]
    holders: Sequence[int]


def spread_copies(demands: Sequence[Demand], sizes: Sequence[int], loads: Sequence[int] = ()) -> list[tuple[int, ...]]:
    """Return the hosts of each unit's copies, ascending. Hosts are loaded in proportion to their ``sizes``.

    ``loads``: the number of units or copies that every host already has.
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
        # By active host: how many copies of its units each host has.
        self._beside: dict[int, list[int]] = {demand.active: [0] * len(sizes) for demand in demands}
        # By host: the units with a copy on it, in order of addition.
        self._units_on: list[dict[int, None]] = [{} for _ in sizes]
        self.hosts: list[set[int]] = [set() for _ in demands]
        # Hosts in the order in which they take copies in turn: those with the fewest actives come first.
        actives = Counter(demand.active for demand in demands)
        self._order = sorted(range(len(sizes)), key=lambda host: actives[host] / sizes[host])
        # Where the search for an empty host continues, and a lower bound on the loads, which only grow.
        self._turn = 0
        self._lowest = 0.0

    def keep(self) -> None:
        """Keep the best existing copies, up to the wanted number."""
        for unit, demand in enumerate(self._demands):
            able = [host for host in demand.holders if host != demand.active and host in demand.hosts]
            for host in able[: demand.wanted]:
                self._put(unit, host)

    def fill(self) -> None:
        """Add the missing copies."""
        for unit, demand in enumerate(self._demands):
            while len(self.hosts[unit]) < demand.wanted:
                self._put(unit, self._emptiest(unit))

    def _emptiest(self, unit: int) -> int:
        """Return the emptiest host for a copy of ``unit``; of equals, that with fewest copies of the same active."""
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
                # No host is emptier, and this host has at most the mean number of such copies: skip the others.
                self._turn = turn + 1
                return host
        self._lowest = min(self._burden(host, 1) for host in range(len(beside)))
        return self._order[best[2]]

    def even_out(self) -> None:
        """Move copies along chains while there is a chain whose last host is less full than its first host."""
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
        """Move a copy away from ``full`` along the shortest chain that evens the loads; return whether there is one."""
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
        # Twice the middle of a step of load, per size; unit_assignment explains why floats are exact enough.
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
