"""What partitions carry, and how evenly members share it. Pure: whoever measures hands in plain numbers.

The measure of skew is the best that the subscriptions allow. No member can have less than the largest single partition,
and the members that may take some topics share at least all that these topics carry: the highest such share is the
densest level of the group (Fujishige 1980, see ``assignors.balance.shares``). Whole partitions may fit no better than
worse, so a ratio somewhat above 1 can be unavoidable; 1 is never beaten.
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

__all__ = ["ARCS_MAX", "GroupLoads", "LoadHistory", "Skews", "least_highest_load", "skew_ratio"]

ARCS_MAX = 40_000
"""Kinds of topics x kinds of members up to which the densest level is looked for: some 40 ms."""

_UNITS = 1_000
"""Parts of a record (or of a record per second) in which loads are divided: whole numbers divide exactly."""


@dataclass(frozen=True, slots=True)
class GroupLoads:
    """Loads of the partitions that a group's members have.

    ``lag``: records between committed offset and end; ``rate``: records per second that producers add. None: not known
    (nothing was ever committed; the end was seen only once).
    """

    lag: Mapping[Partition, float] | None = None
    rate: Mapping[Partition, float] | None = None


class Skews(NamedTuple):
    """Ratios by weight; None where the loads are not known."""

    lag: float | None = None
    rate: float | None = None


class LoadHistory:
    """One group's loads, and the skews that follow from them."""

    def __init__(self) -> None:
        """Begin knowing nothing."""
        self._loads = GroupLoads()
        self._members: Sequence[MemberLoad] | None = None
        self._skews = Skews()

    def take(self, loads: GroupLoads) -> bool:
        """Take what was measured anew; whether anything is different."""
        if loads == self._loads:
            return False
        self._loads, self._members = loads, None
        return True

    def skews(self, members: Sequence[MemberLoad]) -> Skews:
        """How evenly ``members`` share the loads; a view is drawn more often than either of them changes."""
        if members is not self._members:
            known = all(each.assigned is not None for each in members)
            lag, rate = (self._loads.lag, self._loads.rate) if known else (None, None)
            self._members = members
            self._skews = Skews(
                None if lag is None else skew_ratio(lag, members), None if rate is None else skew_ratio(rate, members)
            )
        return self._skews


def skew_ratio(loads: Mapping[Partition, float], members: Sequence[MemberLoad]) -> float:
    """Highest load of a member / the least that the highest load could be (see `least_highest_load`); at least 1.

    Partitions without an entry carry nothing, nor do members whose partitions nobody knows. Nothing to carry is shared
    perfectly: 1.
    """
    highest = max((_load(loads, member) for member in members), default=0.0)
    if highest <= 0:
        return 1.0
    return max(1.0, highest / least_highest_load(loads, members))


def least_highest_load(loads: Mapping[Partition, float], members: Sequence[MemberLoad]) -> float:
    """A bound below which no assignment of the partitions that ``members`` have can bring the highest load.

    Members to whom their strategy promises nothing (``target`` 0: passive ones and standbys) are not counted on. A
    member may take what it subscribes to and what it was given; one whose subscription is not known may take all.
    """
    counted = [member for member in members if member.target != 0 or _load(loads, member) > 0]
    by_topic: dict[str, list[float]] = {}
    for member in counted:
        for topic, numbers in (member.assigned or {}).items():
            by_topic.setdefault(topic, []).extend(loads.get((topic, number), 0.0) for number in numbers)
    loaded = {topic: fsum(some) for topic, some in by_topic.items() if any(some)}
    if not loaded:
        return 0.0
    largest = max(load for some in by_topic.values() for load in some)
    return max(largest, _densest(loaded, counted))


def _densest(loaded: Mapping[str, float], members: Sequence[MemberLoad]) -> float:
    takes = [_takes(member, loaded) for member in members]
    subscribers = {topic: tuple(place for place, some in enumerate(takes) if topic in some) for topic in loaded}
    kinds = set(subscribers.values())
    if len(kinds) == 1 or len(kinds) * len({frozenset(some) for some in takes}) > ARCS_MAX:
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
    # fsum: the same sum in every order, and so on every replica.
    return fsum(loads.get(each, 0.0) for each in pairs(member.assigned or {}))
