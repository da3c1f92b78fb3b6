"""How many partitions of each topic every member gets: the promise kept, with as many kept in place as that allows.

Partitions of one topic are interchangeable but for who owned them, so all is decided on counts. Where subscriptions are
equal it is arithmetic. Where they differ it is a cheapest flow: topics send their partitions to members; each kept one
earns 1, each one above a member's floor costs its rank, and balance outweighs any number of moves. That is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rebalance_agent.assignors.flow import Network
from rebalance_agent.assignors.promise import NO_EXTRA, Promise
from rebalance_agent.assignors.roster import Roster

__all__ = ["Placement", "best", "fill", "place"]

_SOURCE, _SINK, _TOPICS = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Placement:
    """``counts`` by topic: member -> (partitions it keeps, partitions that are new to it). ``loads`` by member."""

    counts: tuple[dict[int, tuple[int, int]], ...]
    loads: tuple[int, ...]

    @property
    def kept(self) -> int:
        """How many partitions stay with their owner."""
        return sum(kept for topic in self.counts for kept, _ in topic.values())


def fill(promise: Promise, owned: Sequence[int], partitions: int) -> tuple[int, ...]:
    """Each member's load where subscriptions are equal: ranks decide, then who owns it already, then member order."""
    loads = list(promise.floors)
    rivals = [member for member, rank in enumerate(promise.ranks) if rank != NO_EXTRA]
    rivals.sort(key=lambda member: (promise.ranks[member], owned[member] <= loads[member]))
    for member in rivals[: partitions - sum(loads)]:
        loads[member] += 1
    return tuple(loads)


def place(roster: Roster, floors: Sequence[int], ranks: Sequence[int], unassigned: int = 0) -> Placement | None:
    """Place all but ``unassigned`` partitions; None when floors and ranks cannot be met.

    Begins with everybody keeping what they own and the gaps dealt greedily, which is cheapest for what it places; the
    flow then moves only what must move.
    """
    owned = [{member: len(numbers) for member, numbers in topic.owned.items()} for topic in roster.ownership]
    loads = roster.owned_counts()
    dealt = _deal_gaps(roster, owned, loads, floors)
    network = Network(_TOPICS + len(owned) + len(loads) + 1)
    first_member = _TOPICS + len(owned)
    kept_arcs: list[dict[int, int]] = []
    new_arcs: list[dict[int, int]] = []
    for topic, (count, places) in enumerate(zip(roster.partitions, roster.subscribers, strict=True)):
        keeps, gains, node = owned[topic], dealt[topic], _TOPICS + topic
        network.add(_SOURCE, node, count, sent=sum(keeps.values()) + sum(gains.values()))
        kept_arcs.append({m: network.add(node, first_member + m, n, cost=-1, sent=n) for m, n in keeps.items()})
        new_arcs.append({m: network.add(node, first_member + m, count, sent=gains.get(m, 0)) for m in places})
        if unassigned:
            network.add(node, first_member + len(loads), count)
    outweigh = sum(loads) + 1
    for member, (load, low, rank) in enumerate(zip(_with(loads, dealt), floors, ranks, strict=True)):
        node = first_member + member
        network.add(node, _SINK, low, sent=min(load, low))
        if rank != NO_EXTRA:
            network.add(node, _SINK, 1, cost=(rank + 1) * outweigh)
        if load > low:
            network.add(_SOURCE, node, load - low)
    if unassigned:
        network.add(first_member + len(loads), _SINK, unassigned)
    network.send_cheapest(_SOURCE, _SINK)
    if any(network.room[arc] for arc in network.arcs[_SOURCE]):
        return None
    counts = tuple(
        {m: (network.sent(kept[m]) if m in kept else 0, network.sent(arc)) for m, arc in new.items()}
        for kept, new in zip(kept_arcs, new_arcs, strict=True)
    )
    final = [0] * len(loads)
    for topic_counts in counts:
        for member, (kept, new) in topic_counts.items():
            final[member] += kept + new
    return Placement(counts, tuple(final))


def _with(loads: Sequence[int], dealt: Sequence[dict[int, int]]) -> list[int]:
    total = list(loads)
    for gains in dealt:
        for member, gained in gains.items():
            total[member] += gained
    return total


def _deal_gaps(
    roster: Roster, owned: Sequence[dict[int, int]], loads: Sequence[int], floors: Sequence[int]
) -> list[dict[int, int]]:
    """Give unowned partitions to the subscribers furthest below their floor; topics with few subscribers first."""
    lacking = [low - load for low, load in zip(floors, loads, strict=True)]
    dealt: list[dict[int, int]] = [{} for _ in owned]
    partitions = roster.partitions
    for topic in sorted(range(len(owned)), key=lambda topic: len(roster.subscribers[topic])):
        gaps = partitions[topic] - sum(owned[topic].values())
        while gaps:
            # One to each in a round, so that a topic has many owners.
            able = [member for member in roster.subscribers[topic] if lacking[member] > 0]
            if not able:
                break
            able.sort(key=lambda member: -lacking[member])
            for member in able[:gaps]:
                dealt[topic][member] = dealt[topic].get(member, 0) + 1
                lacking[member] -= 1
            gaps -= len(able[:gaps])
    return dealt


def best(roster: Roster, promise: Promise) -> tuple[tuple[int, ...], int] | None:
    """Loads that keep ``promise``, and how many partitions can then stay in place; None if it cannot be kept."""
    if roster.uniform():
        owned = roster.owned_counts()
        loads = fill(promise, owned, sum(roster.partitions))
        return loads, sum(map(min, owned, loads))
    placement = place(roster, promise.floors, promise.ranks)
    return None if placement is None else (placement.loads, placement.kept)
