"""Computes the hours of a group, and the daily values of its signals for `scan`. Pure, without Spark."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rebalance_agent.pipeline.changes.daily_counts import CountHistory
from rebalance_agent.pipeline.changes.scan import Days, Floats, Integers

__all__ = ["HOUR_MS", "STALL_SECONDS_MIN", "Hours", "Signal", "days_of", "hours_of"]

_DAY_HOURS = 24
HOUR_MS = 3_600_000
"""One hour in milliseconds."""

_PAUSE_MS = 600_000
"""Minimum pause between two occasions; pauses between the rebalances of a deploy are shorter."""

_OCCASION_MS = 3_600_000
"""Maximum length of an occasion, so that a group that rebalances all the time has many occasions."""

_IDLE_MIN = 0.25
"""Minimum of the share of a day in which an occasion can begin; it limits the correction for busy groups."""

_DEPENDENCE = 0.2
"""Assumed correlation of the rebalances of one day; it limits the weight of a day with many rebalances."""

_FACTOR_MAX = 8.0
"""Stalls that differ more from the normal stall of their trigger count as this multiple or fraction of that stall."""

_NORMAL = 1.4826  # median absolute deviation -> standard deviation, for a normal distribution
_STEPS_MIN = 5  # fewer steps do not give a spread
_SPREAD_UNKNOWN, _SPREAD_MIN = 0.5, 0.1  # standard deviations of the logarithm of a stall

STALL_SECONDS_MIN = 1e-6
"""Minimum stall that counts, in seconds. Rounding of floats can cause shorter ones, and their ratios are not exact."""


class Signal(StrEnum):
    """A property of a group that can change: seconds per rebalance, rebalances per day, or skew of assignments."""

    STALL = "stall"
    FREQUENCY = "frequency"
    SKEW = "skew"


class Hours(NamedTuple):
    """A group's hours with a rebalance (since the epoch), oldest first, and the group's ``first`` and ``last`` hour.

    ``occasions``: numbers of rebalances, where a series of rebalances counts once (`_PAUSE_MS`), divided by the share
    of the day in which a series can begin. ``stalls`` and ``skews``: numbers of rebalances with a known stall or skew.
    ``stall_logs`` and ``skew_logs``: sums of the natural logarithms of seconds and of ratios. ``stall_excess``: like
    ``stall_logs``, but each stall is relative to the normal stall of its trigger, and has a weight; ``stall_weights``:
    sums of these weights, on average 1 for each stall.
    """

    first: int
    last: int
    hours: Integers
    occasions: Floats
    stalls: Floats
    stall_logs: Floats
    stall_weights: Floats
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
    logs = np.zeros(len(stalls))
    logs[known] = np.log(stalls[known])
    excess, weights = _relative_to_trigger(logs, triggers, known)
    measured = skews >= 1
    skew_logs = np.zeros(len(skews))
    skew_logs[measured] = np.log(skews[measured])

    def summed(column: Floats | NDArray[np.bool_]) -> Floats:
        return np.bincount(rows, weights=column, minlength=len(hours)).astype(np.float64)

    return Hours(
        first,
        last,
        hours,
        summed(_begins_occasion(at_ms) / _idle_share(at_ms)),
        summed(known),
        summed(logs),
        summed(weights),
        summed(weights * excess),
        summed(measured),
        summed(skew_logs),
    )


def _relative_to_trigger(
    logs: Floats, triggers: NDArray[np.object_], known: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Return the difference of each known stall from the normal stall of its trigger, and its weight.

    A stall has more weight if the stalls of its trigger vary less: after a crash, the session timeout is most of the
    stall. The spread is computed from differences of successive stalls, because a change hardly increases these.
    """
    excess, weights = np.zeros(len(logs)), np.zeros(len(logs))
    for trigger in set(triggers[known]):
        same = known & (triggers == trigger)
        excess[same] = logs[same] - np.median(logs[same])
        steps = np.abs(np.diff(logs[same]))
        spread = _NORMAL * float(np.median(steps)) / np.sqrt(2) if len(steps) >= _STEPS_MIN else _SPREAD_UNKNOWN
        weights[same] = 1 / (spread**2 + _SPREAD_MIN**2)
    limit = np.log(_FACTOR_MAX)
    if known.any():
        weights /= weights[known].mean()
    return np.clip(excess, -limit, limit), weights


def _begins_occasion(at_ms: Integers) -> NDArray[np.bool_]:
    """Return for each rebalance, in order of time, whether it begins an occasion."""
    begins = np.diff(at_ms, prepend=-_PAUSE_MS) >= _PAUSE_MS
    series = np.maximum.accumulate(np.where(begins, at_ms, 0))
    part = (at_ms - series) // _OCCASION_MS
    return begins | (np.diff(part, prepend=0) > 0)


def _idle_share(at_ms: Integers) -> Floats:
    """Return for each rebalance the share of its day in which an occasion can begin, because none continues.

    Without it, a busy group that rebalances twice as often would have less than twice as many occasions.
    """
    if not len(at_ms):
        return np.ones(0)
    _, rows = np.unique(at_ms // (_DAY_HOURS * HOUR_MS), return_inverse=True)
    busy = np.bincount(rows, weights=np.minimum(np.diff(at_ms, append=at_ms[-1] + _PAUSE_MS), _PAUSE_MS))
    return np.maximum(_IDLE_MIN, 1 - busy / (_DAY_HOURS * HOUR_MS))[rows]


def days_of(hours: Hours, signal: Signal) -> Days:
    """Return the daily values of a signal for days with a rebalance, or, for the frequency, for all whole days."""
    if signal is Signal.FREQUENCY:
        return _frequencies(hours)
    numbers, sums = (
        (hours.stall_weights, hours.stall_excess) if signal is Signal.STALL else (hours.skews, hours.skew_logs)
    )
    days, rows = np.unique(hours.hours[numbers > 0] // _DAY_HOURS, return_inverse=True)
    count = np.bincount(rows, weights=numbers[numbers > 0], minlength=len(days))
    total = np.bincount(rows, weights=sums[numbers > 0], minlength=len(days))
    return Days(days, total / count, count / (1 + _DEPENDENCE * (count - 1)))


def _frequencies(hours: Hours) -> Days:
    """Return the rebalances of each whole day, as `daily_counts` transforms them."""
    begin, end = -(-hours.first // _DAY_HOURS), (hours.last + 1) // _DAY_HOURS
    days = np.arange(begin, max(begin, end))
    within = (hours.hours >= begin * _DAY_HOURS) & (hours.hours < end * _DAY_HOURS)
    rows = hours.hours[within] // _DAY_HOURS - begin
    counts = np.bincount(rows, weights=hours.occasions[within], minlength=len(days))
    history = CountHistory(int(begin), counts.astype(np.float64))
    return Days(days, history.values(), np.ones(len(days)), history)
