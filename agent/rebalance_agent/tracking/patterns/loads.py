"""The load of partitions (lag, produce rate), and how evenly a group's members share it. Pure.

Skew is measured against a lower bound of the highest member load that the subscriptions allow: some member must own the
largest single partition, and the members that may take a set of topics share at least the whole load of these topics.
The highest such share is the densest level of the group (Fujishige 1980, see ``assignors.balance.shares``). Since
partitions cannot be split, a ratio somewhat above 1 can be unavoidable; it is never below 1.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import NamedTuple

from rebalance_agent.assignors.balance.shares import fair_densities
from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.model.partitions import pairs
from rebalance_agent.tracking.views import MemberLoad

__all__ = ["ARCS_MAX", "GroupLoads", "LoadHistory", "Skews", "min_highest_load", "skew_ratio"]

ARCS_MAX = 40_000
"""Maximum product of kinds of topics and kinds of members for which the densest level is computed (in about 40 ms);
beyond it the mean load is used."""

_UNITS = 1_000
"""Units per record (or record per second): loads are rounded to integers, so that fractions are exact."""


@dataclass(frozen=True, slots=True)
class GroupLoads:
    """The loads of the partitions that a group's members own.

    ``lag``: records between committed offset and end offset. ``rate``: records per second that producers append. A
    value is None if it is unknown, because no offset was ever committed or the end offset was read only once.
    """

    lag: Mapping[Partition, float] | None = None
    rate: Mapping[Partition, float] | None = None


class Skews(NamedTuple):
    """The skew ratios by lag and by rate; None if the loads are unknown."""

    lag: float | None = None
    rate: float | None = None


class LoadHistory:
    """The last loads of one group, and the skews that follow from them."""

    def __init__(self) -> None:
        """Start without loads."""
        self._loads = GroupLoads()
        self._members: Sequence[MemberLoad] | None = None
        self._skews = Skews()

    def take(self, loads: GroupLoads) -> bool:
        """Store new loads; return whether they changed."""
        if loads == self._loads:
            return False
        self._loads, self._members = loads, None
        return True

    def skews(self, members: Sequence[MemberLoad]) -> Skews:
        """Return how evenly ``members`` share the loads; cached, since views are built more often than loads change."""
        if members is not self._members:
            known = all(member.assigned is not None for member in members)
            lag, rate = (self._loads.lag, self._loads.rate) if known else (None, None)
            self._members = members
            self._skews = Skews(
                None if lag is None else skew_ratio(lag, members), None if rate is None else skew_ratio(rate, members)
            )
        return self._skews


def skew_ratio(loads: Mapping[Partition, float], members: Sequence[MemberLoad]) -> float:
    """Return the highest member load divided by its lower bound (see `min_highest_load`); at least 1.

    Partitions without an entry, and members whose partitions are unknown, have no load. Without any load, the result is
    1.
    """
    highest = max((_load(loads, member) for member in members), default=0.0)
    if highest <= 0:
        return 1.0
    return max(1.0, highest / min_highest_load(loads, members))


def min_highest_load(loads: Mapping[Partition, float], members: Sequence[MemberLoad]) -> float:
    """Return a lower bound of the highest member load over all assignments of the partitions that ``members`` have.

    Members with a ``target`` of 0 (passive members and standbys) are left out. A member may take the topics that it
    subscribes to and those assigned to it; a member whose subscription is unknown may take all.
    """
    counted = [member for member in members if member.target != 0 or _load(loads, member) > 0]
    by_topic: dict[str, list[float]] = {}
    for member in counted:
        for topic, numbers in (member.assigned or {}).items():
            by_topic.setdefault(topic, []).extend(loads.get((topic, number), 0.0) for number in numbers)
    loaded = {topic: fsum(topic_loads) for topic, topic_loads in by_topic.items() if any(topic_loads)}
    if not loaded:
        return 0.0
    largest = max(load for topic_loads in by_topic.values() for load in topic_loads)
    return max(largest, _densest(loaded, counted))


def _densest(loaded: Mapping[str, float], members: Sequence[MemberLoad]) -> float:
    takes = [_takes(member, loaded) for member in members]
    subscribers = {topic: tuple(index for index, topics in enumerate(takes) if topic in topics) for topic in loaded}
    kinds = set(subscribers.values())
    if len(kinds) == 1 or len(kinds) * len({frozenset(topics) for topics in takes}) > ARCS_MAX:
        return fsum(loaded.values()) / len(set[int]().union(*kinds))
    shares = fair_densities(
        [round(load * _UNITS) for load in loaded.values()], list(subscribers.values()), [1] * len(members)
    )
    return float(max(shares)) / _UNITS


def _takes(member: MemberLoad, loaded: Mapping[str, float]) -> Collection[str]:
    if member.topics is None:
        return loaded.keys()
    return loaded.keys() & {*member.topics, *(topic for topic, numbers in (member.assigned or {}).items() if numbers)}


def _load(loads: Mapping[Partition, float], member: MemberLoad) -> float:
    # fsum gives the same sum in every order, and therefore on every replica.
    return fsum(loads.get(partition, 0.0) for partition in pairs(member.assigned or {}))
