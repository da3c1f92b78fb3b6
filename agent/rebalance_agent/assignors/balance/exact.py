"""Searches for the best placement as a cheapest flow: slower than `draft`, but always finds the optimum.

Topics send their partitions to members. Each partition that stays earns 1, each partition above a member's floor costs
the member's rank, and balance outweighs any number of moves.
"""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_agent.assignors.balance.counts import NO_EXTRA, Placement
from rebalance_agent.assignors.balance.draft import deal_gaps
from rebalance_agent.assignors.balance.flow import Network
from rebalance_agent.assignors.roster import Roster

__all__ = ["cheapest_flow"]

_SOURCE, _SINK, _TOPICS = 0, 1, 2


def cheapest_flow(roster: Roster, floors: Sequence[int], ranks: Sequence[int], unassigned: int = 0) -> Placement | None:
    """Place all but ``unassigned`` partitions; None if floors and ranks cannot be met.

    The initial flow keeps what members own and deals the gaps greedily, which is the cheapest flow of this size. The
    search then moves only what must move.
    """
    owned = [
        {member: len(topic_ownership.owned[member]) for member in sorted(topic_ownership.owned)}
        for topic_ownership in roster.ownership
    ]
    loads = roster.owned_counts()
    lacking = [low - load for low, load in zip(floors, loads, strict=True)]
    dealt: list[dict[int, int]] = [{} for _ in owned]
    for topic, takers in deal_gaps(roster.subscribers, list(map(len, roster.ownership_index.gaps)), lacking).items():
        for member in takers:
            dealt[topic][member] = dealt[topic].get(member, 0) + 1
    network = Network(_TOPICS + len(owned) + len(loads) + 1)
    first_member = _TOPICS + len(owned)
    kept_arcs: list[dict[int, int]] = []
    new_arcs: list[dict[int, int]] = []
    for topic, (count, members) in enumerate(zip(roster.partitions, roster.subscribers, strict=True)):
        keeps, gains, node = owned[topic], dealt[topic], _TOPICS + topic
        network.add(_SOURCE, node, count, sent=sum(keeps.values()) + sum(gains.values()))
        kept_arcs.append({m: network.add(node, first_member + m, n, cost=-1, sent=n) for m, n in keeps.items()})
        new_arcs.append({m: network.add(node, first_member + m, count, sent=gains.get(m, 0)) for m in members})
        if unassigned:
            network.add(node, first_member + len(loads), count)
    outweigh = sum(loads) + 1
    for member, (lack, low, rank) in enumerate(zip(lacking, floors, ranks, strict=True)):
        node, load = first_member + member, low - lack
        network.add(node, _SINK, low, sent=min(load, low))
        if rank != NO_EXTRA:
            network.add(node, _SINK, 1, cost=(rank + 1) * outweigh)
        if load > low:
            network.add(_SOURCE, node, load - low)
    if unassigned:
        network.add(first_member + len(loads), _SINK, unassigned)
    network.send_cheapest(_SOURCE, _SINK)
    if any(network.residual[arc] for arc in network.arcs[_SOURCE]):
        return None
    return _read(roster, network, kept_arcs, new_arcs)


def _read(
    roster: Roster, network: Network, kept_arcs: Sequence[dict[int, int]], new_arcs: Sequence[dict[int, int]]
) -> Placement:
    losses = [{m: network.residual[arc] for m, arc in arcs.items() if network.residual[arc]} for arcs in kept_arcs]
    gains = [[m for m, arc in arcs.items() for _ in range(network.sent(arc))] for arcs in new_arcs]
    loads = roster.owned_counts()
    for gained, lost in zip(gains, losses, strict=True):
        for member in gained:
            loads[member] += 1
        for member, count in lost.items():
            loads[member] -= count
    return Placement(roster.ownership_index, gains, losses, loads)
