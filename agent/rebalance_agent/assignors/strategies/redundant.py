"""``redundant`` assigns every partition to several members, in different racks if racks are known.

Copies are spread as evenly as subscriptions allow (`share_copies`); among all such ways, one is chosen in which the
fewest copies share a rack with another copy of their partition, and then the fewest copies are new to their member. One
cheapest flow decides: partitions with equal subscribers and equal current holders form a group, which sends its copies
to racks and on to members, at most as many to a member as the group has partitions. In order of racks and members, the
copies are then dealt around the group's partitions: no member gets a partition twice, and no rack gets a second copy of
a partition before it has a copy of every partition.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rebalance_agent.assignors.balance.counts import NO_EXTRA
from rebalance_agent.assignors.balance.flow import Network
from rebalance_agent.assignors.balance.promise import Promise
from rebalance_agent.assignors.replay_limits import ReplayLimits
from rebalance_agent.assignors.roster import Plan, Roster
from rebalance_agent.assignors.strategies.copy_shares import Shares, copies_of, share_copies
from rebalance_agent.assignors.strategy import Strategy
from rebalance_agent.assignors.strategy_settings import whole_number
from rebalance_agent.groupprotocol.user_data import decode_sticky, encode_sticky
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.partitions import topic_partitions

__all__ = ["REDUNDANCY", "REDUNDANT", "promise_redundant", "redundancy", "redundant"]

REDUNDANCY_MAX = 1000
"""Maximum number of members that get one partition; in larger groups not every member gets every partition."""

REDUNDANCY = whole_number(
    name="assignment.redundancy",
    default=2,
    minimum=1,
    maximum=REDUNDANCY_MAX,
    meaning="number of members that get each partition; all its subscribers if there are fewer",
    shared=True,
)

_SOURCE, _SINK, _FIRST = 0, 1, 2


@dataclass(slots=True)
class _Alike:
    """Partitions (number, topic) with the same subscribers and holders, and the number of copies of each."""

    subscribers: tuple[int, ...]
    holders: tuple[int, ...]
    copies: int
    partitions: list[tuple[int, str]] = field(default_factory=list)


def redundancy(roster: Roster) -> int:
    """Return the number of members that get each partition."""
    return roster.shared_by_all(REDUNDANCY)


def redundant(roster: Roster) -> Plan:
    """Return the plan with the best balance of copies, then the fewest in shared racks, then the fewest new."""
    groups = _groups(roster)
    racks = _racks(roster)
    given: list[list[tuple[str, int]]] = [[] for _ in roster.members]
    for group, counts in zip(groups, _cheapest(groups, racks, share_copies(roster, redundancy(roster))), strict=True):
        # Neighbours are of different topics, so that a member's copies are of different topics.
        group.partitions.sort()
        turn = 0
        for member in sorted(counts, key=lambda member: (racks[member], member)):
            for slot in range(turn, turn + counts[member]):
                number, topic = group.partitions[slot % len(group.partitions)]
                given[member].append((topic, number))
            turn += counts[member]
    return list(map(topic_partitions, given))


def promise_redundant(roster: Roster) -> Promise:
    """Return the most copies that each member has in a best balance."""
    shares = share_copies(roster, redundancy(roster))
    # An upper bound, because copies, unlike partitions, add up to more than the group has.
    return Promise.at_most(low + (rank != NO_EXTRA) for low, rank in zip(shares.floors, shares.ranks, strict=True))


def _groups(roster: Roster) -> list[_Alike]:
    groups: dict[tuple[int, tuple[int, ...]], _Alike] = {}
    copies = copies_of(roster, redundancy(roster))
    for topic, subscribers in enumerate(roster.subscribers):
        entitled = set(subscribers)
        holders = roster.ownership[topic].holders()
        for number in range(roster.metadata[topic].partitions):
            present = tuple(sorted(entitled.intersection(holders.get(number, ()))))
            # Topics with the same subscribers share one tuple, see Roster.
            group = groups.setdefault((id(subscribers), present), _Alike(subscribers, present, copies[topic]))
            group.partitions.append((number, roster.topics[topic]))
    return list(groups.values())


def _racks(roster: Roster) -> list[tuple[str, int]]:
    """Return each member's rack; a member without a known rack counts as a rack of its own."""
    return [(member.rack, -1) if member.rack else ("", index) for index, member in enumerate(roster.members)]


def _cheapest(groups: list[_Alike], racks: list[tuple[str, int]], shares: Shares) -> list[Mapping[int, int]]:
    """Return member -> number of its copies, for each group."""
    total = sum(len(group.partitions) * group.copies for group in groups)
    per_clash = total + 1
    outweigh = (total + 1) * per_clash
    first_rack = _FIRST + len(groups) + len(racks)
    racks_by_group = [_by_rack(group, racks) for group in groups]
    network = Network(first_rack + sum(len(members) > 1 for by_rack in racks_by_group for members in by_rack))
    arcs: list[dict[int, int]] = []
    for index, (group, by_rack) in enumerate(zip(groups, racks_by_group, strict=True)):
        size, node = len(group.partitions), _FIRST + len(racks) + index
        network.add(_SOURCE, node, size * group.copies)
        arcs.append({})
        for members in by_rack:
            tail = node
            if len(members) > 1:
                tail = first_rack
                first_rack += 1
                network.add(node, tail, size)
                network.add(node, tail, size * (len(members) - 1), per_clash)
            for member in members:
                arcs[-1][member] = network.add(tail, _FIRST + member, size, int(member not in group.holders))
    for member, (low, rank) in enumerate(zip(shares.floors, shares.ranks, strict=True)):
        network.add(_FIRST + member, _SINK, low)
        if rank != NO_EXTRA:
            network.add(_FIRST + member, _SINK, 1, (rank + 1) * outweigh)
    network.send_cheapest(_SOURCE, _SINK)
    return [
        {member: network.sent(arc) for member, arc in arcs_of_group.items() if network.sent(arc)}
        for arcs_of_group in arcs
    ]


def _by_rack(group: _Alike, racks: list[tuple[str, int]]) -> list[list[int]]:
    by_rack: dict[tuple[str, int], list[int]] = {}
    for member in group.subscribers:
        by_rack.setdefault(racks[member], []).append(member)
    return list(by_rack.values())


REDUNDANT = Strategy(
    name="redundant",
    protocol=RebalanceProtocol.EAGER,
    summary="assigns every partition to several members, in different racks if racks are known; copies are spread "
    "evenly, and few of them move",
    plan=redundant,
    promise=promise_redundant,
    config=(REDUNDANCY,),
    reader=decode_sticky,
    writer=encode_sticky,
    only_owned=True,
    redundancy=redundancy,
    replay_limits=ReplayLimits(
        on_request="it gives every partition to several members, which suits only some applications",
    ),
)
