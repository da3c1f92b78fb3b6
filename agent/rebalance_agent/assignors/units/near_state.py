"""Keeps units near their state while other hosts build copies; later, units move to these copies for the best balance.

In the best balance, some units would go to a host without their state. Such a unit waits with its owner, or else on a
host that has a copy. Waiting units are spread as evenly as possible. The host to which a unit will move builds a copy.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

from rebalance_agent.assignors.units.standby_spread import NOWHERE, Demand, spread_copies
from rebalance_agent.assignors.units.unit_assignment import Unit

__all__ = ["host_limits", "near_state"]


def near_state(
    units: Sequence[Unit], best: Sequence[int], sizes: Sequence[int], limits: Sequence[int], stateful: Sequence[bool]
) -> list[int]:
    """Return each unit's host: the unit's host in the ``best`` balance, or a host that has the unit's state.

    ``limits``: the maximum number of units of each host, at least its number in ``best``. ``stateful``: for each kind,
    whether the kind's units have copies; units without copies do not wait.
    """
    hosts = list(best)
    waiting = {
        index: unit.owners or unit.standby_hosts
        for index, (unit, host) in enumerate(zip(units, best, strict=True))
        if stateful[unit.kind] and (near := unit.owners + unit.standby_hosts) and host not in near
    }
    if not waiting:
        return hosts
    loads = Counter(best)
    loads.subtract(best[index] for index in waiting)
    demands = [Demand(1, NOWHERE, dict.fromkeys(near), ()) for near in waiting.values()]
    others = [loads[host] for host in range(len(sizes))]
    for index, (host,) in zip(waiting, spread_copies(demands, sizes, others), strict=True):
        hosts[index] = host
    _keep_limits(units, best, hosts, waiting, limits)
    return hosts


def _keep_limits(
    units: Sequence[Unit], best: Sequence[int], hosts: list[int], waiting: Mapping[int, object], limits: Sequence[int]
) -> None:
    """Move waiting units from hosts above their limits to the units' best hosts; units without owner move first."""
    loads = Counter(hosts)
    waiting_on: dict[int, list[int]] = {}
    for index in sorted(waiting, key=lambda index: (not units[index].owners, -index)):
        waiting_on.setdefault(hosts[index], []).append(index)
    above = [host for host in waiting_on if loads[host] > limits[host]]
    while above:
        host = above.pop()
        # Units that do not wait are at most as many as the host has in the best balance.
        while loads[host] > limits[host]:
            index = waiting_on[host].pop()
            hosts[index] = best[index]
            loads[host] -= 1
            loads[best[index]] += 1
            above.append(best[index])


def host_limits(
    kinds: Sequence[Mapping[int, int]], units: Sequence[Unit], best: Sequence[int], hosts: int, factor: float
) -> list[int]:
    """Return for each host: ``factor`` times its share of the units, rounded up; at least its number in ``best``.

    ``kinds``: host -> size of the host; see `assign_units`.
    """
    totals = Counter(unit.kind for unit in units)
    shares = [Fraction(0)] * hosts
    for kind, host_sizes in enumerate(kinds):
        whole = sum(host_sizes.values())
        for host, size in host_sizes.items():
            shares[host] += Fraction(totals[kind] * size, whole)
    exact = Fraction(str(factor))  # as written in decimal, not as rounded in binary
    loads = Counter(best)
    return [max(loads[host], math.ceil(exact * share)) for host, share in enumerate(shares)]
