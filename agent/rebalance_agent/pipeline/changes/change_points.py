"""Finds when and by how much a group's signal changed, and the probability of chance. Pure, without Spark."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rebalance_agent.pipeline.changes.group_signals import Hours, Signal, days_of
from rebalance_agent.pipeline.changes.scan import Days, Floats, best_span, chance_of_span

__all__ = ["RATIO_MIN", "ChangePoint", "Found", "change_points"]

RATIO_MIN = 1.25
"""Minimum ratio of the levels before and after a change, or inverse of this ratio, for which the change is kept."""

CHANCE_MAX = 0.01
"""Highest probability of chance for a change; below it, the history before and after the change is searched, too."""

_DAY_HOURS = 24


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A change of a signal. ``hour``: the first hour with the new level, since the epoch.

    ``before`` and ``after``: seconds per rebalance, rebalances per day, or the skew; ``chance``: the probability (0 to
    1) of such a change without a cause. ``recovery``: the level is again the level before the previous change.
    """

    signal: Signal
    hour: int
    before: float
    after: float
    chance: float
    recovery: bool = False

    @property
    def ratio(self) -> float:
        """``after`` divided by ``before``."""
        return self.after / self.before


@dataclass(frozen=True, slots=True)
class Found:
    """The changes of one signal of a group, in order of time, and the number of statistical tests."""

    changes: tuple[ChangePoint, ...]
    tests: int


def change_points(hours: Hours, signal: Signal, name: str) -> Found:
    """Return the changes of ``signal``; the group's ``name`` seeds the permutations."""
    series = days_of(hours, signal)
    seed = zlib.crc32(f"{name}/{signal}".encode())
    chances, tests = _divided(series, seed)
    bounds = _pruned(hours, series, signal, sorted(chances))
    if not bounds:
        return Found((), tests)
    edges = [0, *bounds, len(series.values)]
    cuts = [_first_hour(hours, series, signal, edges[index - 1 : index + 2]) for index in range(1, len(edges) - 1)]
    levels = [_level(hours, series, signal, begin, end) for begin, end in pairwise(edges)]
    return Found(tuple(_rows(signal, cuts, levels, [chances[bound] for bound in bounds])), tests)


def _divided(series: Days, seed: int) -> tuple[dict[int, float], int]:
    """Return each change's chance, by the index of the first day after the change, and the number of tests."""
    chances: dict[int, float] = {}
    tests = 0
    todo = [(0, len(series.values), 0.0)]
    while todo:
        begin, end, parent = todo.pop()
        part = series.between(begin, end)
        if (span := best_span(part)) is None:
            continue
        tests += 1
        chance = max(parent, chance_of_span(part, span, seed + begin))
        if chance > CHANCE_MAX:
            continue
        edges = sorted({begin, begin + span.begin, begin + span.end, end})
        chances |= dict.fromkeys(edges[1:-1], chance)
        todo += [(left, right, chance) for left, right in pairwise(edges)]
    return chances, tests


def _pruned(hours: Hours, series: Days, signal: Signal, bounds: Sequence[int]) -> list[int]:
    """Leave out the smallest changes, one after the other, until all that remain are large enough."""
    kept = list(bounds)
    while kept:
        edges = [0, *kept, len(series.values)]
        levels = [_level(hours, series, signal, begin, end).log for begin, end in pairwise(edges)]
        steps = np.abs(np.diff(levels))
        if steps.min() >= math.log(RATIO_MIN):
            break
        del kept[int(steps.argmin())]
    return kept


@dataclass(frozen=True, slots=True)
class _Level:
    """``log``: the natural logarithm of a comparable level; ``shown``: the mean level in the signal's unit."""

    log: float
    shown: float


def _level(hours: Hours, series: Days, signal: Signal, begin: int, end: int) -> _Level:
    """Return the level of the days from index ``begin`` up to, but not including, ``end``."""
    days = series.days
    inside = (hours.hours >= days[begin] * _DAY_HOURS) & (hours.hours < (days[end - 1] + 1) * _DAY_HOURS)
    if signal is Signal.FREQUENCY:
        # Half a rebalance is added, so that levels without rebalances can be compared.
        rebalances, length = float(hours.occasions[inside].sum()), end - begin
        return _Level(math.log((rebalances + 0.5) / length), (rebalances + 0.5) / length)
    part = series.between(begin, end)
    log = float(np.average(part.values, weights=part.weights))
    numbers, logs = (hours.stalls, hours.stall_logs) if signal is Signal.STALL else (hours.skews, hours.skew_logs)
    return _Level(log, math.exp(logs[inside].sum() / numbers[inside].sum()))


def _first_hour(hours: Hours, series: Days, signal: Signal, edges: Sequence[int]) -> int:
    """Return the hour, within the days around ``edges[1]``, that best divides the days between the outer edges."""
    begin, middle, end = edges
    first, last = series.days[middle - 1] * _DAY_HOURS, (series.days[middle] + 1) * _DAY_HOURS
    window = (hours.hours >= first) & (hours.hours < last)
    if signal is Signal.FREQUENCY:
        before, after = (_level(hours, series, signal, *part) for part in ((begin, middle), (middle, end)))
        counts = np.zeros(last - first)
        counts[hours.hours[window] - first] = hours.occasions[window]
        # For each hour, the gain in log likelihood if the hour has the level before instead of the level after.
        gains = counts * (before.log - after.log) - (before.shown - after.shown) * _shape(hours)
        return int(first + np.argmax(np.concatenate(((0.0,), np.cumsum(gains)))))
    stall = signal is Signal.STALL
    numbers, sums = (hours.stall_weights, hours.stall_excess) if stall else (hours.skews, hours.skew_logs)
    window &= numbers > 0
    parts = (series.between(begin, middle), series.between(middle, end))
    before_log, after_log = (float(np.average(part.values, weights=part.weights)) for part in parts)
    middle_log = (before_log + after_log) / 2
    gains = (sums[window] - numbers[window] * middle_log) * np.sign(before_log - after_log)
    found = hours.hours[window]
    # At least one hour is after the change, because the last day of the window is.
    return int(found[min(len(found) - 1, int(np.argmax(np.concatenate(((0.0,), np.cumsum(gains))))))])


def _shape(hours: Hours) -> Floats:
    """Return the share of a day's rebalances in each hour of two days, partly smoothed."""
    counts = np.bincount(hours.hours % _DAY_HOURS, weights=hours.occasions, minlength=_DAY_HOURS) + 1.0
    share = counts / counts.sum()
    return np.tile(share / 2 + 1 / (2 * _DAY_HOURS), 2)


def _rows(
    signal: Signal, cuts: Sequence[int], levels: Sequence[_Level], chances: Sequence[float]
) -> Iterator[ChangePoint]:
    for index, (hour, chance) in enumerate(zip(cuts, chances, strict=True)):
        before, after = levels[index], levels[index + 1]
        back = index > 0 and abs(after.log - levels[index - 1].log) < math.log(RATIO_MIN)
        ratio = math.exp(after.log - before.log)
        yield ChangePoint(signal, hour, before.shown, before.shown * ratio, chance, back)
