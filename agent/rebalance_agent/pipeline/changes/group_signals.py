"""Computes the hours of a group, and the daily values of its signals for `scan`. Pure, without Spark."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rebalance_agent.pipeline.changes.scan import Days, Floats, Integers

__all__ = ["HOUR_MS", "STALL_SECONDS_MIN", "Hours", "Signal", "days_of", "hours_of"]

_DAY_HOURS = 24
_WEEK = 7
HOUR_MS = 3_600_000
"""One hour in milliseconds."""

_PAUSE_MS = 600_000
"""Minimum pause between two occasions; pauses between the rebalances of a deploy are shorter."""

_OCCASION_MS = 1_800_000
"""Maximum length of an occasion, so that a group that rebalances all the time has many occasions."""

_DEPENDENCE = 0.2
"""Assumed correlation of the rebalances of one day; it limits the weight of a day with many rebalances."""

_FACTOR_MAX = 8.0
"""Stalls that differ more from the normal stall of their trigger count as this multiple or fraction of that stall."""


STALL_SECONDS_MIN = 1e-6
"""Minimum stall that counts, in seconds. Rounding of floats can cause shorter ones, and their ratios are not exact."""


class Signal(StrEnum):
    """A property of a group that can change: seconds per rebalance, rebalances per day, or skew of assignments."""

    STALL = "stall"
    FREQUENCY = "frequency"
    SKEW = "skew"


class Hours(NamedTuple):
    """A group's hours with a rebalance (since the epoch), oldest first, and the group's ``first`` and ``last`` hour.

    ``occasions``: numbers of rebalances, where a series of rebalances counts once (`_PAUSE_MS`). ``stalls`` and
    ``skews``: numbers of rebalances with a known stall or skew. ``stall_logs`` and ``skew_logs``: sums of the natural
    logarithms of seconds and of ratios. ``stall_excess``: like ``stall_logs``, but each stall is relative to the normal
    stall of its trigger.
    """

    first: int
    last: int
    hours: Integers
    occasions: Floats
    stalls: Floats
    stall_logs: Floats
    stall_excess: Floats
    skews: Floats
    skew_logs: Floats


def hours_of(
    at_ms: Integers, triggers: NDArray[np.object_], stalls: Floats, skews: Floats, first: int, last: int
) -> Hours:
    """Return the hours of a group from its rebalances; an unknown stall or skew is NaN.

    Stalls below `STALL_SECONDS_MIN` are left out, because these rebalances did not stop any partition.
    """
    hours, rows = np.unique(at_ms // HOUR_MS, return_inverse=True)
    known = stalls >= STALL_SECONDS_MIN
    logs, excess = np.zeros(len(stalls)), np.zeros(len(stalls))
    logs[known] = np.log(stalls[known])
    for trigger in set(triggers[known]):
        same = known & (triggers == trigger)
        excess[same] = logs[same] - np.median(logs[same])
    limit = np.log(_FACTOR_MAX)
    measured = skews >= 1
    skew_logs = np.zeros(len(skews))
    skew_logs[measured] = np.log(skews[measured])

    def summed(column: Floats | NDArray[np.bool_]) -> Floats:
        return np.bincount(rows, weights=column, minlength=len(hours)).astype(np.float64)

    return Hours(
        first,
        last,
        hours,
        summed(_begins_occasion(at_ms)),
        summed(known),
        summed(logs),
        summed(np.clip(excess, -limit, limit)),
        summed(measured),
        summed(skew_logs),
    )


def _begins_occasion(at_ms: Integers) -> NDArray[np.bool_]:
    """Return for each rebalance, in order of time, whether it begins an occasion."""
    begins = np.diff(at_ms, prepend=-_PAUSE_MS) >= _PAUSE_MS
    series = np.maximum.accumulate(np.where(begins, at_ms, 0))
    part = (at_ms - series) // _OCCASION_MS
    return begins | (np.diff(part, prepend=0) > 0)


def days_of(hours: Hours, signal: Signal) -> Days:
    """Return the daily values of a signal for days with a rebalance, or, for the frequency, for all whole days."""
    if signal is Signal.FREQUENCY:
        return _frequencies(hours)
    numbers, sums = (hours.stalls, hours.stall_excess) if signal is Signal.STALL else (hours.skews, hours.skew_logs)
    days, rows = np.unique(hours.hours[numbers > 0] // _DAY_HOURS, return_inverse=True)
    count = np.bincount(rows, weights=numbers[numbers > 0], minlength=len(days))
    total = np.bincount(rows, weights=sums[numbers > 0], minlength=len(days))
    return Days(days, total / count, count / (1 + _DEPENDENCE * (count - 1)))


def _frequencies(hours: Hours) -> Days:
    """Return the rebalances of each whole day, transformed so that the variance of a day does not depend on the mean.

    The transformation assumes a negative binomial distribution. If days vary no more than in a Poisson distribution,
    the transformation is the square root.
    """
    begin, end = -(-hours.first // _DAY_HOURS), (hours.last + 1) // _DAY_HOURS
    days = np.arange(begin, max(begin, end))
    within = (hours.hours >= begin * _DAY_HOURS) & (hours.hours < end * _DAY_HOURS)
    rows = hours.hours[within] // _DAY_HOURS - begin
    counts = np.bincount(rows, weights=hours.occasions[within], minlength=len(days))
    mean = counts.mean() if len(counts) else 0.0
    # The variance is computed from differences of successive days, because a change of level hardly increases these.
    variance = float(np.square(np.diff(counts)).mean()) / 2 if len(counts) > 1 else 0.0
    spread = max(0.0, (variance - mean) / mean**2) if mean else 0.0
    roots = np.sqrt(counts + 0.375)
    values = np.arcsinh(np.sqrt(spread) * roots) / np.sqrt(spread) if spread else roots
    return Days(days, values - _weekly(values), np.ones(len(days)))


def _weekly(values: Floats) -> Floats:
    """Return the part of each day's deviation that its day of the week explains; 0 if that part is relatively small."""
    if len(values) < 2 * _WEEK:
        return np.zeros(len(values))
    means = np.convolve(np.pad(values, _WEEK // 2, "reflect"), np.full(_WEEK, 1 / _WEEK), "valid")
    rows = np.arange(len(values)) % _WEEK
    deviations = values - means
    numbers = np.bincount(rows)
    by_day = np.bincount(rows, weights=deviations) / numbers
    noise = float(np.square(deviations - by_day[rows]).sum()) / (len(values) - _WEEK)
    explained = float(np.square(by_day).mean())
    kept = max(0.0, 1 - noise * float((1 / numbers).mean()) / explained) if explained else 0.0
    return kept * by_day[rows]
