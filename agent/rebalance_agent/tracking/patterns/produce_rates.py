"""How fast partitions grow, from their end offsets at successive moments. Pure: the moments are arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import expm1

from rebalance_agent.model.generation_diff import Partition

__all__ = ["SMOOTHED_SECONDS", "ProduceRates"]

SMOOTHED_SECONDS = 60.0
"""Time constant of the rate: a burst of one period hardly shows, a change of load shows after a minute or two."""


@dataclass(slots=True)
class _Grown:
    """``first``: the end when it was first seen. ``weight``: of what there could be to go by, how much there was."""

    first: int
    at: float
    end: int
    rate: float | None = None
    weight: float = 0.0


class ProduceRates:
    """Follows the ends of partitions, of those only that were in the last measurement."""

    def __init__(self) -> None:
        """Begin knowing nothing."""
        self._grown: dict[Partition, _Grown] = {}

    def take(self, at: float, ends: Mapping[Partition, int]) -> None:
        """These were the end offsets at ``at`` (monotonic seconds)."""
        self._grown = {partition: self._next(partition, at, end) for partition, end in ends.items()}

    def rate(self, partition: Partition) -> float | None:
        """Records per second, the exponentially weighted mean of what was seen; None before it was seen twice."""
        grown = self._grown.get(partition)
        return grown.rate if grown else None

    def lag(self, partition: Partition, committed: int | None) -> int | None:
        """Records between ``committed`` and the end; None where the end is not known.

        Where nothing was committed a consumer begins where ``auto.offset.reset`` says, which nobody tells us: then it
        is what came since the end was first seen, the least that it can be.
        """
        grown = self._grown.get(partition)
        if grown is None:
            return None
        return max(0, grown.end - (grown.first if committed is None else committed))

    def _next(self, partition: Partition, at: float, end: int) -> _Grown:
        grown = self._grown.get(partition)
        # An end that falls: the topic was deleted and made again, or records were lost.
        if grown is None or end < grown.end:
            return _Grown(end, at, end)
        passed = at - grown.at
        if passed <= 0:
            return grown
        # Divided by the weight of all that was seen, the first period counts for no more than those that follow:
        # otherwise a burst in it would be taken for what is usual, for minutes.
        fresh = -expm1(-passed / SMOOTHED_SECONDS)
        weight = grown.weight + (1 - grown.weight) * fresh
        before, now = grown.rate or 0.0, (end - grown.end) / passed
        return _Grown(grown.first, at, end, before + (now - before) * fresh / weight, weight)
