"""Turns counts into partitions: owned partitions stay, others are dealt so that every topic spreads over many members.

A plan starts as a copy of what the members own, so that only members and topics that change take time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rebalance_agent.assignors.balance.counts import Placement
from rebalance_agent.assignors.balance.placement import fill, place_partitions
from rebalance_agent.assignors.balance.promise import Promise
from rebalance_agent.assignors.balance.releasing import release
from rebalance_agent.assignors.balance.slices import deal_all, deal_topic, single_numbers
from rebalance_agent.assignors.roster import Plan, Roster
from rebalance_agent.assignors.subscribers import indexes_by_value
from rebalance_agent.errors import AssignmentError

__all__ = ["deal_balanced"]


def deal_balanced(roster: Roster, promise: Promise) -> Plan:
    """Return the plan that keeps ``promise`` with the fewest moves.

    Raises:
        AssignmentError: the promise cannot be kept, which does not occur for promises made for this roster.
    """
    if roster.uniform():
        return _deal(roster, fill(promise, roster.owned_counts(), sum(roster.partitions)))
    placement = place_partitions(roster, promise.floors, promise.ranks, levels=promise.levels)
    if placement is None:
        raise AssignmentError("the promised loads do not fit the subscriptions")
    return _pick(roster, placement)


def _deal(roster: Roster, loads: Sequence[int]) -> Plan:
    """Deal with equal subscriptions: members keep up to their load, others fill up evenly over the topics."""
    owned = roster.owned_counts()
    free = [max(0, load - have) for load, have in zip(loads, owned, strict=True)]
    if not any(owned) and max(free, default=0) - min(filter(None, free), default=0) <= 1:
        return deal_all(roster, _rounds(free))
    plan: Plan = list(map(dict, roster.ownership_index.holdings))
    freed = release(plan, owned, loads)
    turns = _turns(free)
    taken = 0
    for topic, gaps in zip(roster.topics, roster.ownership_index.gaps, strict=True):
        numbers = sorted((*gaps, *freed[topic])) if topic in freed else gaps
        if numbers:
            _give(plan, topic, zip(numbers, turns[taken : taken + len(numbers)], strict=True))
            taken += len(numbers)
    return plan


def _rounds(free: Sequence[int]) -> list[int]:
    """Return the members with free places, beginning with the most free places.

    If the numbers of free places differ by at most 1, this list is the start of `_turns`.
    """
    return sorted((member for member, count in enumerate(free) if count), key=lambda member: -free[member])


def _turns(free: Sequence[int]) -> list[int]:
    """Return an order in which each member occurs as often as it has free places, as evenly as possible."""
    alike = indexes_by_value(free)
    times = sorted(((2 * turn + 1) / count, -count) for count in alike for turn in range(count))
    return [member for _, count in times for member in alike[-count]]


def _pick(roster: Roster, placement: Placement) -> Plan:
    """Pick the partitions of a ``placement``, with mixed subscriptions."""
    plan: Plan = list(map(dict, roster.ownership_index.holdings))
    singles = single_numbers(roster.partitions)
    for index, (topic, count, gaps) in enumerate(
        zip(roster.topics, roster.partitions, roster.ownership_index.gaps, strict=True)
    ):
        takers = placement.gains[index]
        if not takers:
            continue
        losses = placement.losses[index]
        numbers = sorted((*gaps, *_take_back(plan, topic, losses))) if losses else gaps
        if len(numbers) == count and len(set(takers)) == count:
            deal_topic(plan, topic, count, takers, singles)
        else:
            _give(plan, topic, zip(numbers, sorted(takers), strict=True))
    return plan


def _take_back(plan: Plan, topic: str, losses: Mapping[int, int]) -> list[int]:
    """Remove the partitions that members give up, their last ones, from ``plan``; return the partition numbers."""
    freed: list[int] = []
    for member, count in losses.items():
        numbers = plan[member].pop(topic)
        freed += numbers[len(numbers) - count :]
        if count < len(numbers):
            plan[member][topic] = numbers[: len(numbers) - count]
    return freed


def _give(plan: Plan, topic: str, gained: Iterable[tuple[int, int]]) -> None:
    by_member: dict[int, list[int]] = {}
    for number, member in gained:
        by_member.setdefault(member, []).append(number)
    for member, numbers in by_member.items():
        plan[member][topic] = tuple(sorted((*plan[member].get(topic, ()), *numbers)))
