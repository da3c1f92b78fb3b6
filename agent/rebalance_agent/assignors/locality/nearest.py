"""Deals partitions with the exact least cost of balance, misses and moves.

A miss is a partition whose owner's rack has no replica of it, or whose owner lacks labels that its topic prefers (see
``locality``). Partitions with equal preferences differ only in their owners, and members of one kind differ only in
what they own. One cheapest flow decides: preferences send their partitions to present owners, or to kinds of members
and from there to any member of the kind. Balance outweighs any number of misses and moves, and one miss outweighs any
number of moves, or the reverse.
"""

from __future__ import annotations

from typing import NamedTuple

from rebalance_agent.assignors.balance.counts import NO_EXTRA
from rebalance_agent.assignors.balance.flow import Network
from rebalance_agent.assignors.balance.promise import Promise
from rebalance_agent.assignors.locality.even_deal import deal_evenly, keep_evenly
from rebalance_agent.assignors.locality.locality import Locality, Preference
from rebalance_agent.assignors.roster import Plan, Roster
from rebalance_agent.assignors.subscribers import indexes_by_value
from rebalance_agent.model.partitions import topic_partitions

__all__ = ["deal_nearest"]

_Partition = tuple[str, int]
_SOURCE, _SINK, _FIRST = 0, 1, 2
_MISSES_MAX = 2
"""Highest number of misses of one partition: racks and labels."""


def deal_nearest(roster: Roster, locality: Locality, promise: Promise, *, moves_first: bool) -> Plan:
    """Return the plan that keeps ``promise`` with the fewest misses, then moves; ``moves_first``: reversed order.

    With ``moves_first``, the number of moves stays minimal: racks decide only which partitions move, and where these
    and partitions without an owner go.
    """
    pools = _pools(roster, locality)
    return _deal(roster, pools, locality, _cheapest(pools, locality, promise, moves_first=moves_first))


class _Pool:
    """The partitions of one preference by owner (None: no owner). Topics are in order, their partitions ascend."""

    def __init__(self) -> None:
        self.owned: dict[int | None, list[_Partition]] = {}
        self.size = 0


class _Flow(NamedTuple):
    """The cheapest flow, by indexes of preferences, kinds and members."""

    kept: dict[tuple[int, int], int]  # (preference, member) -> partitions that stay
    sent: dict[tuple[int, int], int]  # (preference, kind) -> partitions that go to members of the kind
    gained: dict[int, int]  # member -> partitions that are new to it


def _pools(roster: Roster, locality: Locality) -> dict[Preference, _Pool]:
    pools: dict[Preference, _Pool] = {}
    for topic, preferences, ownership in zip(roster.topics, locality.preferences, roster.ownership, strict=True):
        owners = {number: member for member, numbers in ownership.owned.items() for number in numbers}
        pool_of = {id(preference): pools.setdefault(preference, _Pool()) for preference in dict.fromkeys(preferences)}
        for number, preference in enumerate(preferences):
            pool = pool_of[id(preference)]
            pool.owned.setdefault(owners.get(number), []).append((topic, number))
            pool.size += 1
    return pools


def _cheapest(pools: dict[Preference, _Pool], locality: Locality, promise: Promise, *, moves_first: bool) -> _Flow:
    """Send every partition to a member, at the least total cost."""
    kinds = indexes_by_value(locality.kinds)
    total = sum(pool.size for pool in pools.values())
    per_miss, per_move = (1, _MISSES_MAX * total + 1) if moves_first else (total + 1, 1)
    outweigh = _MISSES_MAX * total * per_miss + total * per_move + 1
    first_kind = _FIRST + len(pools)
    first_member = first_kind + len(kinds)
    network = Network(first_member + len(locality.kinds))
    kept: dict[tuple[int, int], int] = {}
    sent: dict[tuple[int, int], int] = {}
    for index, (preference, pool) in enumerate(pools.items()):
        network.add(_SOURCE, _FIRST + index, pool.size)
        entitled = set(preference.subscribers)
        for member, partitions in pool.owned.items():
            if member is not None:
                cost = locality.kinds[member].misses(preference) * per_miss
                kept[index, member] = network.add(_FIRST + index, first_member + member, len(partitions), cost)
        for kind_index, (kind, members) in enumerate(kinds.items()):
            if members[0] in entitled:
                cost = kind.misses(preference) * per_miss + per_move
                sent[index, kind_index] = network.add(_FIRST + index, first_kind + kind_index, pool.size, cost)
    gained: dict[int, int] = {}
    for kind_index, members in enumerate(kinds.values()):
        for member in members:
            gained[member] = network.add(first_kind + kind_index, first_member + member, total)
    for member, (floor, rank) in enumerate(zip(promise.floors, promise.ranks, strict=True)):
        network.add(first_member + member, _SINK, floor)
        if rank != NO_EXTRA:
            network.add(first_member + member, _SINK, 1, (rank + 1) * outweigh)
    network.send_cheapest(_SOURCE, _SINK)
    return _Flow(
        {key: network.sent(arc) for key, arc in kept.items()},
        {key: network.sent(arc) for key, arc in sent.items()},
        {member: network.sent(arc) for member, arc in gained.items()},
    )


def _deal(roster: Roster, pools: dict[Preference, _Pool], locality: Locality, flow: _Flow) -> Plan:
    """Pick the partitions, so that those of one topic spread over many members.

    A partition that leaves its owner cannot return to this owner, because to keep it would have been cheaper.
    """
    kinds = indexes_by_value(locality.kinds)
    given: list[list[_Partition]] = [[] for _ in roster.members]
    arrivals: list[list[_Partition]] = [[] for _ in kinds]
    for index, pool in enumerate(pools.values()):
        loose = list(pool.owned.get(None, ()))
        for member, partitions in pool.owned.items():
            if member is not None:
                stay, leave = keep_evenly(partitions, flow.kept[index, member])
                given[member] += stay
                loose += leave
        shares = {kind: flow.sent.get((index, kind), 0) for kind in range(len(kinds))}
        for kind, partitions_dealt in deal_evenly(sorted(loose), shares).items():
            arrivals[kind] += partitions_dealt
    for members, partitions_dealt in zip(kinds.values(), arrivals, strict=True):
        for member, gained in deal_evenly(
            sorted(partitions_dealt), {member: flow.gained[member] for member in members}
        ).items():
            given[member] += gained
    return list(map(topic_partitions, given))
