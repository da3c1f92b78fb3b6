"""Computes a group's stall per week from its daily sums, with a confidence interval.

Days are the sample, because the rebalances of a day often have one cause, such as a deploy. Many days have no stall and
few have much, so an interval is not symmetric: it is that of a gamma distribution with the sum's mean and variance (Fay
and Feuer, 1997, "Confidence intervals for directly standardized rates"). The interval of a difference is computed from
those of both terms (Zou and Donner, 2008, "Construction of confidence limits about effect measures").
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["CONFIDENCE", "STALLED_DAYS_MIN", "WEEK_DAYS", "WeeklyStall", "saving", "weekly_stall"]

CONFIDENCE = 0.95
"""The probability that an interval contains the true value."""

STALLED_DAYS_MIN = 5
"""Fewest days with stall from which a week is estimated: with fewer, the intervals are too narrow."""

WEEK_DAYS = 7
"""Days of a week."""

_Z = statistics.NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


@dataclass(frozen=True, slots=True)
class WeeklyStall:
    """Partition-seconds per week, or a difference of them: the estimate, and the ends of its confidence interval."""

    value: float
    low: float
    high: float

    def times(self, factor: float) -> WeeklyStall:
        """Return the value and its interval, multiplied by a positive factor."""
        return WeeklyStall(self.value * factor, self.low * factor, self.high * factor)


def weekly_stall(days: Sequence[float]) -> WeeklyStall | None:
    """Return the stall per week of a group with these daily sums (partition-seconds).

    None with fewer than `STALLED_DAYS_MIN` days with stall.
    """
    stalled = _stalled(days)
    return _estimate(days, statistics.fmean(stalled)) if len(stalled) >= STALLED_DAYS_MIN else None


def saving(before: Sequence[float], after: Sequence[float]) -> WeeklyStall | None:
    """Return how much stall per week was saved between two times, each of at least two days, from their daily sums.

    None with fewer than `STALLED_DAYS_MIN` days with stall before; after it, there may be none.
    """
    was = weekly_stall(before)
    if was is None:
        return None
    now = _estimate(after, statistics.fmean(_stalled([*before, *after])))
    value = was.value - now.value
    return WeeklyStall(
        value,
        value - math.hypot(was.value - was.low, now.high - now.value),
        value + math.hypot(was.high - was.value, now.value - now.low),
    )


def _stalled(days: Sequence[float]) -> Sequence[float]:
    return [day for day in days if day > 0]


def _estimate(days: Sequence[float], spare: float) -> WeeklyStall:
    """Return the sum per week. ``spare``: the stall of one day more, which the high end takes into account."""
    total, variance = sum(days), len(days) * statistics.variance(days)
    low = _gamma_quantile(-_Z, total, variance) if total > 0 else 0.0
    high = _gamma_quantile(_Z, total + spare, variance + spare**2)
    return WeeklyStall(total, min(low, total), max(high, total)).times(WEEK_DAYS / len(days))


def _gamma_quantile(z: float, mean: float, variance: float) -> float:
    """Return the quantile of a gamma distribution, with the approximation of Wilson and Hilferty.

    ``z``: the quantile of the normal distribution for the same probability.
    """
    if variance <= 0:
        return mean
    shape = mean**2 / variance
    return mean * max(0.0, 1 - 1 / (9 * shape) + z / (3 * math.sqrt(shape))) ** 3
