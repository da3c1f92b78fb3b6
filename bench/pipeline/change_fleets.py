"""Generates the rebalances of groups with planted changes, without a simulation: thousands of groups take seconds.

Groups have daily and weekly load, deploys in working hours, autoscaling, crashes, storms and random durations. No two
groups are equal. A planted change multiplies one signal from a random hour on; a quarter of the changes end later.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rebalance_agent.pipeline.changes.group_signals import Hours, Signal, hours_of
from rebalance_agent.testing.synthetic.hourly_load import HOUR_MS, is_working_time, load_at

DAYS = 28
SIZES = (1.5, 2.0, 3.0)
MONDAY_HOUR = 494_520  # 2026-06-01 00:00 UTC
DAY_SPREAD = 0.12
"""Standard deviation between days of the logarithm of a stall."""

Rebalance = tuple[int, str, float, float]
"""Time in epoch milliseconds, trigger, seconds of stall, skew."""

_EDGE_DAYS = 7
_RECOVERED = 0.25


@dataclass(frozen=True, slots=True)
class Planted:
    """A change of ``signal`` by the factor ``size`` from ``hour`` until ``recovered``, if set (epoch hours)."""

    signal: Signal
    size: float
    hour: int
    recovered: int | None = None

    @property
    def hours(self) -> tuple[int, ...]:
        """The hours at which the signal changes: the start, and the end if there is one."""
        return (self.hour,) if self.recovered is None else (self.hour, self.recovered)

    def factor(self, signal: Signal, hour: float) -> float:
        """Return the factor of ``signal`` at ``hour``."""
        changed = self.signal is signal and self.hour <= hour and (self.recovered is None or hour < self.recovered)
        return self.size if changed else 1.0


def plant(rng: random.Random, signal: Signal, size: float) -> Planted:
    """Return a change that starts at a random hour, at least a week after the beginning and a week before the end."""
    hour = rng.randrange(_EDGE_DAYS * 24, (DAYS - _EDGE_DAYS) * 24)
    recovered = None
    if rng.random() < _RECOVERED:
        hour = rng.randrange(_EDGE_DAYS * 24, 12 * 24)
        recovered = MONDAY_HOUR + hour + rng.randrange(6 * 24, 10 * 24)
    return Planted(signal, size, MONDAY_HOUR + hour, recovered)


def group_hours(rows: Sequence[Rebalance]) -> Hours:
    """Return the signals by hour of a group with these rebalances."""
    at, triggers, stalls, skews = zip(*rows, strict=True) if rows else ((), (), (), ())
    return hours_of(
        np.array(at, dtype=np.int64),
        np.array(triggers, dtype=object),
        np.array(stalls, dtype=float),
        np.array(skews, dtype=float),
        MONDAY_HOUR,
        MONDAY_HOUR + DAYS * 24 - 1,
    )


class RandomGroup:
    """One group with random properties and random rebalances."""

    def __init__(self, rng: random.Random, planted: Planted | None) -> None:
        self._rng = rng
        self._planted = planted
        self.members = max(2, min(60, round(rng.lognormvariate(1.5, 0.75))))
        self.partitions = rng.choice((6, 8, 10, 12, 16, 24, 30, 32, 48, 64))
        self.crashes = rng.choice((0.1, 0.5, 1, 2, 5, 10, 20))
        self.deploys = rng.choice((0.1, 0.2, 0.5, 1, 1, 2))
        self.storms = 0.4 if rng.random() < 0.08 else 0.01
        self.scaled = rng.random() < 0.35
        self.stall = rng.lognormvariate(0.5, 0.8)
        self.timeout = rng.choice((10, 30, 45))
        self.spread = rng.uniform(0.15, 0.6)
        self.unbalanced = rng.random() < 0.4
        self.begun: list[int] = []
        self._of_day: dict[int, float] = {}

    def rebalances(self) -> list[Rebalance]:
        """Return the rebalances in order of time, and keep the hours at which each series began."""
        return sorted(rebalance for hour in range(DAYS * 24) for rebalance in self._of_hour(hour))

    def rates(self, hour: int) -> tuple[float, float, float, float]:
        """Return the mean numbers of crashes, deploys, scalings and storms in an hour without a planted change."""
        load = load_at(hour * HOUR_MS)
        daily = 0.11 if is_working_time(hour * HOUR_MS) else 0.002
        change = abs(load_at((hour + 1) * HOUR_MS) - load) * self.members if self.scaled else 0.0
        return self.crashes / 24 * load * 1.6, self.deploys * daily, change, self.storms / 24

    def _of_hour(self, hour: int) -> Iterator[Rebalance]:
        factor = self._factor(Signal.FREQUENCY, hour)
        crashes, deploys, scalings, storms = (rate * factor for rate in self.rates(hour))
        for _ in range(self._number(crashes)):
            yield from self._series(hour, ("member_failed", "member_left"), 2, 30)
        for _ in range(self._number(deploys)):
            yield from self._series(hour, ("member_left", "member_joined"), 2 * self.members, 30)
        if self.scaled:
            for _ in range(self._number(scalings)):
                yield from self._series(hour, ("member_joined", "member_left"), 1, 30)
        for _ in range(self._number(storms)):
            yield from self._series(hour, ("member_failed",), self._rng.randrange(6, 60), 120)

    def _series(self, hour: int, triggers: tuple[str, ...], number: int, gap_seconds: float) -> Iterator[Rebalance]:
        """Yield ``number`` rebalances, one after the other, on average ``gap_seconds`` apart."""
        self.begun.append(hour)
        at_ms = hour * HOUR_MS + self._rng.randrange(HOUR_MS)
        for index in range(number):
            if at_ms < DAYS * 24 * HOUR_MS:
                yield self._rebalance(at_ms, triggers[index % len(triggers)])
            at_ms += round(self._rng.expovariate(1 / (gap_seconds * 1000)))

    def _rebalance(self, at_ms: int, trigger: str) -> Rebalance:
        hour = at_ms // HOUR_MS
        of_day = self._of_day.setdefault(hour // 24, self._rng.gauss(0, DAY_SPREAD))
        stall = self.stall * math.exp(self._rng.gauss(of_day, self.spread)) * load_at(at_ms) ** 0.3
        if trigger == "member_failed":
            stall += self.timeout * self._rng.uniform(0.9, 1.1)
        return MONDAY_HOUR * HOUR_MS + at_ms, trigger, stall * self._factor(Signal.STALL, hour), self._skew(hour)

    def _skew(self, hour: int) -> float:
        members = self.members + self._rng.choice((0, 0, 0, -1, 1))
        mean = self.partitions / max(1, members)
        skew = max(1.0, -(-mean // 1) / mean)
        if self.unbalanced:
            skew *= 1 + abs(self._rng.gauss(0.2, 0.15))
        return skew * self._factor(Signal.SKEW, hour)

    def _factor(self, signal: Signal, hour: int) -> float:
        return self._planted.factor(signal, MONDAY_HOUR + hour) if self._planted else 1.0

    def _number(self, mean: float) -> int:
        """Return a random number of events with this ``mean`` (Poisson distribution)."""
        limit, number, product = math.exp(-mean), 0, self._rng.random()
        while product > limit:
            number += 1
            product *= self._rng.random()
        return number
