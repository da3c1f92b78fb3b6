"""``lag-aware``: like ``sticky``, with a load for each partition (its lag or its rate) instead of 1.

Members keep what they own, up to ``assignment.max.count.factor`` times their load in the best balance of counts;
partitions without an owner go, heaviest first, to the least loaded members; then partitions move from the most to the
least loaded members, while a move lowers the higher load of the two members and ``assignment.max.moves`` allows it. If
the highest load may still be more than a third above its lower bound, and a fresh deal of the whole group would lower
it within the allowed moves, the fresh deal is used. A fresh deal does not depend on ownership, so a group that has
reached it keeps its assignment.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from rebalance_agent.assignors.balance.counts import NO_EXTRA
from rebalance_agent.assignors.balance.member_classes import topics_of_members
from rebalance_agent.assignors.balance.placement import best_loads, place_partitions
from rebalance_agent.assignors.balance.promise import Promise, by_count
from rebalance_agent.assignors.replay_limits import ReplayLimits
from rebalance_agent.assignors.roster import Plan, Roster
from rebalance_agent.assignors.strategies.sticky import sticky
from rebalance_agent.assignors.strategies.weighted_bins import Item, WeightedBins, weigh
from rebalance_agent.assignors.strategy import Strategy
from rebalance_agent.assignors.strategy_settings import INT32_MAX, decimal_number, whole_number
from rebalance_agent.assignors.subscribers import indexes_by_value
from rebalance_agent.errors import AssignmentError
from rebalance_agent.groupprotocol.user_data import (
    decode_cooperative_sticky,
    decode_sticky,
    encode_generation,
    encode_sticky,
)
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.partitions import topic_partitions

__all__ = [
    "COUNT_FACTOR",
    "LAG_AWARE",
    "MAX_MOVES",
    "lag_aware",
    "promise_lag_aware",
]

MAX_MOVES = whole_number(
    name="assignment.max.moves",
    default=INT32_MAX,
    minimum=0,
    maximum=INT32_MAX,
    meaning="maximum number of partitions that one rebalance takes from their owners to balance loads",
    shared=True,
)

COUNT_FACTOR = decimal_number(
    name="assignment.max.count.factor",
    default=2.0,
    minimum=1.0,
    maximum=1_000_000.0,
    meaning="limit of a member's partitions: this factor times its count in the best balance of counts, rounded up",
    shared=True,
)


def lag_aware(roster: Roster) -> Plan:
    """Return the plan with loads as even as few moves make them, within the limits on counts and moves."""
    items = weigh(roster)
    limits = _limits(roster)
    owners = _Owners(roster)
    bins = _keep_owned(roster, items, limits, owners)
    allowed = max(roster.shared_by_all(MAX_MOVES), owners.moves(roster, _plan(roster, bins)))
    if len({item[0] for row in items for item in row}) <= 1:
        even = sticky(roster)
        if owners.moves(roster, even) <= allowed:
            return even
    evened = _even_out(roster, items, bins, owners, allowed)
    if 3 * evened.maximum <= 4 * _maximum_lower_bound(items, len(limits)):
        return evened.plan
    fresh = _fresh_deal(roster, items, limits, owners)
    if fresh.maximum < evened.maximum and owners.moves(roster, fresh.plan) <= allowed:
        return fresh.plan
    return evened.plan


def promise_lag_aware(roster: Roster) -> Promise:
    """Return each member's limit of partitions; the loads decide how many it gets below this limit."""
    return Promise.at_most(_limits(roster))


def _limits(roster: Roster) -> tuple[int, ...]:
    promise = by_count(roster)
    balanced = best_loads(roster, promise)
    targets = promise.floors if balanced is None else promise.targets(balanced[0])
    factor = Fraction(str(roster.shared_by_all(COUNT_FACTOR)))  # as it was written, not as binary rounds it
    return tuple(math.ceil(factor * target) for target in targets)


class _Owners:
    """The owner of each partition, to count moves."""

    def __init__(self, roster: Roster) -> None:
        self.of = {
            (topic, number): member
            for topic, ownership in enumerate(roster.ownership)
            for member, numbers in ownership.owned.items()
            for number in numbers
        }

    def moves(self, roster: Roster, plan: Plan) -> int:
        kept = 0
        for name, ownership in zip(roster.topics, roster.ownership, strict=True):
            for member, numbers in ownership.owned.items():
                kept += len(set(plan[member].get(name, ())).intersection(numbers))
        return len(self.of) - kept


def _keep_owned(
    roster: Roster, items: Sequence[Sequence[Item]], limits: Sequence[int], owners: _Owners
) -> WeightedBins:
    """Keep as many owned partitions as the limits allow, lightest first, and assign the rest."""
    owned: list[list[Item]] = [[] for _ in limits]
    for (topic, number), member in owners.of.items():
        owned[member].append(items[topic][number])
    fits = all(len(items_owned) <= limit for items_owned, limit in zip(owned, limits, strict=True))
    if fits or roster.uniform():
        bins = _fill_bins(
            roster,
            items,
            limits,
            [sorted(items_owned)[:limit] for items_owned, limit in zip(owned, limits, strict=True)],
        )
        if bins is not None:
            return bins
    # Members must give up as little as possible, so that others can take what only they subscribe to.
    placement = place_partitions(roster, limits, [NO_EXTRA] * len(limits))
    kept: list[list[Item]] = [[] for _ in limits]
    for topic, counts in enumerate(placement.counts if placement else ()):
        for member, (stay, _) in counts.items():
            if stay:
                kept[member] += sorted(items[topic][number] for number in roster.ownership[topic].owned[member])[:stay]
    bins = _fill_bins(roster, items, limits, kept)
    if bins is None:
        raise AssignmentError("the limits on counts do not fit the subscriptions")
    return bins


