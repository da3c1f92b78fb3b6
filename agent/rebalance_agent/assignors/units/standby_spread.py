"""Spreads standby copies over hosts: never on the active's host, as evenly as possible, and with few moves.

First every unit keeps its existing copies. Then each missing copy goes to the emptiest host. Of equally empty hosts, it
goes to the host with the fewest copies of units with the same active, so that many hosts can take over when an active
fails. Finally copies move along chains (a copy from a full host to a second host, another copy from there to an emptier
host) until no chain evens the loads further. The result is the most even spread: spreads are the integral points of a
base polyhedron, where a spread that no exchange improves is optimal. ``unit_assignment`` spreads the units left over by
rounding in the same way.

The number of steps is limited. Every chain starts at the fullest host that can give a copy, so the load of these hosts
never rises. A host that has given a copy is then never empty enough to receive one: its load first rises, then falls.
Thus there are at most as many chains as pairs of a unit and a host that may have a copy of it. If no chain from a host
evens the loads, none does so later, neither from this host nor from the hosts that its chains reach: all these hosts
are left out of later searches. Thus there is at most one search without result per host. A search visits a copy once.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
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
        # By host: the burden of its last copy, and of one more copy.
        self._last = [self._burden(host, -1) for host in range(len(sizes))]
        self._next = [self._burden(host, 1) for host in range(len(sizes))]
        # By active host: how many copies of its units each host has.
        self._beside: dict[int, list[int]] = {demand.active: [0] * len(sizes) for demand in demands}
        # By host: the units with a copy on it, in order of addition.
        self._units_on: list[dict[int, None]] = [{} for _ in sizes]
        self.hosts: list[set[int]] = [set() for _ in demands]
        # By unit: the hosts that may take one more copy, as bits of an integer, which intersect fast.
        shared = {id(demand.hosts): demand.hosts for demand in demands}
        masks = {number: _mask(hosts) for number, hosts in shared.items()}
        self._open = [masks[id(demand.hosts)] & ~_bit(demand.active) for demand in demands]
        # Hosts in the order in which they take copies in turn: those with the fewest actives come first.
        actives = Counter(demand.active for demand in demands)
        self._order = sorted(range(len(sizes)), key=lambda host: actives[host] / sizes[host])
        # Where the search for an empty host continues, and a lower bound on the loads, which only grow.
        self._turn = 0
        self._lowest = 0.0

    def keep(self) -> None:
        """Keep the best existing copies, up to the wanted number."""
        for unit, demand in enumerate(self._demands):
            able = [host for host in demand.holders if self._may_hold(unit, host)]
            for host in able[: demand.wanted]:
                self._put(unit, host)

    def fill(self) -> None:
        """Add the missing copies."""
        for unit, demand in enumerate(self._demands):
            # The hosts that may take a copy, the best first. A copy changes the rank of no other host.
            ranking: list[tuple[float, int, int]] = []
            while len(self.hosts[unit]) < demand.wanted:
                self._put(unit, self._emptiest(unit, ranking))

    def _emptiest(self, unit: int, ranking: list[tuple[float, int, int]]) -> int:
        """Return the emptiest host for a copy of ``unit``; of equals, that with fewest copies of the same active.

        ``ranking``: a heap of the possible hosts and perhaps of hosts that have a copy, or empty; it is filled here.
        """
        beside = self._beside[self._demands[unit].active]
        usual = sum(beside) // len(beside)
        while ranking and not self._may_hold(unit, self._order[ranking[0][2]]):
            heapq.heappop(ranking)
        if not ranking or (ranking[0][0] <= self._lowest and ranking[0][1] <= usual):
            seen = []
            for turn in chain(range(self._turn, len(beside)), range(self._turn)):
                host = self._order[turn]
                if not self._may_hold(unit, host):
                    continue
                seen.append((self._next[host], beside[host], turn))
                if seen[-1][0] <= self._lowest and beside[host] <= usual:
                    # No host is emptier, and this host has at most the mean number of such copies: skip the others.
                    self._turn = turn + 1
                    return host
            ranking += seen
            heapq.heapify(ranking)
        self._lowest = min(self._next)
        return self._order[heapq.heappop(ranking)[2]]

    def even_out(self) -> None:
        """Move copies along chains while there is a chain whose last host is less full than its first host."""
        movable = list(range(len(self._sizes)))
        while movable:
            full = max(movable, key=self._last.__getitem__)
            if self._last[full] <= min(self._next):
                return
            if stuck := self._relieve(full, movable):
                movable = [host for host in movable if host not in stuck]

    def _relieve(self, full: int, movable: Sequence[int]) -> Collection[int]:
        """Move a copy away from ``full`` along the shortest chain of ``movable`` hosts that evens the loads.

        Return no host if there is such a chain, or else the hosts that stay as full as they are.
        """
        limit = self._last[full]
        left = _mask(movable) ^ _bit(full)
        reached_by: dict[int, tuple[int, int]] = {}
        front = [full]
        while front:
            following: list[int] = []
            for host, unit in ((giver, unit) for giver in front for unit in reversed(self._units_on[giver])):
                reached = self._open[unit] & left
                for other in _bits(reached):
                    reached_by[other] = (host, unit)
                    following.append(other)
                left ^= reached
                if not left:
                    break
            lowest = min(map(self._next.__getitem__, following), default=limit)
            if lowest < limit:
                emptiest = min(host for host in following if self._next[host] == lowest)
                self._shift(emptiest, full, reached_by)
                return ()
            front = following
        return {full, *reached_by}

    def _shift(self, empty: int, full: int, reached_by: dict[int, tuple[int, int]]) -> None:
        host = empty
        while host != full:
            origin, unit = reached_by[host]
            self._take(unit, origin)
            self._put(unit, host)
            host = origin

    def _may_hold(self, unit: int, host: int) -> bool:
        return bool(self._open[unit] >> host & 1)

    def _burden(self, host: int, step: int) -> float:
        # Twice the middle of a step of load, per size; unit_assignment explains why floats are exact enough.
        return (2 * self._loads[host] + step) / self._sizes[host]

    def _load(self, host: int, copies: int) -> None:
        self._loads[host] += copies
        self._last[host] = self._burden(host, -1)
        self._next[host] = self._burden(host, 1)

    def _put(self, unit: int, host: int) -> None:
        self.hosts[unit].add(host)
        self._open[unit] ^= _bit(host)
        self._units_on[host][unit] = None
        self._load(host, 1)
        self._beside[self._demands[unit].active][host] += 1

    def _take(self, unit: int, host: int) -> None:
        self.hosts[unit].remove(host)
        self._open[unit] ^= _bit(host)
        del self._units_on[host][unit]
        self._load(host, -1)
        self._beside[self._demands[unit].active][host] -= 1


def _bit(host: int) -> int:
    return 0 if host == NOWHERE else 1 << host


def _mask(hosts: Collection[int]) -> int:
    return sum(map(_bit, hosts))


def _bits(mask: int) -> Iterator[int]:
    """Yield the hosts of ``mask``, ascending."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
