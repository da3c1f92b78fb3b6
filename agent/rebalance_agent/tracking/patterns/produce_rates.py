"""Produce rates of partitions, from their end offsets at successive times. Pure: the times are arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import expm1

from rebalance_agent.model.generation_diff import Partition

__all__ = ["SMOOTHED_SECONDS", "ProduceRates"]

SMOOTHED_SECONDS = 60.0
"""Time constant (seconds) of the mean rate: a burst hardly changes the rate, and a lasting change of load does so after
a minute or two."""


@dataclass(slots=True)
class _Grown:
    """One partition: its ``first`` and last (``end``) end offset, and its ``rate``.

    ``weight``: sum of the mean's weights.
    """

    first: int
    at: float
    end: int
    rate: float | None = None
    weight: float = 0.0


class ProduceRates:
    """The end offsets and produce rates of the partitions in the last measurement."""

    def __init__(self) -> None:
        """Start without partitions."""
        self._grown: dict[Partition, _Grown] = {}

    def take(self, at: float, ends: Mapping[Partition, int]) -> None:
        """Store the end offsets of all partitions at ``at`` (monotonic seconds)."""
        self._grown = {partition: self._next(partition, at, end) for partition, end in ends.items()}

    def rate(self, partition: Partition) -> float | None:
        """Return the produce rate (records per second, exponentially weighted mean); None before two measurements."""
        grown = self._grown.get(partition)
        return grown.rate if grown else None

    def lag(self, partition: Partition, committed: int | None) -> int | None:
        """Return the number of records between ``committed`` and the end offset; None if the end offset is unknown.

        Without a commit, a consumer starts at its ``auto.offset.reset``, which the observer cannot read. Then the lag
        is a lower bound: the records since the end offset was first read.
        """
        grown = self._grown.get(partition)
        if grown is None:
            return None
        return max(0, grown.end - (grown.first if committed is None else committed))

    def _next(self, partition: Partition, at: float, end: int) -> _Grown:
        grown = self._grown.get(partition)
        # The end offset decreased: the topic was deleted and recreated, or records were lost.
        if grown is None or end < grown.end:
            return _Grown(end, at, end)
        passed = at - grown.at
        if passed <= 0:
            return grown
        # Dividing by the sum of weights gives the first period no more weight than the others: otherwise a burst in it
        # would dominate the rate for minutes.
        fresh = -expm1(-passed / SMOOTHED_SECONDS)
        weight = grown.weight + (1 - grown.weight) * fresh
        before, now = grown.rate or 0.0, (end - grown.end) / passed
        return _Grown(grown.first, at, end, before + (now - before) * fresh / weight, weight)
