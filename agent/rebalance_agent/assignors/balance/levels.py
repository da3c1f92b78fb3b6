"""Checks whether one density (load per weight) fits a whole group: the usual case of mixed subscriptions.

The loads in a draft are whole numbers near the fair shares. A member exceeds its share by less than one partition, so
any of its partitions could, in fractions, carry this surplus to another subscriber. If all surplus can reach all
deficit in this way, fractional shares of one density exist, and there are no levels. Otherwise nothing is proven.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from rebalance_agent.assignors.balance.counts import Placement
from rebalance_agent.assignors.roster import Roster

__all__ = ["one_density", "shows_one_level"]


def one_density(roster: Roster, weights: Sequence[int]) -> list[Fraction]:
    """Return the load per weight of each member if one density fits all; 0 for members without topics."""
    members = _subscribed(roster)
    nothing = Fraction(0)
    if not members:
        return [nothing] * len(weights)
    density = Fraction(sum(roster.partitions), sum(weights[member] for member in members))
    return [density if member in members else nothing for member in range(len(weights))]


def _subscribed(roster: Roster) -> set[int]:
    members: set[int] = set()
    for subscribers in roster.subscribers:
        members.update(subscribers)
        if len(members) == len(roster.members):
            break
    return members


def shows_one_level(roster: Roster, weights: Sequence[int], placement: Placement) -> bool:
    """Return whether ``placement`` can be evened out in fractions, by handing on parts of partitions."""
    members = _subscribed(roster)
    weight = sum(weights[member] for member in members)
    total = sum(roster.partitions)
    # In units of 1 / `weight` of a partition, so that all numbers are whole.
    above = {member: over for member in members if (over := placement.loads[member] * weight - weights[member] * total)}
    if any(abs(over) >= weight for over in above.values()):
        return False
    givers = {member for member, over in above.items() if over > 0}
    takers = above.keys() - givers
    for topic, (topic_ownership, subscribers) in enumerate(zip(roster.ownership, roster.subscribers, strict=True)):
        if not givers:
            break
        losses = placement.losses[topic]
        giving = givers.intersection(placement.gains[topic])
        giving.update(
            m for m in givers.intersection(topic_ownership.owned) if losses.get(m, 0) < len(topic_ownership.owned[m])
        )
        taking = takers.intersection(subscribers) if giving else set[int]()
        while giving and taking:
            giver, taker = min(giving), min(taking)
            part = min(above[giver], -above[taker])
            above[giver] -= part
            above[taker] += part
            if not above[giver]:
                giving.remove(giver)
                givers.remove(giver)
            if not above[taker]:
                taking.remove(taker)
                takers.remove(taker)
    return not givers
