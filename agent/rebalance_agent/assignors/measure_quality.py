"""Measures the quality of an assignment from any client, for the target that the rounds of the assignment reach.

``moved_min`` is the fewest moves of any assignment with the same balance, which means with equal loads; members with an
equal promise may swap their loads. It is exact

- if all members have equal subscriptions: a member can keep at most the lesser of what it owns and what it gets, and
  matching the largest with the largest keeps most;
- if subscriptions are mixed and the balance is optimal: the cheapest flow of ``placement`` computes it;
- if subscriptions are mixed, the balance is not optimal, and there are at most `SWAPS_MAX` ways to swap loads: one flow
  for each way computes it. With more ways, members keep their loads, and the result may be above the true minimum: the
  problem is not convex, and an exact search would take too long.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rebalance_agent.assignors.assignment_facts import (
    copartition_breaks,
    count_moved,
    count_unassigned,
    owners_of,
    rack_misses,
    topic_spread,
)
from rebalance_agent.assignors.balance.counts import NO_EXTRA
from rebalance_agent.assignors.balance.placement import best_loads, place_partitions
from rebalance_agent.assignors.balance.promise import Promise, by_count
from rebalance_agent.assignors.hosts.topic_hosts import HostSpread, host_spread
from rebalance_agent.assignors.roster import Roster, prepare_roster
from rebalance_agent.assignors.strategy import Strategy
from rebalance_agent.assignors.subscribers import indexes_by_value
from rebalance_agent.model.assignment_quality import AssignmentQuality
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.model.subscription import GroupAssignment, GroupSubscription

__all__ = ["SWAPS_MAX", "Balance", "Judgement", "balance_of", "judge", "judgement"]

SWAPS_MAX = 24
"""Maximum number of ways to swap loads that are tried for ``moved_min``, one flow each: all orders of four members."""


class Judgement(NamedTuple):
    """The quality of an assignment; ``targets``: member id -> the number of partitions to which its load is compared.

    ``host_spread``: None if the members' hosts are not known, or if no topic could be on several hosts.
    """

    quality: AssignmentQuality
    targets: Mapping[str, int]
    host_spread: HostSpread | None


class Balance(NamedTuple):
    """The balance of an assignment. Lists are by member of the roster; names are as in `AssignmentQuality`."""

    targets: Sequence[int]
    skew_ratio: float
    imbalance: int
    moved_min: int | None


def judge(group: GroupSubscription, assignment: GroupAssignment, strategy: Strategy | None = None) -> AssignmentQuality:
    """Return the quality in the result of `judgement`; raise the same errors."""
    return judgement(group, assignment, strategy).quality


def judgement(
    group: GroupSubscription,
    assignment: GroupAssignment,
    strategy: Strategy | None = None,
    hosts: Mapping[str, str] | None = None,
) -> Judgement:
    """Measure ``assignment.target`` against the promise of ``strategy``, or without one against the best balance.

    The assignment may come from any client: entries for topics or partitions that do not exist count only as load, and
    members that the assignment does not contain have no partitions. ``hosts``: member id -> host.

    Raises:
        AssignmentError: a configured value is out of bounds.
    """
    roster = prepare_roster(group) if strategy is None else strategy.roster(group)
    owners = owners_of(roster, assignment.target)
    names = [member.member_id for member in roster.members]
    given = [assignment.target.get(name, {}) for name in names]
    loads = list(map(count_partitions, given))
    moved = count_moved(roster, owners)
    promise = by_count(roster) if strategy is None else strategy.promise(roster)
    measured = balance_of(roster, promise, loads, moved, plain=owners.plain)
    quality = AssignmentQuality(
        spread=max(loads, default=0) - min(loads, default=0),
        max_mean_ratio=max(loads) * len(loads) / sum(loads) if any(loads) else None,
        skew_ratio=measured.skew_ratio,
        imbalance=measured.imbalance,
        moved=moved,
        moved_min=measured.moved_min,
        unassigned=count_unassigned(roster, owners),
        topic_spread=topic_spread(roster, owners, measured.targets),
        copartition_breaks=copartition_breaks(roster, owners),
        rack_misses=rack_misses(roster, owners),
        missing_standbys=assignment.missing_standbys,
    )
    spread = host_spread(roster, given, measured.targets, [hosts[name] for name in names]) if hosts else None
    return Judgement(quality, dict(zip(names, measured.targets, strict=True)), spread)


def balance_of(roster: Roster, promise: Promise, loads: Sequence[int], moved: int, *, plain: bool) -> Balance:
    """Measure ``loads`` (by member) against ``promise``; ``moved``: owned partitions that left their owner.

    ``plain``: as in `Owners`; true for this library's own plans in which each partition has one owner.
    """
    best_balance = best_loads(roster, promise)
    targets = promise.targets(best_balance[0] if best_balance else loads)
    return Balance(
        targets=targets,
        skew_ratio=max(map(_skew, loads, targets), default=1.0),
        imbalance=max((load - target for load, target in zip(loads, targets, strict=True) if load > target), default=0),
        moved_min=_moved_min(_Case(roster, promise, loads, best_balance), moved) if plain else None,
    )


def _skew(load: int, target: int) -> float:
    """Return load / target, at least 1; for a target of 0, the load plus 1."""
    return max(1.0, load / target if target else 1.0 + load)


class _Case(NamedTuple):
    roster: Roster
    promise: Promise
    loads: Sequence[int]
    best: tuple[tuple[int, ...], int] | None


def _moved_min(case: _Case, moved: int) -> int:
    if not moved:
        return 0
    owned = case.roster.owned_counts()
    if case.roster.uniform():
        return sum(owned) - _kept_by_pairs(case.promise.standing, owned, case.loads)
    if case.best is not None:
        strain = case.promise.strain(case.loads)
        if strain is not None and strain == case.promise.strain(case.best[0]):
            return sum(owned) - case.best[1]
    return min(moved, sum(owned) - _kept_by_swaps(case))


def _kept_by_pairs(standing: Sequence[int], owned: Sequence[int], loads: Sequence[int]) -> int:
    kept = 0
    for alike in indexes_by_value(standing).values():
        most_owned = sorted((owned[member] for member in alike), reverse=True)
        largest = sorted((loads[member] for member in alike), reverse=True)
        kept += sum(map(min, most_owned, largest))
    return kept


def _kept_by_swaps(case: _Case) -> int:
    unassigned = sum(case.roster.partitions) - sum(case.loads)
    no_extra = [NO_EXTRA] * len(case.loads)
    ways = list(itertools.islice(_swaps(case.promise.standing, case.loads), SWAPS_MAX + 1))
    kept = 0
    for loads in ways if len(ways) <= SWAPS_MAX else [case.loads]:
        placement = place_partitions(case.roster, loads, no_extra, unassigned)
        if placement is not None:
            kept = max(kept, placement.kept)
    return kept


def _swaps(standing: Sequence[int], loads: Sequence[int]) -> Iterator[list[int]]:
    """Yield each distinct way in which members of equal standing can exchange loads."""
    groups = indexes_by_value(standing).values()
    for way in itertools.product(*(_distinct_orders(sorted(loads[member] for member in group)) for group in groups)):
        swapped = list(loads)
        for group, order in zip(groups, way, strict=True):
            for member, load in zip(group, order, strict=True):
                swapped[member] = load
        yield swapped


def _distinct_orders(loads: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the distinct orders of ascending ``loads``, at most `SWAPS_MAX` + 1 of them."""
    orders: list[tuple[int, ...]] = []
    current = list(loads)
    while len(orders) <= SWAPS_MAX:
        orders.append(tuple(current))
        # The next permutation in lexicographic order, which skips repetitions.
        pivot = next((i for i in range(len(current) - 2, -1, -1) if current[i] < current[i + 1]), None)
        if pivot is None:
            break
        swap = next(i for i in range(len(current) - 1, pivot, -1) if current[i] > current[pivot])
        current[pivot], current[swap] = current[swap], current[pivot]
        current[pivot + 1 :] = reversed(current[pivot + 1 :])
    return orders
