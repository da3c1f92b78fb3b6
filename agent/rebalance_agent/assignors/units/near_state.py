"""Keeps units near their state while other hosts build copies; later moves to these copies reach the best balance.

Given a best balance, units that would go to a host without their state wait, with their owner or else on a host that
has a copy, spread as evenly as possible. The host to which they will move builds a copy.
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
    """Return each unit's host: that of the ``best`` balance, or one that has its state.

    ``limits``: the most units of each host, at least those that it has in ``best``. ``stateful`` by kind: whether its
    units have copies; others do not wait.
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
    """Send units that wait on a host above its limit to their best host: first those without owner."""
    loads = Counter(hosts)
    waiting_on: dict[int, list[int]] = {}
    for index in sorted(waiting, key=lambda index: (not units[index].owners, -index)):
        waiting_on.setdefault(hosts[index], []).append(index)
    above = [host for host in waiting_on if loads[host] > limits[host]]
    while above:
        host = above.pop()
        # Those that remain without these are at most what the host has in the best balance.
        while loads[host] > limits[host]:
            index = waiting_on[host].pop()
            hosts[index] = best[index]
            loads[host] -= 1
            loads[best[index]] += 1
            above.append(best[index])


def host_limits(
    kinds: Sequence[Mapping[int, int]], units: Sequence[Unit], best: Sequence[int], hosts: int, factor: float
) -> list[int]:
    """Return ``factor`` times each host's share of the units, rounded up, by host; at least what it has in ``best``.

    ``kinds``: host -> its size, as in `assign_units`.
    """
    totals = Counter(unit.kind for unit in units)
    shares = [Fraction(0)] * hosts
    for kind, host_sizes in enumerate(kinds):
        whole = sum(host_sizes.values())
        for host, size in host_sizes.items():
            shares[host] += Fraction(totals[kind] * size, whole)
    exact = Fraction(str(factor))  # as it was written, not as binary rounds it
    loads = Counter(best)
    return [max(loads[host], math.ceil(exact * share)) for host, share in enumerate(shares)]