def _fill_bins(
    roster: Roster, items: Sequence[Sequence[Item]], limits: Sequence[int], kept: Sequence[Sequence[Item]]
) -> WeightedBins | None:
    bins = WeightedBins(roster, limits)
    loose = {item for row in items for item in row}
    for member, some in enumerate(kept):
        for item in some:
            bins.add(member, item)
        loose.difference_update(some)
    return bins if bins.give_out(loose, loose.__contains__) else None


@dataclass(frozen=True, slots=True)
class _Outcome:
    plan: Plan
    maximum: int


def _even_out(
    roster: Roster, items: Sequence[Sequence[Item]], bins: WeightedBins, owners: _Owners, allowed: int
) -> _Outcome:
    """Even out loads with the remaining moves."""
    moves = owners.moves(roster, _plan(roster, bins))

    def may_move(item: Item, giver: int, taker: int) -> bool:
        nonlocal moves
        owner = owners.of.get(item[1:])
        then = moves + (owner == giver) - (owner == taker)
        if then > allowed:
            return False
        moves = then
        return True

    bins.even_out(may_move)
    return _Outcome(_plan(roster, bins), _maximum(bins, items))


def _fresh_deal(roster: Roster, items: Sequence[Sequence[Item]], limits: Sequence[int], owners: _Owners) -> _Outcome:
    """Deal the whole group regardless of ownership; then members of equal subscription swap bins to keep more."""
    bins = WeightedBins(roster, limits)
    bins.give_out((item for row in items for item in row), lambda _: True)
    bins.even_out(lambda _item, _giver, _taker: True)
    return _Outcome(_swapped(roster, _plan(roster, bins), owners), _maximum(bins, items))


def _swapped(roster: Roster, plan: Plan, owners: _Owners) -> Plan:
    """Match members and bins of equal subscription greedily, beginning with the pair that keeps most partitions."""
    topic_index = {name: topic for topic, name in enumerate(roster.topics)}
    kind_of = topics_of_members(roster)
    common: dict[tuple[int, int], int] = {}
    for bin_, given in enumerate(plan):
        for name, numbers in given.items():
            for number in numbers:
                owner = owners.of.get((topic_index[name], number))
                if owner is not None and kind_of[owner] == kind_of[bin_]:
                    common[owner, bin_] = common.get((owner, bin_), 0) + 1
    taken: dict[int, int] = {}
    chosen: set[int] = set()
    for member, bin_ in sorted(common, key=lambda pair: (-common[pair], pair)):
        if member not in taken and bin_ not in chosen:
            taken[member] = bin_
            chosen.add(bin_)
    swapped = roster.empty_plan()
    for members in indexes_by_value(kind_of).values():
        left = iter([bin_ for bin_ in members if bin_ not in chosen])
        for member in members:
            swapped[member] = plan[taken[member] if member in taken else next(left)]
    return swapped


def _plan(roster: Roster, bins: WeightedBins) -> Plan:
    return [
        topic_partitions((roster.topics[topic], number) for _, topic, number in bins.items(member))
        for member in range(len(roster.members))
    ]


def _maximum(bins: WeightedBins, items: Sequence[Sequence[Item]]) -> int:
    """Return the highest load, in its exact whole unit, without the 1 that each partition adds to its weight."""
    return max(bins.weights, default=0) // (sum(map(len, items)) + 1)


def _maximum_lower_bound(items: Sequence[Sequence[Item]], members: int) -> Fraction:
    """Return a lower bound of the highest load: the mean, or the heaviest partition. Unit as in `_maximum`."""
    weights = [item[0] for row in items for item in row]
    loads = [weight // (len(weights) + 1) for weight in weights]
    return max(Fraction(sum(loads), max(1, members)), Fraction(max(loads, default=0)))


_UNRECORDED = "it needs the partitions' lag or rate, which events do not contain"

LAG_AWARE = Strategy(
    name="lag-aware",
    protocol=RebalanceProtocol.EAGER,
    summary="spreads the load of partitions (lag or rate) evenly, heaviest first, with few moves; partition counts "
    "stay within a factor of their best balance",
    plan=lag_aware,
    promise=promise_lag_aware,
    config=(MAX_MOVES, COUNT_FACTOR),
    reader=decode_sticky,
    writer=encode_sticky,
    only_owned=True,
    by_load=True,
    cooperative_form=True,
    cooperative_reader=decode_cooperative_sticky,
    cooperative_writer=encode_generation,
    replay_limits=ReplayLimits(unrecorded=_UNRECORDED, refusal=_UNRECORDED),
)
