"""Deals partitions in turn, with slices and shared tuples instead of one step per partition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, repeat

from rebalance_agent.assignors.roster import Plan, Roster

__all__ = ["deal_all", "deal_topic", "single_numbers"]


def single_numbers(counts: Iterable[int]) -> list[tuple[int, ...]]:
    """Return ``(0,)``, ``(1,)`` ... up to the highest of ``counts``: tuples that all topics share."""
    return [(number,) for number in range(max(counts, default=0))]


def deal_all(roster: Roster, takers: Sequence[int]) -> Plan:
    """Return a plan that gives all partitions, topic by topic, to distinct ``takers`` in turn; ignore owners."""
    plan = roster.empty_plan()
    counts = roster.partitions
    singles = single_numbers(counts)
    turns = len(takers)
    if takers and len(set(counts)) == 1 and (turns % counts[0] == 0 or counts[0] % turns == 0):
        return _deal_repeating(roster, takers, counts[0])
    if max(counts, default=0) <= turns:
        # No member has two turns in a topic: each gets every n-th of all partitions in a row. Written member by
        # member, since one dictionary at a time stays in the processor's cache, and two thousand do not.
        names = list(chain.from_iterable(map(repeat, roster.topics, counts)))
        numbers = list(chain.from_iterable(singles[:count] for count in counts))
        for turn, member in enumerate(takers):
            plan[member] = dict(zip(names[turn::turns], numbers[turn::turns], strict=True))
        return plan
    circle = [*takers, *takers]
    turn = 0
    for topic, count in zip(roster.topics, counts, strict=True):
        deal_topic(plan, topic, count, circle[turn : turn + min(count, turns)], singles)
        turn = (turn + count) % turns
    return plan


def _deal_repeating(roster: Roster, takers: Sequence[int], count: int) -> Plan:
    """Deal if takers are a multiple or divisor of ``count``; a member gets the same numbers of all its topics."""
    plan = roster.empty_plan()
    turns = len(takers)
    apart = max(1, turns // count)
    for turn, member in enumerate(takers):
        plan[member] = dict.fromkeys(roster.topics[turn // count :: apart], tuple(range(turn % count, count, turns)))
    return plan


def deal_topic(plan: Plan, topic: str, count: int, takers: Sequence[int], singles: Sequence[tuple[int, ...]]) -> None:
    """Deal ``count`` partitions in turn to distinct ``takers``, which have none of the topic yet."""
    if count <= len(takers):
        for single, member in zip(singles[:count], takers, strict=False):
            plan[member][topic] = single
    else:
        for start, member in enumerate(takers):
            plan[member][topic] = tuple(range(start, count, len(takers)))
