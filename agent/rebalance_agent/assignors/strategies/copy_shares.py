"""Computes how many copies every member gets if each partition goes to several members, as evenly as possible.

A member takes each partition of a topic at most once. Within this limit, the highest number of copies is as low as
possible, then the next highest, and so on; the result is exact. All numbers increase in step; a member that cannot take
one more at some point never can again (Megiddo, 1974), and the other members continue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rebalance_agent.assignors.balance.counts import NO_EXTRA
from rebalance_agent.assignors.balance.flow import Network
from rebalance_agent.assignors.roster import Roster

__all__ = ["Shares", "copies_of", "share_copies"]


@dataclass(frozen=True, slots=True)
class Shares:
    """By member: at least ``floors`` copies; ``ranks`` select those with one more, lowest first (`NO_EXTRA`: none)."""

    floors: tuple[int, ...]
    ranks: tuple[int, ...]


def copies_of(roster: Roster, redundancy: int) -> list[int]:
    """Return the number of copies of each topic's partitions: ``redundancy``, or fewer if fewer members subscribe."""
    return [min(redundancy, len(subscribers)) for subscribers in roster.subscribers]


def share_copies(roster: Roster, redundancy: int) -> Shares:
    """Return the best balance of copies, as shares that cover all ways to reach it."""
    if roster.uniform():
        return _equal_shares(roster, redundancy)
    flow = _CopyFlow(roster, redundancy)
    loads = flow.fill()
    floors, ranks = list(loads), [NO_EXTRA] * len(loads)
    for low in set(loads):
        above = [member for member, load in enumerate(loads) if load == low + 1]
        level = [member for member, load in enumerate(loads) if load == low]
        # Where one copy can be handed on from a member to another without any other change, either may have it.
        for member in (*flow.reach(above, level), *flow.reach(level, above, backwards=True)):
            floors[member] = ranks[member] = low
    return Shares(tuple(floors), tuple(ranks))


def _equal_shares(roster: Roster, redundancy: int) -> Shares:
    total = sum(map(int.__mul__, roster.partitions, copies_of(roster, redundancy)))
    entitled = set(roster.subscribers[0]) if roster.subscribers else set[int]()
    low, more = divmod(total, len(entitled) or 1)
    members = range(len(roster.members))
    return Shares(
        tuple(low if member in entitled else 0 for member in members),
        tuple(low if member in entitled and more else NO_EXTRA for member in members),
    )


class _CopyFlow:
    """Topics grouped by equal subscribers, and the flow of their copies to members."""

    def __init__(self, roster: Roster, redundancy: int) -> None:
        self._partitions: dict[tuple[int, ...], int] = {}
        for subscribers, count in zip(roster.subscribers, roster.partitions, strict=True):
            self._partitions[subscribers] = self._partitions.get(subscribers, 0) + count
        self._redundancy = redundancy
        self._members = len(roster.members)
        self._sent: dict[tuple[int, int], int] = {}

    def fill(self) -> list[int]:
        """Return each member's number of copies."""
        loads = [0] * self._members
        active = sorted({member for members in self._partitions for member in members})
        total = sum(count * min(self._redundancy, len(members)) for members, count in self._partitions.items())
        while active and sum(loads) < total:
            low, high = 0, (total - sum(loads)) // len(active)
            while low < high:
                middle = (low + high + 1) // 2
                raised = self._raised(loads, active, middle)
                low, high = (middle, high) if self._send(raised) == raised else (low, middle - 1)
            raised = self._raised(loads, active, low)
            loads = self._send(raised, active)
            active = [member for member in active if loads[member] > raised[member]]
        return loads

    @staticmethod
    def _raised(loads: Sequence[int], active: Sequence[int], step: int) -> list[int]:
        raised = list(loads)
        for member in active:
            raised[member] += step
        return raised

    def _send(self, limits: Sequence[int], one_more: Sequence[int] = ()) -> list[int]:
        """Return the most copies within ``limits``; then one more for as many members of ``one_more`` as possible."""
        first = 2 + len(self._partitions)
        network = Network(first + self._members)
        arcs = {}
        for index, (members, count) in enumerate(self._partitions.items()):
            network.add(0, 2 + index, count * min(self._redundancy, len(members)))
            for member in members:
                arcs[index, member] = network.add(2 + index, first + member, count)
        sinks = [network.add(first + member, 1, limit) for member, limit in enumerate(limits)]
        network.send(0, 1)
        # Flow at the sink stays there: sending more never lowers the flow of a saturated limit.
        extra = {member: network.add(first + member, 1, 1) for member in one_more}
        if extra:
            network.send(0, 1)
        self._sent = {key: network.sent(arc) for key, arc in arcs.items()}
        loads = [network.sent(arc) for arc in sinks]
        for member, arc in extra.items():
            loads[member] += network.sent(arc)
        return loads

    def reach(self, givers: Sequence[int], takers: Sequence[int], *, backwards: bool = False) -> list[int]:
        """Return the takers that a giver's copy could reach by being handed on; ``backwards`` reverses all arcs."""
        first = 1 + len(self._partitions)
        network = Network(first + self._members)
        for index, (members, count) in enumerate(self._partitions.items()):
            for member in members:
                ends = (first + member, 1 + index) if backwards else (1 + index, first + member)
                network.add(*ends, count, sent=self._sent[index, member])
        for member in givers:
            network.add(0, first + member, 1)
        reached = network.reachable(0)
        return [member for member in takers if reached[first + member]]
