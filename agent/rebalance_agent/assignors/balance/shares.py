"""Computes fair shares with mixed subscriptions: in proportion to weight, as far as subscriptions allow.

With equal subscriptions, a member's share is the number of the group's partitions times the member's part of all
weights. With mixed subscriptions, a proportional division may be impossible, so the shares are the fairest possible:
the highest load per weight is as low as possible, then the next highest, and so on. These shares are unique (the
lexicographically optimal base of a polymatroid: Fujishige 1980) and have levels: a level's topics go to that level's
members, all with one load per weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from rebalance_agent.assignors.balance.flow import Network

__all__ = ["fair_densities"]


def fair_densities(
    partitions: Sequence[int], subscribers: Sequence[tuple[int, ...]], weights: Sequence[int]
) -> list[Fraction]:
    """Return the load per weight of each member; times the weight it is the fair share. 0: no topics.

    ``partitions`` and ``subscribers`` are by topic, ``weights`` (> 0) by member.
    """
    topics: dict[tuple[int, ...], int] = {}
    for count, takers in zip(partitions, subscribers, strict=True):
        topics[takers] = topics.get(takers, 0) + count
    classes = _classes(topics, len(weights))
    weight_of = {kind: sum(weights[member] for member in members) for kind, members in classes.items()}
    class_topics = list(topics.values())
    density: dict[tuple[int, ...], Fraction] = {}
    pending = [(list(range(len(class_topics))), list(classes))]
    while pending:
        open_topics, kinds = pending.pop()
        total = sum(class_topics[topic] for topic in open_topics)
        weight = sum(weight_of[kind] for kind in kinds)
        crowded = _crowded(open_topics, class_topics, kinds, weight_of, total, weight)
        if crowded is None:
            density.update(dict.fromkeys(kinds, Fraction(total, weight)))
            continue
        dense_topics, dense_kinds = crowded
        pending.append((dense_topics, dense_kinds))
        dense, held = set(dense_topics), set(dense_kinds)
        pending.append(([t for t in open_topics if t not in dense], [k for k in kinds if k not in held]))
    densities = [Fraction(0)] * len(weights)
    for kind, members in classes.items():
        for member in members:
            densities[member] = density[kind]
    return densities


def _classes(topics: dict[tuple[int, ...], int], members: int) -> dict[tuple[int, ...], list[int]]:
    """Return members by subscription: indexes of topic classes -> members. Members of one class get equal densities."""
    subscribed: list[list[int]] = [[] for _ in range(members)]
    for topic, takers in enumerate(topics):
        for member in takers:
            subscribed[member].append(topic)
    classes: dict[tuple[int, ...], list[int]] = {}
    for member, subscribed_topics in enumerate(subscribed):
        if subscribed_topics:
            classes.setdefault(tuple(subscribed_topics), []).append(member)
    return classes


def _crowded(
    topics: list[int],
    partitions: list[int],
    kinds: list[tuple[int, ...]],
    weight_of: dict[tuple[int, ...], int],
    total: int,
    weight: int,
) -> tuple[list[int], list[tuple[int, ...]]] | None:
    """Return the topics that do not fit at one density over ``kinds``, with all classes of members that may take them.

    Return None if all fit. A flow from every topic's partitions (times ``weight``) into each class's part of ``total``
    decides this.
    """
    if len(kinds) == 1 or not topics:
        return None
    node = {topic: 2 + index for index, topic in enumerate(topics)}
    network = Network(2 + len(topics) + len(kinds))
    supply = [network.add(0, node[topic], partitions[topic] * weight) for topic in topics]
    for index, kind in enumerate(kinds):
        network.add(2 + len(topics) + index, 1, weight_of[kind] * total)
        for topic in kind:
            if topic in node:
                network.add(node[topic], 2 + len(topics) + index, total * weight)
    network.send(0, 1)
    if not any(network.residual[arc] for arc in supply):
        return None
    side = network.reachable(0)
    return (
        [topic for topic in topics if side[node[topic]]],
        [kind for index, kind in enumerate(kinds) if side[2 + len(topics) + index]],
    )
