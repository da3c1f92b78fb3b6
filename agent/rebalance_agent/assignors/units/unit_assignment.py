"""Assigns units to hosts by a minimum-cost flow, so that balance, moves and the use of standbys are optimal.

A unit (see ``units``) goes to a *host*: a member, or a process with several members. Units have *kinds*. The criteria,
in order:

1. each host has its share of every kind, rounded up or down;
2. over all kinds, hosts are as even as the first criterion allows, in units per size;
3. as many units as possible stay where they are;
4. as many as possible of the other units go to a host that has a copy of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rebalance_agent.assignors.balance.flow import Network
from rebalance_agent.assignors.subscribers import indexes_by_value
from rebalance_agent.assignors.units.standby_spread import NOWHERE, Demand, spread_copies

__all__ = ["Unit", "assign_units"]

_SOURCE, _SINK, _FIRST = 0, 1, 2


class Unit(NamedTuple):
    """One unit: its kind, the hosts that have equal (largest) parts of the unit, and the hosts that have a copy."""

    kind: int
    owners: tuple[int, ...]
    standby_hosts: tuple[int, ...]


def assign_units(kinds: Sequence[Mapping[int, int]], sizes: Sequence[int], units: Sequence[Unit]) -> list[int]:
    """Return each unit's host.

    ``kinds``: for each kind, host -> the host's size (> 0), for hosts that may take units of this kind. ``sizes``: the
    size of every host, over all kinds. Owners and standby hosts of a unit must be among the hosts of its kind.
    """
    network = _UnitFlow(kinds, sizes, units)
    network.solve()
    return network.hosts()


class _UnitFlow:
    """The flow network. Units with equal kind, owners and standby hosts share one node."""

    def __init__(self, kinds: Sequence[Mapping[int, int]], sizes: Sequence[int], units: Sequence[Unit]) -> None:
        self._classes = indexes_by_value(units)
        self._totals = [0] * len(kinds)
        for unit, numbers in self._classes.items():
            self._totals[unit.kind] += len(numbers)
        self._count = len(units)
        self._shares = [_share(total, hosts) for total, hosts in zip(self._totals, kinds, strict=True)]
        self._sizes = sizes
        self._pools = [_FIRST + len(sizes) + kind for kind in range(len(kinds))]
        self._slots: list[dict[int, int]] = []
        nodes = self._pools[-1] + 1 if kinds else _FIRST + len(sizes)
        for hosts in kinds:
            self._slots.append({host: nodes + turn for turn, host in enumerate(hosts)})
            nodes += len(hosts)
        self._first_class = nodes
        self._network = Network(nodes + len(self._classes))
        self._direct: dict[Unit, dict[int, int]] = {}
        self._pooled: list[dict[int, int]] = []

    def solve(self) -> None:
        """Keep units on their hosts, up to each host's guaranteed share; assign the other units at minimum cost."""
        kept: list[dict[int, int]] = [dict.fromkeys(share, 0) for share in self._shares]
        # One move costs more than all unused copies together. One step of imbalance costs more than all moves together.
        move = self._count + 1
        for index, (unit, numbers) in enumerate(self._classes.items()):
            self._add_class(self._first_class + index, unit, len(numbers), kept[unit.kind], move)
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
        for standby_host in unit.standby_hosts:
            if standby_host not in direct:
                direct[standby_host] = network.add(node, slots[standby_host], count, cost=move)
        network.add(node, self._pools[unit.kind], count, cost=move + 1)
        network.add(_SOURCE, node, count, sent=count - left)

    def _add_shares(self, kept: Sequence[Mapping[int, int]], outweigh: int) -> None:
        network = self._network
        loads = [0] * len(self._sizes)
        for kind, share in enumerate(self._shares):
            arcs = {}
            for host, (sure, more) in share.items():
                slot = self._slots[kind][host]
                arcs[host] = network.add(self._pools[kind], slot, self._count)
                network.add(slot, _SINK, sure, sent=kept[kind][host])
                loads[host] += sure
                if more:
                    network.add(slot, _FIRST + host, 1)
            self._pooled.append(arcs)
        # One more unit on a host costs the growth of the host's squared load over size. The total is lowest when loads
        # are as even as possible. Between two most even spreads, a host's load differs by at most one, so with one such
        # spread known, only two steps of each host have to be considered. Only the order of costs matters.
        steps = []
        for host, extras in enumerate(self._even_extras(loads)):
            if extras:
                network.add(_FIRST + host, _SINK, extras - 1, cost=outweigh)
                steps.append((_burden(loads[host] + extras - 1, self._sizes[host]), host))
            steps.append((_burden(loads[host] + extras, self._sizes[host]), host))
        order = {burden: rank for rank, burden in enumerate(sorted({burden for burden, _ in steps}), start=2)}
        for burden, host in steps:
            network.add(_FIRST + host, _SINK, 1, cost=order[burden] * outweigh)

    def _even_extras(self, loads: Sequence[int]) -> list[int]:
        """Return how many units beyond its guaranteed ``loads`` each host has in one of the most even spreads."""
        demands = []
        for total, share in zip(self._totals, self._shares, strict=True):
            rest = total - sum(sure for sure, _ in share.values())
            able = {host: None for host, (_, more) in share.items() if more}
            demands.append(Demand(rest, NOWHERE, able, ()))
        spread = Counter(host for hosts in spread_copies(demands, self._sizes, loads) for host in hosts)
        return [spread[host] for host in range(len(self._sizes))]

    def hosts(self) -> list[int]:
        """Read the flow: the first units of a class stay or go to standby hosts; the others go to hosts in turn."""
        result = [-1] * self._count
        pools: list[list[int]] = [[] for _ in self._pools]
        for unit, numbers in self._classes.items():
            start = 0
            for host, arc in self._direct[unit].items():
                end = start + self._network.sent(arc)
                for number in numbers[start:end]:
                    result[number] = host
                start = end
            pools[unit.kind] += numbers[start:]
        for numbers, arcs in zip(pools, self._pooled, strict=True):
            shares = {host: share for host, arc in arcs.items() if (share := self._network.sent(arc))}
            for number, host in zip(sorted(numbers), _in_turn(shares), strict=True):
                result[number] = host
        return result


def _share(units: int, hosts: Mapping[int, int]) -> dict[int, tuple[int, bool]]:
    """Return host -> the host's share of ``units``, rounded down, and whether the host may have one more unit."""
    whole = sum(hosts.values())
    return {host: (units * size // whole, units * size % whole > 0) for host, size in hosts.items()}


def _burden(load: int, size: int) -> float:
    # Division rounds correctly: equal quotients of integers are equal floats; unequal quotients of this size differ.
    return (2 * load + 1) / size


def _in_turn(shares: Mapping[int, int]) -> list[int]:
    turns: list[int] = []
    left = dict(shares)
    while left:
        turns += left
        left = {host: share - 1 for host, share in left.items() if share > 1}
    return turns
