"""Reorders the members of a roster, for strategies whose decisions follow a different order from Java's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from rebalance_agent.assignors.claims import TopicOwnership
from rebalance_agent.assignors.roster import Plan, Roster

__all__ = ["in_first_order", "reordered"]

_V = TypeVar("_V")


def reordered(roster: Roster, order: Sequence[int]) -> Roster:
    """Return ``roster`` with its members in ``order``, a permutation of their indexes; settings are left out."""
    places = [0] * len(order)
    for place, member in enumerate(order):
        places[member] = place
    # Topics with equal subscribers keep sharing one tuple, see Roster.
    distinct = {id(members): members for members in roster.subscribers}
    shared = {key: tuple(sorted(map(places.__getitem__, members))) for key, members in distinct.items()}
    index = roster.ownership_index
    settled = index.settled and tuple(
        TopicOwnership(
            _placed(topic.owned, places),
            {number: tuple(places[member] for member in members) for number, members in topic.disputed.items()},
        )
        for topic in index.settled
    )
    return replace(
        roster,
        members=tuple(map(roster.members.__getitem__, order)),
        subscribers=tuple([shared[id(members)] for members in roster.subscribers]),
        ownership_index=replace(index, holdings=[index.holdings[member] for member in order], settled=settled),
        standbys=tuple(map(roster.standbys.__getitem__, order)),
        settings={},
    )


def in_first_order(plan: Plan, order: Sequence[int]) -> Plan:
    """Return the ``plan`` for a `reordered` roster as a plan for the original roster."""
    by_member = dict(zip(order, plan, strict=True))
    return [by_member[member] for member in range(len(order))]


def _placed(owned: Mapping[int, _V], places: Sequence[int]) -> dict[int, _V]:
    return dict(sorted((places[member], numbers) for member, numbers in owned.items()))
