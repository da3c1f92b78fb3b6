"""Finds members that stop more slowly than their peers in every rebalance. Pure, without Spark."""

from __future__ import annotations

import math
import statistics
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
        limit = sorted(rebalance.values())[-slowest]
        for member, seconds in rebalance.items():
            stops[member].append(seconds)
            # Members with equal times are not slow.
            among = seconds >= limit and sum(other >= seconds for other in rebalance.values()) <= slowest
            ranks[member].append((among, slowest / len(rebalance)))
    medians = {
        member: statistics.median(values[-REBALANCES_MAX:])
        for member, values in stops.items()
        if len(values) >= REBALANCES_MIN
    }
    if len(medians) <= PEERS_MIN:
        return [], 0
    judged = (_judged(member, medians, ranks[member][-REBALANCES_MAX:]) for member in medians)
    return [found for found in judged if found is not None], len(medians)


def _judged(member: str, medians: Mapping[str, float], ranks: Sequence[tuple[bool, float]]) -> PeerOutlier | None:
    own, others = medians[member], [value for name, value in medians.items() if name != member]
    middle = statistics.median(others)
    spread = _NORMAL * statistics.median(abs(value - middle) for value in others)
    deviations = (own - middle) / max(spread, _SPREAD_MIN * middle, _SPREAD_SECONDS_MIN)
    if deviations < DEVIATIONS_MIN or own < RATIO_MIN * middle:
        return None
    times, number = sum(among for among, _ in ranks), len(ranks)
    chance = _at_least(times, number, statistics.fmean(share for _, share in ranks))
    return PeerOutlier(member, number, own, len(others), middle, deviations, chance)


def _at_least(times: int, number: int, chance: float) -> float:
    """Return the probability of at least ``times`` successes in ``number`` trials with the probability ``chance``."""
    return min(
        1.0,
        sum(
            math.comb(number, each) * chance**each * (1 - chance) ** (number - each)
            for each in range(times, number + 1)
        ),
    )
