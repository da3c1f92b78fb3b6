"""Computes the best assignment of a group with an integer program, independent of our algorithms.

One binary variable per partition and subscriber. HiGHS (through scipy) finds the assignment with the lowest sum of
squared loads, and among these the one with the fewest moves. The lowest sum of squares is also the lexicographically
best sorted load: loads reachable by moving partitions along subscriptions form an M-convex set (Frank and Murota, 2022,
on decreasingly minimal elements); ``test_assignor_optimum`` verifies it for groups that are small enough to enumerate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from rebalance_agent.model.partitions import TopicPartitions, pairs
from rebalance_agent.model.subscription import GroupSubscription

Pair = tuple[str, int]


def squares_and_moves(
    subscription: GroupSubscription, owners: Mapping[Pair, str], target: Mapping[str, TopicPartitions]
) -> tuple[int, int]:
    """The sum of squared loads of an assignment, and the number of owned partitions that move."""
    given = {member_id: pairs(topics) for member_id, topics in target.items()}
    squares = sum(len(given.get(each.member_id, ())) ** 2 for each in subscription.members)
    return squares, sum(pair not in given[owner] for pair, owner in owners.items())


def optimum(subscription: GroupSubscription, owners: Mapping[Pair, str]) -> tuple[int, int]:
    """The minimum of `squares_and_moves`, with the squares first."""
    slots = [
        (pair, each.member_id)
        for each in subscription.members
        for topic in set(each.topics) & subscription.topics.keys()
        for pair in ((topic, number) for number in range(subscription.topics[topic].partitions))
    ]
    if not slots:
        return 0, 0
    chosen = _solve(slots, owners)
    loads = Counter(member_id for _, member_id in chosen)
    holders = dict(chosen)
    assert len(holders) == len(chosen) == len({pair for pair, _ in slots}), "each partition goes to one member"
    return sum(load**2 for load in loads.values()), sum(holders.get(pair) != owner for pair, owner in owners.items())


def _solve(slots: list[tuple[Pair, str]], owners: Mapping[Pair, str]) -> list[tuple[Pair, str]]:
    """The (partition, subscriber) pairs of the best assignment."""
    places = {pair: place for place, pair in enumerate(dict.fromkeys(pair for pair, _ in slots))}
    members = {member_id: place for place, member_id in enumerate(dict.fromkeys(member for _, member in slots))}
    most = Counter(member for _, member in slots)
    # A member's k-th partition costs 2k - 1 more squares; a move costs 1, and any square outweighs all moves.
    steps = [(member, 2 * step + 1) for member in members for step in range(most[member])]
    outweigh = len(owners) + 1
    cost = [0 if owners.get(pair) == member else 1 for pair, member in slots] + [outweigh * odd for _, odd in steps]
    entries = [(places[pair], place, 1) for place, (pair, _) in enumerate(slots)]
    entries += [(len(places) + members[member], place, 1) for place, (_, member) in enumerate(slots)]
    entries += [(len(places) + members[member], len(slots) + place, -1) for place, (member, _) in enumerate(steps)]
    rows, columns, values = zip(*entries, strict=True)
    matrix = csr_array((values, (rows, columns)), shape=(len(places) + len(members), len(cost)))
    sums = np.array([1] * len(places) + [0] * len(members))
    found = milp(
        np.array(cost),
        integrality=np.ones(len(cost)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix, sums, sums),
        options={"mip_rel_gap": 0},
    )
    assert found.success, found.message
    return [slot for slot, share in zip(slots, found.x, strict=False) if share > 0.5]
