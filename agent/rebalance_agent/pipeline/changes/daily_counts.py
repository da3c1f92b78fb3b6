"""Turns the rebalances of each day into values whose variance is known, and generates random days. Pure, without Spark.

A count has at least the variance of a Poisson distribution, so few days are sufficient to test a difference. Days that
vary more are assumed to have a negative binomial distribution.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["VARIANCE", "CountHistory", "count_values"]

VARIANCE = 0.25
"""Variance of `count_values`, approximately."""

_SHIFT = 0.375  # Anscombe's, for small counts
_WEEK = 7
_THURSDAY = 3  # the day of the week of the epoch; Monday is 0
_SATURDAY = 5
_Floats = NDArray[np.float64]


class CountHistory(NamedTuple):
    """The counts of all days of a group. ``first``: the number of the first day since the epoch."""

    first: int
    counts: _Floats

    def values(self) -> _Floats:
        """Return the `count_values` of all days."""
        row: _Floats = count_values(self.counts[np.newaxis], self.first)[0]
        return row

    def drawn(self, part: slice, rows: int, rng: np.random.Generator) -> _Floats:
        """Return rows of random counts of all days, without a change, with the mean that ``part`` has."""
        roots = np.sqrt(self.counts + _SHIFT)[np.newaxis]
        weekly = (roots - _without_weekly(roots, self.first))[0]
        means = np.square(np.maximum(0.0, roots.mean() + weekly))
        means *= self.counts[part].mean() / means[part].mean()
        spread = float(_spread(self.counts[np.newaxis], self.first)[0])
        drawn = np.broadcast_to(means, (rows, len(means)))
        if spread > 0:
            drawn = drawn * spread * rng.standard_gamma(1 / spread, drawn.shape)
        return rng.poisson(drawn).astype(np.float64)


def count_values(counts: _Floats, first: int) -> _Floats:
    """Return the value of each day, without the weekly pattern; the variance does not depend on the mean.

    ``counts`` has a series per row, which begins with the day ``first``. For the Poisson distribution, the value is the
    square root.
    """
    roots = np.sqrt(counts + _SHIFT)
    spread = _spread(counts, first)[:, np.newaxis]
    scale = np.sqrt(np.where(spread > 0, spread, 1.0))
    values = np.where(spread > 0, np.arcsinh(scale * roots) / scale, roots)
    return _without_weekly(values, first)


def _spread(counts: _Floats, first: int) -> _Floats:
    """Return the spread of each row: the variance of a day is ``mean + spread * mean**2``; 0 is Poisson.

    The spread is computed from differences of successive days, because a change of level hardly increases these.
    """
    if counts.shape[1] < 2:  # noqa: PLR2004 - a difference needs two days
        return np.zeros(len(counts))
    variances = np.square(np.diff(_without_weekly(np.sqrt(counts + _SHIFT), first), axis=1)).mean(axis=1) / 2
    means = counts.mean(axis=1)
    excess = np.maximum(0.0, variances / VARIANCE - 1)
    spreads: _Floats = np.divide(excess, means, out=np.zeros_like(means), where=means > 0)
    return spreads


def _without_weekly(values: _Floats, first: int) -> _Floats:
    """Remove the weekly pattern: the difference of weekends, then the days of the week, each unless it is small."""
    days = (np.arange(values.shape[1]) + first + _THURSDAY) % _WEEK
    if len(days) < 2 * _WEEK:
        return values
    for kinds in ((days >= _SATURDAY).astype(np.int64), days):
        values = values - _explained(values, kinds)
    return values


def _explained(values: _Floats, kinds: NDArray[np.int64]) -> _Floats:
    """Return the part of each day's deviation from the week around it that its kind explains; 0 if it is small."""
    padded = np.pad(values, ((0, 0), (_WEEK // 2, _WEEK // 2)), "reflect")
    deviations = values - np.lib.stride_tricks.sliding_window_view(padded, _WEEK, axis=1).mean(axis=-1)
    shares = np.bincount(kinds) / len(kinds)
    by_kind = np.stack([deviations[:, kinds == kind].mean(axis=1) for kind in range(len(shares))], axis=1)
    noise = np.square(deviations - by_kind[:, kinds]).sum(axis=1) / (len(kinds) - len(shares))
    explained = (np.square(by_kind) * shares).sum(axis=1)
    needed = noise * len(shares) / len(kinds)
    kept = np.maximum(0.0, 1 - np.divide(needed, explained, out=np.ones_like(needed), where=explained > 0))
    part: _Floats = (kept[:, np.newaxis] * by_kind)[:, kinds]
    return part
