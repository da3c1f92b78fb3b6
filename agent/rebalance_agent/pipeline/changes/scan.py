"""Finds the span of days that differs most from other days, and the probability that chance explains the difference.

The statistic compares two means with equal variance to one mean: it is the logarithm of the likelihood ratio, minus a
penalty for a second change. It is compared with the statistic of permuted days, so the distribution of values need not
be known, and events of one day may depend on each other. A weekly pattern does not count as a change, because it is
more regular than permuted days. Counts are compared with random counts instead: their variance is known, so fewer days
are sufficient. Pure, without Spark.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rebalance_agent.pipeline.changes.daily_counts import VARIANCE, CountHistory, count_values

__all__ = ["DAYS_MIN", "DaySpan", "Days", "Floats", "Integers", "best_span", "chance_of_span"]

DAYS_MIN = 3
"""Minimum number of days inside a span and outside the span; one or two days are an incident, not a change."""

_FIRST, _MORE = 200, 2_000
"""Numbers of permutations; the result of the first number decides whether more permutations are necessary."""

_ENOUGH = 20
"""Sufficient number of permutations with at least the observed statistic for an estimate of its probability."""

_OFTEN = 0.01
"""Probability above which permuted days have a span of counts too often."""

_TAIL = 0.05
"""Share of permutations to which the tail is fitted, for probabilities that are too small for counting."""

_TWO_STEPS = 1.5
"""Penalty for a span that ends before the last day and so is two changes; in units of log(number of days)."""

_PERMUTED_MIN = 20
"""Minimum number of days for permutations; a shorter series is compared with random days."""

_FREEDOM = 6
"""Degrees of freedom of random days, which are far from their mean more often than normally distributed days."""

_EXPLAINED_MAX = 1 - 1e-12
_BATCH_CELLS = 2_000_000  # limits the memory of a batch of permutations to about 50 MB

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_Draw = Callable[["Days", int, np.random.Generator], tuple[Floats, Floats]]


class Days(NamedTuple):
    """A value for each day with data, oldest first. ``days``: numbers of the days since the epoch.

    ``weights``: the precision of each value relative to other days; 0 if a day has no value. ``history``: the
    counts from which the values were computed, of all days of the group; None if the values are not from counts.
    """

    days: Integers
    values: Floats
    weights: Floats
    history: CountHistory | None = None

    def between(self, begin: int, end: int) -> Days:
        """Return the days from index ``begin`` up to, but not including, ``end``."""
        return Days(self.days[begin:end], self.values[begin:end], self.weights[begin:end], self.history)


@dataclass(frozen=True, slots=True)
class DaySpan:
    """The days from index ``begin`` up to, not including, ``end``; ``statistic`` increases with the difference."""

    begin: int
    end: int
    statistic: float


class _Spans:
    """All spans in ``number`` days that leave at least `DAYS_MIN` days inside and outside the span."""

    def __init__(self, number: int) -> None:
        begins, ends = np.triu_indices(number + 1, 1)
        # No span begins with the first day, because the rest of the days gives the same division.
        allowed = (ends - begins >= DAYS_MIN) & (begins >= DAYS_MIN) & ((ends == number) | (number - ends >= DAYS_MIN))
        self.begins, self.ends = begins[allowed], ends[allowed]
        self._number = number
        self._penalties = np.where(self.ends < number, _TWO_STEPS * math.log(max(1, number)), 0.0)

    def statistics(self, values: Floats, weights: Floats, variance: float | None) -> Floats:
        """Return the statistic of each span for each row of values; the weighted mean of each row is 0.

        Without a known ``variance``, the variance is that of the row.
        """
        zero = np.zeros((*values.shape[:-1], 1))
        sums = np.concatenate((zero, np.cumsum(values * weights, axis=-1)), axis=-1)
        masses = np.concatenate((zero, np.cumsum(weights, axis=-1)), axis=-1)
        inside = masses[..., self.ends] - masses[..., self.begins]
        outside = masses[..., -1:] - inside
        difference = sums[..., self.ends] - sums[..., self.begins]
        between = difference**2 * (1 / inside + 1 / outside)
        if variance is not None:
            known: Floats = between / (2 * variance) - self._penalties
            return known
        total = np.sum(weights * values**2, axis=-1, keepdims=True)
        explained = np.divide(between, total, out=np.zeros_like(between), where=total > 0)
        gains: Floats = -self._number / 2 * np.log1p(-np.minimum(explained, _EXPLAINED_MAX))
        return gains - self._penalties


def best_span(series: Days) -> DaySpan | None:
    """Return the span that differs most, from a change to the next change or the end; None if days are too few."""
    number = len(series.values)
    spans = _Spans(number)
    if not len(spans.begins):
        return None
    values = _centered(series)
    if not np.any(np.abs(values) > 1e-9):  # noqa: PLR2004 - rounding
        return None
    statistics = spans.statistics(values, series.weights, _variance(series))
    best = int(np.argmax(statistics))
    return DaySpan(int(spans.begins[best]), int(spans.ends[best]), float(statistics[best]))


def chance_of_span(series: Days, span: DaySpan, seed: int) -> float:
    """Return the probability (0 to 1) that days without a change have a span that differs at least as much.

    Counts are compared with random counts, whose variance is known. But a few extreme days must not be a change, so
    the permuted days must not have such a span often, either.
    """
    if series.history is None:
        return _chance(series, span.statistic, _permuted if len(series.values) >= _PERMUTED_MIN else _random, seed)
    chance = _chance(series, span.statistic, _counted, seed)
    if chance > _OFTEN or len(series.values) < _PERMUTED_MIN:
        return chance
    permuted = _chance(series, span.statistic, _permuted, seed)
    return permuted if permuted > _OFTEN else chance


def _chance(series: Days, statistic: float, draw: _Draw, seed: int) -> float:
    spans = _Spans(len(series.values))
    rng = np.random.default_rng(seed)
    drawn = np.empty(0)
    for number in (_FIRST, _MORE):
        drawn = np.concatenate((drawn, _highest(series, spans, draw, number - len(drawn), rng)))
        higher = int(np.count_nonzero(drawn >= statistic))
        if higher >= _ENOUGH:
            return (higher + 1) / (len(drawn) + 1)
    return _tail(drawn, statistic)


def _variance(series: Days) -> float | None:
    return None if series.history is None else VARIANCE


def _centered(series: Days) -> Floats:
    return series.values - np.average(series.values, weights=series.weights)


def _highest(series: Days, spans: _Spans, draw: _Draw, number: int, rng: np.random.Generator) -> Floats:
    """Return the highest statistic of each of ``number`` random series."""
    batch = max(1, _BATCH_CELLS // len(spans.begins))
    return np.concatenate(
        [
            spans.statistics(*draw(series, min(batch, number - start), rng), _variance(series)).max(axis=1)
            for start in range(0, number, batch)
        ]
    )


def _permuted(series: Days, rows: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    order = rng.permuted(np.tile(np.arange(len(series.values)), (rows, 1)), axis=1)
    return _centered(series)[order], series.weights[order]


def _counted(series: Days, rows: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the values of random counts, computed like the values of the history."""
    assert series.history is not None  # noqa: S101 - for the type checker
    part = slice(*(series.days[[0, -1]] - series.history.first + (0, 1)))
    drawn = series.history.drawn(part, rows, rng)
    values = count_values(drawn, series.history.first)[:, part]
    return values - values.mean(axis=1, keepdims=True), np.broadcast_to(series.weights, values.shape)


def _random(series: Days, rows: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return random days with these weights, because a short series has too few permutations."""
    weights = np.broadcast_to(series.weights, (rows, len(series.weights)))
    values = rng.standard_t(_FREEDOM, weights.shape) / np.sqrt(weights)
    return values - np.average(values, axis=1, weights=weights)[:, np.newaxis], weights


def _tail(drawn: Floats, statistic: float) -> float:
    """Return the probability of a higher statistic; with equal variances, the tail of the statistic is exponential."""
    begins = float(np.quantile(drawn, 1 - _TAIL))
    higher = drawn[drawn > begins] - begins
    if statistic <= begins or not len(higher):
        return (int(np.count_nonzero(drawn >= statistic)) + 1) / (len(drawn) + 1)
    return _TAIL * math.exp(-(statistic - begins) / float(higher.mean()))
