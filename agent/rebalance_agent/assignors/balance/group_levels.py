"""Splits a group with several levels into each level's topics and the members that take them in the best balance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rebalance_agent.assignors.roster import Roster

__all__ = ["Split", "split_levels"]


@dataclass(frozen=True, slots=True)
class Split:
    """``levels``: members and topics of each level, lowest first. ``subscribers``: by topic, from the topic's level.

    ``outside``: (topic, member) pairs in which the member owns partitions of a topic that belongs to another level.
    """

    levels: Sequence[tuple[Sequence[int], Sequence[int]]]
    subscribers: Sequence[Sequence[int]]
    outside: Sequence[tuple[int, int]]


def split_levels(roster: Roster, levels: Sequence[int]) -> Split:
    """Give each topic to the lowest level among its subscribers; higher levels have topics of their own."""
    if len(set(levels)) <= 1:
        return Split([(range(len(roster.members)), range(len(roster.topics)))], roster.subscribers, ())
    members: dict[int, list[int]] = {level: [] for level in sorted(set(levels))}
    for member, level in enumerate(levels):
        members[level].append(member)
    topics: dict[int, list[int]] = {level: [] for level in members}
    lowest: dict[int, tuple[int, list[int]]] = {}
    subscribers = []
    outside = []
    for topic, (topic_ownership, takers) in enumerate(zip(roster.ownership, roster.subscribers, strict=True)):
        if id(takers) not in lowest:
            level = min(levels[member] for member in takers)
            lowest[id(takers)] = level, [member for member in takers if levels[member] == level]
        level, entitled = lowest[id(takers)]
        topics[level].append(topic)
        subscribers.append(entitled)
        outside += [(topic, member) for member in topic_ownership.owned if levels[member] != level]
    return Split([(members[level], topics[level]) for level in members], subscribers, outside)
