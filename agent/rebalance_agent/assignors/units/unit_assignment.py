"""Who takes which unit: a cheapest flow, so that balance, moves and the use of standbys are exact, in this order.

A unit (see ``units``) goes to a *place*: a member, or a process with several. Units are of *kinds*. What is best:

1. of every kind, each place has its share, rounded up or down;
2. over all kinds, places are as even as that allows, in units for their size;
3. as many units as possible stay where they are;
4. of those that do not, as many as possible go where a copy of them is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rebalance_agent.assignors.balance.flow import Network
from rebalance_agent.assignors.units.standby_spread import NOWHERE, Demand, spread_copies

__all__ = ["Unit", "allot"]

_SOURCE, _SINK, _FIRST = 0, 1, 2


class Unit(NamedTuple):
    """One unit: its kind, the places that have (equally much of) it, and those that hold a copy of it."""

    kind: int
    owners: tuple[int, ...]
    heirs: tuple[int, ...]


def allot(kinds: Sequence[Mapping[int, int]], sizes: Sequence[int], units: Sequence[Unit]) -> list[int]:
    """Each unit's place.

    ``kinds``: which places may take units of a kind, with the size that each counts with there (> 0). ``sizes``: of
    every place, over all kinds. Owners and heirs of a unit are places of its kind.
    """
    network = _Allotment(kinds, sizes, units)
    network.solve()
    return network.places()


class _Allotment:
    """Units of one kind, owners and heirs are interchangeable: a node for each such class, not for each unit."""

    def __init__(self, kinds: Sequence[Mapping[int, int]], sizes: Sequence[int], units: Sequence[Unit]) -> None:
        self._classes: dict[Unit, list[int]] = {}
        for number, unit in enumerate(units):
            self._classes.setdefault(unit, []).append(number)
        self._totals = [0] * len(kinds)
        for unit, numbers in self._classes.items():
            self._totals[unit.kind] += len(numbers)
        self._count = len(units)
        self._shares = [_share(total, places) for total, places in zip(self._totals, kinds, strict=True)]
        self._sizes = sizes
        self._pools = [_FIRST + len(sizes) + kind for kind in range(len(kinds))]
        self._slots: list[dict[int, int]] = []
        nodes = self._pools[-1] + 1 if kinds else _FIRST + len(sizes)
        for places in kinds:
            self._slots.append({place: nodes + turn for turn, place in enumerate(places)})
            nodes += len(places)
        self._first_class = nodes
        self._network = Network(nodes + len(self._classes))
        self._direct: dict[Unit, dict[int, int]] = {}
        self._pooled: list[dict[int, int]] = []

    def solve(self) -> None:
        """Begin with everybody keeping what they have up to their sure share, then send the rest the cheapest way."""
        kept: list[dict[int, int]] = [dict.fromkeys(share, 0) for share in self._shares]
        # A move costs more than all copies that go unused, and balance more than all moves.
        move = self._count + 1
        for place, (unit, numbers) in enumerate(self._classes.items()):
            self._add_class(self._first_class + place, unit, len(numbers), kept[unit.kind], move)
        self._add_shares(kept, outweigh=self._count * (move + 1) + 1)
        self._network.send_cheapest(_SOURCE, _SINK)

    def _add_class(self, node: int, unit: Unit, count: int, kept: dict[int, int], move: int) -> None:
        network, slots, share = self._network, self._slots[unit.kind], self._shares[unit.kind]
        left = count
        direct = self._direct[unit] = {}
        for owner in unit.owners:
            stays = min(left, share[owner][0] - kept[owner])
            kept[owner] += stays
            left -= stays
            direct[owner] = network.add(node, slots[owner], count, sent=stays)
        for heir in unit.heirs:
            if heir not in direct:
                direct[heir] = network.add(node, slots[heir], count, cost=move)
        network.add(node, self._pools[unit.kind], count, cost=move + 1)
        network.add(_SOURCE, node, count, sent=count - left)

    def _add_shares(self, kept: Sequence[Mapping[int, int]], outweigh: int) -> None:
        network = self._network
        loads = [0] * len(self._sizes)
        for kind, share in enumerate(self._shares):
            arcs = {}
            for place, (sure, more) in share.items():
                slot = self._slots[kind][place]
                arcs[place] = network.add(self._pools[kind], slot, self._count)
                network.add(slot, _SINK, sure, sent=kept[kind][place])
                loads[place] += sure
                if more:
                    network.add(slot, _FIRST + place, 1)
            self._pooled.append(arcs)
        # What one more unit costs a place: the growth of load squared over size, which is least in total when loads are
        # as even as they can be. Of two most even ways, a place has at most one more in one than in the other, so that
        # with one of them known, only two steps of each place are in question. Only the order of costs matters.
        steps = []
        for place, extras in enumerate(self._even_extras(loads)):
            if extras:
                network.add(_FIRST + place, _SINK, extras - 1, cost=outweigh)
                steps.append((_burden(loads[place] + extras - 1, self._sizes[place]), place))
            steps.append((_burden(loads[place] + extras, self._sizes[place]), place))
        order = {burden: rank for rank, burden in enumerate(sorted({burden for burden, _ in steps}), start=2)}
        for burden, place in steps:
            network.add(_FIRST + place, _SINK, 1, cost=order[burden] * outweigh)

    def _even_extras(self, loads: Sequence[int]) -> list[int]:
        """How many units beyond its sure ``loads`` each place has in one of the most even ways."""
        demands = []
        for total, share in zip(self._totals, self._shares, strict=True):
            rest = total - sum(sure for sure, _ in share.values())
            able = {place: None for place, (_, more) in share.items() if more}
            demands.append(Demand(rest, NOWHERE, able, ()))
        spread = Counter(place for places in spread_copies(demands, self._sizes, loads) for place in places)
        return [spread[place] for place in range(len(self._sizes))]

    def places(self) -> list[int]:
        """Read the flow: the first units of a class stay or go to heirs, the others are dealt in turn."""
        result = [-1] * self._count
        pools: list[list[int]] = [[] for _ in self._pools]
        for unit, numbers in self._classes.items():
            start = 0
            for place, arc in self._direct[unit].items():
                end = start + self._network.sent(arc)
                for number in numbers[start:end]:
                    result[number] = place
                start = end
            pools[unit.kind] += numbers[start:]
        for numbers, arcs in zip(pools, self._pooled, strict=True):
            rooms = {place: room for place, arc in arcs.items() if (room := self._network.sent(arc))}
            for number, place in zip(sorted(numbers), _in_turn(rooms), strict=True):
                result[number] = place
        return result


def _share(units: int, places: Mapping[int, int]) -> dict[int, tuple[int, bool]]:
    """Place -> its share of ``units``, rounded down, and whether it may have one more."""
    whole = sum(places.values())
    return {place: (units * size // whole, units * size % whole > 0) for place, size in places.items()}


def _burden(load: int, size: int) -> float:
    # Division rounds correctly: equal quotients of whole numbers are equal floats, unequal ones of this size are not.
    return (2 * load + 1) / size


def _in_turn(rooms: Mapping[int, int]) -> list[int]:
    turns: list[int] = []
    left = dict(rooms)
    while left:
        turns += left
        left = {place: room - 1 for place, room in left.items() if room > 1}
    return turns
