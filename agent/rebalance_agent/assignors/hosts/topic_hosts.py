"""Counts the hosts of each topic's partitions, and computes whether a random distribution could explain them. Pure.

A topic can be entirely on one host by chance, and in a group with few topics all of them can. So this module compares
the number of such topics with the result of a random distribution over the same hosts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rebalance_agent.assignors.roster import Roster

__all__ = ["CHANCE_MAX", "HostSpread", "host_spread"]

CHANCE_MAX = 1e-6
"""Highest probability for which an assignment counts as clustered: thousands of groups are measured all the time."""

_PROBABILITY_MIN = 1e-300
"""Smaller probabilities are replaced by this one, so that the logarithm exists."""


@dataclass(frozen=True, slots=True)
class HostSpread:
    """The ``topics`` that could be on several hosts: they have several assigned partitions and several possible hosts.

    ``on_one_host``: how many of these topics are entirely on one host. ``hosts``: how many hosts could own partitions
    of them. ``ratio``: mean over topics of hosts that own partitions / min(partitions, possible hosts); 1 is best.
    ``chance``: upper bound of the probability that a random distribution puts as many of these topics on one host.
    """

    topics: int
    on_one_host: int
    hosts: int
    ratio: float
    chance: float

    @property
    def one_host_ratio(self) -> float:
        """The share of topics that are entirely on one host, by chance or not."""
        return self.on_one_host / self.topics

    @property
    def clustered(self) -> int:
        """The number of topics that are entirely on one host; 0 if a random distribution could explain it."""
        return self.on_one_host if self.chance <= CHANCE_MAX else 0

    @property
    def clustered_ratio(self) -> float:
        """The share of topics that are ``clustered``."""
        return self.clustered / self.topics


def host_spread(
    roster: Roster, plan: Sequence[Mapping[str, Sequence[int]]], targets: Sequence[int], hosts: Sequence[str]
) -> HostSpread | None:
    """Measure ``plan`` (partitions of each member); ``targets`` and ``hosts`` have one entry per member, too.

    A host could own partitions of a topic if one of its members subscribes to the topic and has capacity: the member's
    target exceeds the number of partitions that it owns of topics with other subscribers. So passive members of a
    failover group, and members that are full with other topics, are not possible owners. Return None if no topic could
    be on several hosts.
    """
    if len(set(hosts)) < 2:  # noqa: PLR2004 - one host
        return None
    index_of = {topic: index for index, topic in enumerate(roster.topics)}
    on: list[dict[str, int]] = [{} for _ in roster.topics]
    for given, host in zip(plan, hosts, strict=True):
        for topic, numbers in given.items():
            index = index_of.get(topic)
            if index is not None and numbers:
                on[index][host] = on[index].get(host, 0) + len(numbers)
    shares: dict[int, dict[str, float]] = {}  # equal subscribers are one tuple, see Roster
    others = _LoadOfOthers(roster, plan, index_of)
    for subscribers in roster.subscribers:
        if (key := id(subscribers)) not in shares:
            capacity: dict[str, int] = {}
            for member in subscribers:
                if (left := targets[member] - others.of(member, key)) > 0:
                    capacity[hosts[member]] = capacity.get(hosts[member], 0) + left
            total = sum(capacity.values())
            shares[key] = {host: part / total for host, part in capacity.items()}
    return _measured(on, [shares[id(subscribers)] for subscribers in roster.subscribers])


class _LoadOfOthers:
    """The partitions that members own of topics with other subscribers; subscribers are keyed by their tuple's id."""

    def __init__(
        self, roster: Roster, plan: Sequence[Mapping[str, Sequence[int]]], index_of: Mapping[str, int]
    ) -> None:
        self._alike: dict[tuple[int, int], int] = {}
        self._loads = [0] * len(plan)
        if roster.uniform():
            return
        for member, given in enumerate(plan):
            for topic, numbers in given.items():
                if (index := index_of.get(topic)) is not None:
                    key = member, id(roster.subscribers[index])
                    self._alike[key] = self._alike.get(key, 0) + len(numbers)
                    self._loads[member] += len(numbers)

    def of(self, member: int, key: int) -> int:
        """Return how many partitions ``member`` owns of topics with subscribers other than ``key``."""
        return self._loads[member] - self._alike.get((member, key), 0)


def _measured(on: Sequence[Mapping[str, int]], shares: Sequence[Mapping[str, float]]) -> HostSpread | None:
    """Measure the topics; ``on``: host -> partitions, ``shares``: possible host -> its share, both by topic."""
    topics = on_one_host = 0
    possible: set[str] = set()
    ratios = chances = 0.0
    chance_of: dict[tuple[int, int], float] = {}
    for owning, share in zip(on, shares, strict=True):
        count = sum(owning.values())
        if count < 2 or len(share) < 2:  # noqa: PLR2004 - it cannot be on several hosts
            continue
        topics += 1
        on_one_host += len(owning) == 1
        possible |= share.keys()
        ratios += min(1.0, len(owning) / min(count, len(share)))
        key = id(share), count
        if key not in chance_of:
            chance_of[key] = sum(part**count for part in share.values())
        chances += chance_of[key]
    if not topics:
        return None
    return HostSpread(
        topics, on_one_host, len(possible), ratios / topics, _chance(topics, on_one_host / topics, chances / topics)
    )


def _chance(topics: int, observed: float, expected: float) -> float:
    """Return an upper bound of the probability that the share of successes reaches ``observed``.

    ``expected``: the mean of the probabilities of the trials, which may differ. The bound is theorem 1 of W. Hoeffding,
    Probability Inequalities for Sums of Bounded Random Variables (1963).
    """
    if observed <= expected:
        return 1.0
    divergence = observed * math.log(observed / max(expected, _PROBABILITY_MIN))
    if observed < 1:
        divergence += (1 - observed) * math.log((1 - observed) / (1 - expected))
    return math.exp(-topics * divergence)
