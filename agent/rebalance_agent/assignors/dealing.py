"""From counts to partitions: what is owned stays, the rest is dealt so that every topic spreads over many members."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_agent.assignors.placement import Placement, fill, place
from rebalance_agent.assignors.promise import Promise
from rebalance_agent.assignors.roster import Plan, Roster
from rebalance_agent.errors import AssignmentError

__all__ = ["balance"]


def balance(roster: Roster, promise: Promise) -> Plan:
    """Keep ``promise`` with the fewest moves.

    Raises:
        AssignmentError: the promise cannot be kept; not for promises made for this roster.
    """
    if roster.uniform():
        return _deal(roster, fill(promise, roster.owned_counts(), sum(roster.partitions)))
    placement = place(roster, promise.floors, promise.ranks)
    if placement is None:
        raise AssignmentError("the promised loads do not fit the subscriptions")
    return _pick(roster, placement)


def _deal(roster: Roster, loads: Sequence[int]) -> Plan:
    """Equal subscriptions: everybody keeps up to its load, the others' room is dealt evenly over the topics."""
    kept = _kept(roster, loads)
    turns = _turns([load - have for load, have in zip(loads, kept.counts, strict=True)])
    plan = roster.empty_plan()
    taken = 0
    for topic, (name, count) in enumerate(zip(roster.topics, roster.partitions, strict=True)):
        owners = kept.numbers[topic]
        gaps = _gaps(count, owners)
        gained: dict[int, list[int]] = {}
        for number, member in zip(gaps, turns[taken : taken + len(gaps)], strict=True):
            gained.setdefault(member, []).append(number)
        taken += len(gaps)
        _write(plan, name, owners, gained)
    return plan


class _Kept:
    """What stays: ``numbers`` by topic and member, ``counts`` by member."""

    def __init__(self, roster: Roster) -> None:
        self.numbers: list[dict[int, Sequence[int]]] = [dict(topic.owned) for topic in roster.ownership]
        self.counts = roster.owned_counts()


def _kept(roster: Roster, loads: Sequence[int]) -> _Kept:
    kept = _Kept(roster)
    overfull = {member for member, have in enumerate(kept.counts) if have > loads[member]}
    if not overfull:
        return kept
    # Every n-th partition goes, and each member begins to count elsewhere: a newcomer then gets some of every topic.
    reached = {member: turn * kept.counts[member] // len(overfull) for turn, member in enumerate(sorted(overfull))}
    for owners in kept.numbers:
        for member in overfull & owners.keys():
            have, load = kept.counts[member], loads[member]
            stays = []
            for number in owners[member]:
                reached[member] += load
                if reached[member] >= have:
                    reached[member] -= have
                    stays.append(number)
            owners[member] = stays
    for member in overfull:
        kept.counts[member] = loads[member]
    return kept


def _turns(rooms: Sequence[int]) -> list[int]:
    """An order in which each member appears as often as it has room, and as evenly as can be."""
    alike: dict[int, list[int]] = {}
    for member, room in enumerate(rooms):
        if room > 0:
            alike.setdefault(room, []).append(member)
    times = sorted(((2 * turn + 1) / room, -room) for room in alike for turn in range(room))
    return [member for _, room in times for member in alike[-room]]


def _pick(roster: Roster, placement: Placement) -> Plan:
    """Mixed subscriptions: the placement says how many of each topic stay with and go to each member."""
    plan = roster.empty_plan()
    for topic, counts in enumerate(placement.counts):
        owned = roster.ownership[topic].owned
        owners: dict[int, Sequence[int]] = {m: owned[m][:kept] for m, (kept, _) in counts.items() if kept}
        gaps = _gaps(roster.partitions[topic], owners)
        gained: dict[int, list[int]] = {}
        start = 0
        for member, (_, new) in counts.items():
            if new:
                gained[member] = gaps[start : start + new]
                start += new
        _write(plan, roster.topics[topic], owners, gained)
    return plan


def _gaps(count: int, owners: dict[int, Sequence[int]]) -> list[int]:
    gaps = set(range(count))
    gaps.difference_update(*owners.values())
    return sorted(gaps)


def _write(plan: Plan, topic: str, owners: dict[int, Sequence[int]], gained: dict[int, list[int]]) -> None:
    for member in owners.keys() | gained.keys():
        numbers = (*owners.get(member, ()), *gained.get(member, ()))
        if numbers:
            plan[member][topic] = tuple(sorted(numbers))
