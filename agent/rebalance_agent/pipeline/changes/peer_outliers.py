"""Finds members that stop more slowly than their peers in every rebalance. Pure, without Spark."""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["DEVIATIONS_MIN", "PEERS_MIN", "RATIO_MIN", "REBALANCES_MIN", "PeerOutlier", "peer_outliers"]

PEERS_MIN = 3
"""A member is compared with at least this number of other members."""

REBALANCES_MIN = 5
"""A member is compared in at least this number of rebalances."""

REBALANCES_MAX = 100
"""Maximum number of rebalances that count; the latest are used."""

DEVIATIONS_MIN = 3.5
"""Minimum distance from the peers' median, in standard deviations (estimated from the median absolute deviation)."""

RATIO_MIN = 1.5
"""Minimum ratio of a slow member's time to the peers' median."""

_NORMAL = 1.4826  # median absolute deviation -> standard deviation, for a normal distribution
_SPREAD_MIN = 0.1  # share of the median, so that a member is not slow only because its peers' times are nearly equal
_SPREAD_SECONDS_MIN = 0.05
_SLOWEST_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class PeerOutlier:
    """A member that is slower than its peers. Times are medians of the seconds until a member stopped processing.

    ``deviations``: distance from the peers in standard deviations. ``chance``: the probability (0 to 1) that one of
    equal members is in the slowest quarter at least as often.
    """

    member: str
    rebalances: int
    stop_seconds: float
    peers: int
    peers_stop_seconds: float
    deviations: float
    chance: float


def peer_outliers(rebalances: Iterable[Mapping[str, float]]) -> tuple[list[PeerOutlier], int]:
    """Return the slow members, and the number of members that were compared.

    ``rebalances``: for each rebalance, in order of time, a mapping of each member's name to the seconds until the
    member stopped.
    """
    stops: dict[str, list[float]] = defaultdict(list)
    ranks: dict[str, list[tuple[bool, float]]] = defaultdict(list)
    for rebalance in rebalances:
        if len(rebalance) <= PEERS_MIN:
            continue
        slowest = math.ceil(len(rebalance) * _SLOWEST_SHARE)
        ordered = sorted(rebalance.values())
        for member, seconds in rebalance.items():
            stops[member].append(seconds)
            # Members with equal times are not slow.
            among = len(ordered) - bisect_left(ordered, seconds) <= slowest
            ranks[member].append((among, slowest / len(rebalance)))
    medians = {
        member: statistics.median(values[-REBALANCES_MAX:])
        for member, values in stops.items()
        if len(values) >= REBALANCES_MIN
    }
    if len(medians) <= PEERS_MIN:
        return [], 0
    peers = _Peers(medians.values())
    judged = (_judged(member, own, peers, ranks[member][-REBALANCES_MAX:]) for member, own in medians.items())
    return [found for found in judged if found is not None], len(medians)


class _Peers:
    """The times of all members. The median and the spread of all members except one need no pass over the members."""

    def __init__(self, times: Iterable[float]) -> None:
        self._ordered = sorted(times)
        self.count = len(self._ordered)
        # By median: without one member, the median is one of at most three numbers.
        self._distances: dict[float, list[float]] = {}

    def without(self, own: float) -> tuple[float, float]:
        """Return the median of the other members and their median absolute deviation, for a member with this time."""
        middle = _median_without(self._ordered, own)
        if middle not in self._distances:
            self._distances[middle] = sorted(abs(value - middle) for value in self._ordered)
        return middle, _median_without(self._distances[middle], abs(own - middle))


def _median_without(ordered: Sequence[float], value: float) -> float:
    """Return the median of ascending numbers after removing ``value``, which is one of them, once."""
    removed, count = bisect_left(ordered, value), len(ordered) - 1
    low, high = ((index + (index >= removed)) for index in ((count - 1) // 2, count // 2))
    return (ordered[low] + ordered[high]) / 2


def _judged(member: str, own: float, peers: _Peers, ranks: Sequence[tuple[bool, float]]) -> PeerOutlier | None:
    middle, deviation = peers.without(own)
    spread = _NORMAL * deviation
    deviations = (own - middle) / max(spread, _SPREAD_MIN * middle, _SPREAD_SECONDS_MIN)
    if deviations < DEVIATIONS_MIN or own < RATIO_MIN * middle:
        return None
    times, number = sum(among for among, _ in ranks), len(ranks)
    chance = _at_least(times, number, statistics.fmean(share for _, share in ranks))
    return PeerOutlier(member, number, own, peers.count - 1, middle, deviations, chance)


def _at_least(times: int, number: int, chance: float) -> float:
    """Return the probability of at least ``times`` successes in ``number`` trials with the probability ``chance``."""
    return min(
        1.0,
        sum(
            math.comb(number, each) * chance**each * (1 - chance) ** (number - each)
            for each in range(times, number + 1)
        ),
    )
