"""Computes the best recall that a detector could have: a test that has the times of the changes from the generator.

The oracle also has the random distributions of each group from the generator: rates by hour of the week, the spread of
stalls by trigger, and where each series of rebalances begins. Only the level before a change and its size are unknown.
The test is the likelihood-ratio test of equal levels, two-sided: for the frequency of a Poisson process (given the
number of series, those inside the change have a binomial distribution), and for the logarithms of stalls and skews with
known variances. A detector has to find the time and to estimate the variances, so it cannot be better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from bench.pipeline.change_fleets import DAY_SPREAD, DAYS, MONDAY_HOUR, Planted, RandomGroup, Rebalance
from rebalance_agent.pipeline.changes.group_signals import Signal
from rebalance_agent.pipeline.changes.scan import Floats
from rebalance_agent.testing.synthetic.hourly_load import HOUR_MS, load_at

_NORMAL = np.array([NormalDist().inv_cdf((index + 0.5) / 100) for index in range(100)])
_TIMEOUTS = np.linspace(0.905, 1.095, 20)


def oracle_chance(group: RandomGroup, rows: Sequence[Rebalance], planted: Planted) -> float:
    """Return the probability (0 to 1) that chance explains the difference between the hours with and without a change.

    1 if one of both parts has no data.
    """
    if planted.signal is Signal.FREQUENCY:
        return _of_frequency(group, planted)
    known = [row for row in rows if row[2] > 0] if planted.signal is Signal.STALL else list(rows)
    inside = np.array([_is_inside(planted, row[0] // HOUR_MS) for row in known], dtype=bool)
    if not inside.any() or inside.all():
        return 1.0
    if planted.signal is Signal.STALL:
        found = [_log_stall(group.stall, group.spread, _timeout(group, row), _load(row)) for row in known]
        means, variances, shares = (np.array(column) for column in zip(*found, strict=True))
        days = np.array([row[0] // (24 * HOUR_MS) for row in known])
        return _of_levels(np.log([row[2] for row in known]) - means, variances, inside, days, shares * DAY_SPREAD)
    mean, variance = _log_skew(group.members, group.partitions, group.unbalanced)
    logs = np.log([row[3] for row in known]) - mean
    return _of_levels(logs, np.full(len(logs), variance), inside, np.arange(len(logs)), np.zeros(len(logs)))


def _is_inside(planted: Planted, hour: int) -> bool:
    return planted.factor(planted.signal, hour) > 1


def _timeout(group: RandomGroup, row: Rebalance) -> float:
    return group.timeout if row[1] == "member_failed" else 0.0


def _load(row: Rebalance) -> float:
    return round(load_at(row[0] - MONDAY_HOUR * HOUR_MS), 2)


def _of_frequency(group: RandomGroup, planted: Planted) -> float:
    rates = np.array([sum(group.rates(hour)) for hour in range(DAYS * 24)])
    inside = np.array([_is_inside(planted, MONDAY_HOUR + hour) for hour in range(DAYS * 24)])
    share = float(rates[inside].sum() / rates.sum())
    number = len(group.begun)
    within = sum(bool(inside[hour]) for hour in group.begun)
    tail = min(_binomial(range(within + 1), number, share), _binomial(range(within, number + 1), number, share))
    return min(1.0, 2 * tail)


def _binomial(successes: range, number: int, share: float) -> float:
    """Return the probability of any of these numbers of successes in ``number`` trials."""
    log, other = math.log(share), math.log(1 - share)
    every = math.lgamma(number + 1)
    return math.fsum(
        math.exp(every - math.lgamma(each + 1) - math.lgamma(number - each + 1) + each * log + (number - each) * other)
        for each in successes
    )


@lru_cache(maxsize=10_000)
def _log_stall(stall: float, spread: float, timeout: float, load: float) -> tuple[float, float, float]:
    """Return the mean and variance of a stall's logarithm, and the share of a day's deviation that it contains."""
    own = stall * np.exp(spread * _NORMAL)[:, np.newaxis] * load**0.3
    stalls = own + timeout * _TIMEOUTS
    logs = np.log(stalls)
    return float(logs.mean()), float(logs.var()), float((own / stalls).mean())


@lru_cache(maxsize=10_000)
def _log_skew(members: int, partitions: int, unbalanced: bool) -> tuple[float, float]:
    """Return the mean and variance of a skew's logarithm."""
    means = np.array([partitions / max(1, members + more) for more in (0, 0, 0, -1, 1)])
    logs = np.log(np.maximum(1.0, np.ceil(means) / means))[:, np.newaxis]
    if unbalanced:
        logs = logs + np.log1p(np.abs(0.2 + 0.15 * _NORMAL))
    return float(logs.mean()), max(1e-6, float(logs.var()))


def _of_levels(values: Floats, variances: Floats, inside: np.ndarray, days: np.ndarray, day_spreads: Floats) -> float:
    """Compare two levels; each day has a random deviation that is common to its values, times ``day_spreads``."""
    columns = np.stack((np.ones(len(values)), inside.astype(float), values))
    weighted = columns / variances
    products = weighted @ columns.T
    for day in np.unique(days):
        rows = days == day
        common = weighted[:, rows] @ day_spreads[rows]
        precision = 1 + float((day_spreads[rows] ** 2 / variances[rows]).sum())
        products -= np.outer(common, common) / precision
    (all_, in_, total), (_, _, part) = products[0], products[1]
    information = in_ - in_**2 / all_
    if information <= 0:
        return 1.0
    return math.erfc(abs(part - in_ * total / all_) / math.sqrt(2 * information))
