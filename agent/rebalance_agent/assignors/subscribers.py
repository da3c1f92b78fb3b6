"""Finds the subscribers of each topic. Members with equal subscriptions are handled together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

from rebalance_agent.model.subscription import MemberSubscription

__all__ = ["indexes_by_value", "subscribers_by_topic"]

_V = TypeVar("_V", bound=Hashable)


def indexes_by_value(values: Iterable[_V]) -> dict[_V, list[int]]:
    """Return value -> the indexes at which the value occurs, ascending; values are in order of first occurrence."""
    indexes: dict[_V, list[int]] = {}
    for index, value in enumerate(values):
        indexes.setdefault(value, []).append(index)
    return indexes


def subscribers_by_topic(members: Sequence[MemberSubscription]) -> dict[str, tuple[int, ...]]:
    """Return topic -> indexes of the topic's subscribers, ascending. Topics with equal subscribers share one tuple."""
    kinds = indexes_by_value(tuple(member.topics) for member in members)
    kinds_of_topic: defaultdict[str, list[int]] = defaultdict(list)
    for kind, topics in enumerate(kinds):
        for topic in topics if len(set(topics)) == len(topics) else dict.fromkeys(topics):
            kinds_of_topic[topic].append(kind)
    members_of_kind = list(kinds.values())
    all_differ = len(members_of_kind) == len(members)
    merged: dict[tuple[int, ...], tuple[int, ...]] = {}
    by_topic: dict[str, tuple[int, ...]] = {}
    for topic, kind_list in kinds_of_topic.items():
        key = tuple(kind_list)
        if key not in merged:
            # Kinds are numbered in member order: if all subscriptions differ, a kind's number is its member's index.
            merged[key] = key if all_differ else tuple(sorted(index for kind in key for index in members_of_kind[kind]))
        by_topic[topic] = merged[key]
    return by_topic
